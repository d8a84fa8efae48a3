//! Reads a block of a shard and converts it to rows.

use crate::{
    block::{
        Cells, Decoded, FieldSet, MadeOf,
        memory::{Strip, pack},
        recycle,
    },
    field::{
        ColumnForm, ColumnPlace, Field, even,
        loose::Filling,
        numbers::{self, Fault, Lane},
        ops::Op,
        plain,
    },
    open::args::Nulls,
    shard::{self, BadRow, Blocks, limit::BlockLimit},
};
use arrow_array::{Array, ArrayRef, BooleanArray, cast::AsArray, make_array};
use arrow_buffer::NullBuffer;
use arrow_schema::DataType;
use infeed_core::{Dtype, Error, Result, blocks::Spares, memory};
use std::sync::Arc;

/// A block of a shard: where its columns are, and which of its rows are kept.
pub(crate) struct BlockRef<'a> {
    pub(crate) shard: &'a dyn Blocks,
    pub(crate) block: usize,
    pub(crate) places: &'a [ColumnPlace],
    /// Rows of the block that are kept, ascending; `None` for all.
    pub(crate) kept: Option<&'a [u32]>,
}

impl BlockRef<'_> {
    /// Announces that these fields will be read soon.
    pub(crate) fn will_read(&self, fields: &[usize]) {
        self.shard.will_read(self.block, &self.roots(fields));
    }

    /// The top-level columns of these fields.
    fn roots(&self, fields: &[usize]) -> Vec<usize> {
        let mut roots: Vec<usize> = fields.iter().map(|field| self.places[*field].root).collect();
        roots.sort_unstable();
        roots.dedup();
        roots
    }

    /// Reads these fields of the table as Arrow columns of the kept rows. Fails if any row is invalid.
    pub(crate) fn columns(&self, fields: &[usize]) -> Result<Vec<ArrayRef>> {
        let (arrays, bad) = self.sound_columns(fields)?;
        match bad.into_iter().next() {
            None => Ok(arrays),
            Some((_, what)) => Err(Error::Format { shard: self.shard.name().to_owned(), offset: 0, what }),
        }
    }

    /// Like [`Self::columns`], but returns the invalid rows instead of failing.
    pub(crate) fn sound_columns(&self, fields: &[usize]) -> Result<(Vec<ArrayRef>, Vec<BadRow>)> {
        let roots = self.roots(fields);
        let (mut arrays, mut bad) = shard::read(self.shard, self.block, &roots)?;
        if let Some(kept) = self.kept {
            bad.retain_mut(|(row, _)| match kept.binary_search(row) {
                Ok(at) => {
                    *row = at as u32;
                    true
                }
                Err(_) => false,
            });
            let mut mask = memory::zeroed::<bool>(self.shard.block_rows()[self.block] as usize)?;
            kept.iter().for_each(|row| mask[*row as usize] = true);
            let mask = BooleanArray::from(mask);
            for array in &mut arrays {
                *array = arrow_select::filter::filter(array, &mask)
                    .map_err(|e| Error::sample(format!("rows cannot be chosen: {e}")))?;
            }
        }
        let column = |field: &usize| {
            let place = &self.places[*field];
            inside(&arrays[roots.partition_point(|root| *root < place.root)], &place.path)
        };
        Ok((fields.iter().map(column).collect::<Result<_>>()?, bad))
    }
}

/// Returns the column at the end of a path through structs, null where a struct is null.
fn inside(array: &ArrayRef, path: &[usize]) -> Result<ArrayRef> {
    let Some((first, rest)) = path.split_first() else { return Ok(array.clone()) };
    let array = unpacked(array.clone())?;
    let parent = array
        .as_struct_opt()
        .ok_or_else(|| Error::sample("a column is not a struct in this block, as the schema says it is"))?;
    let child = parent.column(*first);
    let child = match parent.nulls().filter(|nulls| nulls.null_count() > 0) {
        None => child.clone(),
        Some(nulls) => {
            let nulls = NullBuffer::union(Some(nulls), child.logical_nulls().as_ref());
            let data = child.to_data().into_builder().nulls(nulls).build();
            make_array(data.map_err(|e| Error::sample(format!("a struct is invalid: {e}")))?)
        }
    };
    inside(&child, rest)
}

