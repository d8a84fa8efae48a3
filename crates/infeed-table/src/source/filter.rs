//! `where=`: selects rows of blocks.

use crate::{
    block::decode::{BlockRef, unpacked},
    field::{ColumnForm, columns::Columns, loose::text, numbers::lane},
    open::args::Nulls,
    shard::Blocks,
};
use arrow_array::{Array, ArrayRef, cast::AsArray};
use infeed_core::{Dtype, Error, Result, parallel};
use infeed_order::filter::{Bound, Expr, Scalar};
use std::sync::Arc;

/// The rows of a block that are kept.
#[derive(Debug, Clone)]
pub(crate) enum Kept {
    /// Every row.
    All,
    /// These, ascending.
    Some(Arc<[u32]>),
}

/// The result of a filter.
#[derive(Debug)]
pub(crate) struct Chosen {
    /// Per block of all shards.
    pub(crate) kept: Vec<Kept>,
    /// Number of blocks skipped by statistics alone.
    pub(crate) skipped: usize,
}

/// Evaluates the filter for all blocks. Blocks whose statistics rule out every row are not read.
pub(crate) fn choose(
    text: &str,
    columns: &Columns,
    shards: &[Arc<dyn Blocks>],
    blocks: &[(usize, usize)],
) -> Result<Chosen> {
    let expr = Expr::parse(text)?;
    let names = expr.names();
    let mut slots = vec![];
    for name in &names {
        let slot = columns.fields.iter().position(|field| *field.name == **name);
        // `common` has already checked the name.
        let slot = slot.ok_or_else(|| Error::argument(format!("where: there is no column `{name}`")))?;
        if !matches!(columns.fields[slot].how, ColumnForm::Number(_) | ColumnForm::Text) {
            return Err(Error::argument(format!(
                "where: column `{name}` is {}, and only numbers and text can be compared",
                columns.fields[slot].plain
            )));
        }
        slots.push(slot);
    }
    let bound = expr.bind(&names.iter().map(String::as_str).collect::<Vec<_>>())?;
    let kept = parallel::map(blocks.len(), parallel::cpus(), |number| {
        let (shard, block) = blocks[number];
        let part = BlockRef { shard: &*shards[shard], block, places: &columns.places[shard], kept: None };
        let range = |slot: &usize| {
            let place = &part.places[*slot];
            part.shard.range(block, place.root).filter(|_| place.path.is_empty())
        };
        if !bound.may_hold(&slots.iter().map(range).collect::<Vec<_>>()) {
            return Ok(None);
        }
        one(&part, &slots, &bound, columns).map(Some)
    })?;
    let skipped = kept.iter().filter(|kept| kept.is_none()).count();
    let kept = kept.into_iter().map(|kept| kept.unwrap_or_else(|| Kept::Some([].into()))).collect();
    Ok(Chosen { kept, skipped })
}

fn one(part: &BlockRef<'_>, slots: &[usize], bound: &Bound, columns: &Columns) -> Result<Kept> {
    let arrays = part.columns(slots)?;
    let readers: Vec<Reader> = arrays
        .into_iter()
        .zip(slots)
        .map(|(array, slot)| Reader::new(array, &columns.fields[*slot].how))
        .collect::<Result<_>>()?;
    let rows = part.shard.block_rows()[part.block] as u32;
    let mut kept = vec![];
    let mut values = Vec::with_capacity(readers.len());
    for row in 0..rows {
        values.clear();
        values.extend(readers.iter().map(|reader| reader.get(row as usize)));
        let holds = bound.eval(&values).map_err(|e| {
            let place = format!("{} {} of `{}`", part.shard.noun(), part.block, part.shard.name());
            Error::argument(format!("{e} (row {row} of {place})"))
        })?;
        if holds {
            kept.push(row);
        }
    }
    Ok(if kept.len() as u64 == u64::from(rows) { Kept::All } else { Kept::Some(kept.into()) })
}

/// Returns the values of a column one by one.
enum Reader {
    Ints(ArrayRef, Vec<i64>),
    Floats(ArrayRef, Vec<f64>),
    Bools(ArrayRef),
    Texts(ArrayRef),
}

impl Reader {
    fn new(array: ArrayRef, how: &ColumnForm) -> Result<Self> {
        let array = unpacked(array)?;
        Ok(match how {
            ColumnForm::Number(Dtype::Bool) => Reader::Bools(array),
            ColumnForm::Number(dtype) if dtype.is_float() => {
                let data = lane(&array, &[], Dtype::F64, Nulls::Auto)?.data;
                Reader::Floats(array, data.typed_data::<f64>().to_vec())
            }
            ColumnForm::Number(_) => {
                let lane = lane(&array, &[], Dtype::I64, Nulls::Auto)?;
                if lane.faults.iter().any(|(_, why)| *why == crate::field::numbers::Fault::Fit) {
                    return Err(Error::argument("where: a whole number is larger than 2^63 - 1"));
                }
                Reader::Ints(array, lane.data.typed_data::<i64>().to_vec())
            }
            _ => Reader::Texts(array),
        })
    }

    fn get(&self, row: usize) -> Scalar<'_> {
        match self {
            Reader::Ints(array, _)
            | Reader::Floats(array, _)
            | Reader::Bools(array)
            | Reader::Texts(array)
                if array.is_null(row) =>
            {
                Scalar::None
            }
            Reader::Ints(_, values) => Scalar::Int(values[row]),
            Reader::Floats(_, values) => Scalar::Float(values[row]),
            Reader::Bools(array) => Scalar::Bool(array.as_boolean().value(row)),
            Reader::Texts(array) => text(array, row).map_or(Scalar::None, |text| Scalar::Text(text.into())),
        }
    }
}