/// Expands dictionaries and run-end encoding into plain values.
pub(crate) fn unpacked(array: ArrayRef) -> Result<ArrayRef> {
    match array.data_type() {
        DataType::Dictionary(_, values) => {
            let values = values.as_ref().clone();
            unpacked(arrow_cast::cast(&array, &values).map_err(|e| Error::sample(e.to_string()))?)
        }
        DataType::RunEndEncoded(_, values) => {
            let values = values.data_type().clone();
            unpacked(arrow_cast::cast(&array, &values).map_err(|e| Error::sample(e.to_string()))?)
        }
        _ => Ok(array),
    }
}

/// Reads a block and converts it to rows.
pub(crate) fn decode(
    part: &BlockRef<'_>,
    fields: &[Field],
    set: &FieldSet,
    nulls: Nulls,
    (spares, limit): (&Spares, &BlockLimit),
) -> Result<Decoded> {
    let mut wanted: Vec<usize> = vec![];
    for made in &set.made {
        match &**made {
            MadeOf::Column { field, .. } => wanted.push(*field),
            MadeOf::Matrix { columns, .. } => wanted.extend(columns.iter().map(|(field, _)| *field)),
        }
    }
    wanted.sort_unstable();
    wanted.dedup();
    // Before anything is read: what a footer says of a row group can be a thousand times its bytes.
    let rows = part.kept.map_or_else(|| part.shard.block_rows()[part.block], |kept| kept.len() as u64);
    limit.check(rows.saturating_mul(row_bytes(fields, set))).map_err(|e| named(part, e))?;
    let (arrays, bad) = part.sound_columns(&wanted)?;
    let mut made =
        self::rows(part, fields, set, nulls, (&wanted, arrays), spares).map_err(|e| named(part, e))?;
    if !bad.is_empty() {
        made.bad.extend(bad);
        made.bad.sort_by_key(|(row, _)| *row);
        made.bad.dedup_by_key(|(row, _)| *row);
    }
    Ok(made)
}

/// The error with the name of the block.
fn named(part: &BlockRef<'_>, error: Error) -> Error {
    match error {
        Error::Sample { at, what } => {
            let what = format!("{} {} of `{}`: {what}", part.shard.noun(), part.block, part.shard.name());
            Error::Sample { at, what }
        }
        other => other,
    }
}

/// Bytes of a row, as far as all rows have the same.
fn row_bytes(fields: &[Field], set: &FieldSet) -> u64 {
    let one = |made: &Arc<MadeOf>| match &**made {
        MadeOf::Matrix { dtype, columns } => dtype.size() as u64 * columns.len() as u64,
        MadeOf::Column { field, .. } => match fields[*field].how {
            ColumnForm::Number(dtype) => dtype.size() as u64,
            ColumnForm::Fixed(dtype, count) => (dtype.size() as u64).saturating_mul(count as u64),
            _ => 0,
        },
    };
    set.made.iter().map(one).fold(0, u64::saturating_add)
}

/// Converts columns to rows.
fn rows(
    part: &BlockRef<'_>,
    fields: &[Field],
    set: &FieldSet,
    nulls: Nulls,
    (wanted, arrays): (&[usize], Vec<ArrayRef>),
    spares: &Spares,
) -> Result<Decoded> {
    let array = |field: usize| arrays[wanted.partition_point(|other| *other < field)].clone();
    let all = part.shard.block_rows()[part.block] as usize;
    let rows = part.kept.map_or(all, <[u32]>::len);

    let mut stride = 0;
    let mut lanes: Vec<(usize, usize, Lane)> = vec![];
    let mut cells = vec![];
    let mut bad = vec![];
    let mut loose = 0;
    for made in &set.made {
        let offset = stride;
        match &**made {
            MadeOf::Matrix { dtype, columns } => {
                let mut faults = vec![];
                for (number, (field, ops)) in columns.iter().enumerate() {
                    let column = unpacked(array(*field))?;
                    let mut lane = numbers::lane(&column, ops, *dtype, nulls)
                        .map_err(|e| Error::sample(format!("column `{}`: {e}", fields[*field].name)))?;
                    faults.extend(lane.faults.drain(..).map(|(row, why)| (row, number as u32, why)));
                    lanes.push((stride, dtype.size(), lane));
                    stride += dtype.size();
                }
                faults.sort_by_key(|fault| fault.0);
                faults.dedup_by_key(|fault| fault.0);
                cells.push(Cells::Packed { offset, width: stride - offset, faults });
            }
            MadeOf::Column { field: at, fill } => {
                let field = &fields[*at];
                let mut column = unpacked(checked(array(*at), field)?)?;
                if let (true, ColumnForm::Fixed(_, count)) = (field.even, &field.how) {
                    column = even::fixed(column, &field.name, *count, &mut bad)?;
                }
                let (dtype, count) = match field.how {
                    ColumnForm::Number(dtype) => (dtype, 1),
                    ColumnForm::Fixed(dtype, count) => (dtype, count),
                    _ => {
                        loose += column.get_array_memory_size();
                        cells.push(Cells::Loose(column));
                        continue;
                    }
                };
                let (mut lane, mut faults) = numbers(&column, dtype, fill.as_ref(), nulls)?;
                faults.extend(lane.faults.drain(..).map(|(at, why)| (at / count.max(1) as u32, 0, why)));
                faults.sort_by_key(|fault| fault.0);
                faults.dedup_by_key(|fault| fault.0);
                let width = dtype.size() * count;
                lanes.push((offset, width, lane));
                stride += width;
                cells.push(Cells::Packed { offset, width, faults });
            }
        }
    }
    let size = rows.checked_mul(stride).ok_or_else(|| Error::sample("its rows do not fit memory"))?;
    let mut packed = spares.take(size)?;
    let strips: Vec<Strip<'_>> = lanes
        .iter()
        .map(|(offset, width, lane)| Strip { offset: *offset, width: *width, data: &lane.data })
        .collect();
    if strips.iter().any(|strip| strip.data.len() < rows * strip.width) {
        return Err(Error::Internal { what: "a column has too few values for its rows".to_owned() });
    }
    pack(&strips, stride, &mut packed);
    drop(strips);
    drop(arrays);
    lanes.into_iter().for_each(|(_, _, lane)| recycle::give(lane.data));
    bad.sort_by_key(|(row, _)| *row);
    bad.dedup_by_key(|(row, _)| *row);
    Ok(Decoded { stride, memory: packed, cells, bad, bytes: (size + loose) as u64 })
}

/// Checks that a column has the type of its field.
fn checked(array: ArrayRef, field: &Field) -> Result<ArrayRef> {
    if plain(array.data_type()) != field.plain {
        return Err(Error::sample(format!(
            "column `{}` is {} and should be {}",
            field.name,
            array.data_type(),
            field.plain
        )));
    }
    Ok(array)
}

/// Faults of whole rows that are null.
type RowFaults = Vec<(u32, u32, Fault)>;

/// Converts a column to numbers: one per row, or `count` per row from fixed-size lists.
fn numbers(
    column: &ArrayRef,
    dtype: Dtype,
    fill: Option<&Filling>,
    nulls: Nulls,
) -> Result<(Lane, RowFaults)> {
    let ops: Vec<Op> = match fill {
        Some(Filling::Number(value)) => vec![Op::Fill(*value)],
        _ => vec![],
    };
    let mut faults = vec![];
    let mut flat = column.clone();
    while let Some(list) = flat.clone().as_fixed_size_list_opt() {
        let per_row = list.len().checked_div(column.len()).unwrap_or(1).max(1);
        // A null list has no numbers, whatever its slot contains.
        let missing = (0..list.len()).filter(|at| list.is_null(*at));
        faults.extend(missing.map(|at| ((at / per_row) as u32, 0, Fault::Null)));
        let len = list.value_length() as usize * list.len();
        flat = list.values().slice(list.value_offset_at(0), len);
    }
    Ok((numbers::lane(&unpacked(flat)?, &ops, dtype, nulls)?, faults))
}
