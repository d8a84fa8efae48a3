//! Facts known of every row, for filters, balancing and grouping by length.

use super::{draft::Draft, leaves::Leaves};
use crate::{
    engine::usable_cpus,
    order::filter::Scalar,
    recipe::{Integers, PerRow, Reals},
};
use infeed_core::{Error, Order, Result, Source, Value, parallel};
use std::sync::Arc;

/// A fact known of every row without reading it.
pub(super) struct KnownName {
    /// Its names; the first is the usual one.
    pub(super) names: [&'static str; 2],
}

/// The facts known of every row.
pub(super) const KNOWN: [KnownName; 4] = [
    KnownName { names: ["row", "__row__"] },
    KnownName { names: ["key", "__key__"] },
    KnownName { names: ["shard", "__url__"] },
    KnownName { names: ["bytes", "__bytes__"] },
];

enum RowFact {
    Row,
    Key,
    Shard,
    Numbers(Vec<i64>),
}

/// The facts an expression uses, if all are known without reading.
pub(super) struct Known<'a> {
    leaves: &'a Leaves,
    facts: Vec<RowFact>,
}

impl<'a> Known<'a> {
    /// Looks the names up. Returns `None` if one of them is a field that must be read.
    pub(super) fn open(names: &[&str], draft: &Draft, leaves: &'a Leaves) -> Result<Option<Self>> {
        let mut facts = vec![];
        for name in names {
            let field = draft.spec.position(name).is_some();
            let fact = match KNOWN.iter().position(|k| k.names.contains(name)) {
                Some(0) if !field => RowFact::Row,
                Some(1) if !field => RowFact::Key,
                Some(2) if !field => RowFact::Shard,
                Some(3) if !field => RowFact::Numbers(leaves.column("bytes")?.ok_or_else(|| {
                    Error::plan("filter", "how many bytes a row has is not known before it is read")
                })?),
                _ => match leaves.column(name)? {
                    Some(numbers) => RowFact::Numbers(numbers),
                    None => return Ok(None),
                },
            };
            facts.push(fact);
        }
        Ok(Some(Known { leaves, facts }))
    }

    /// Appends the facts of a row, in the order of the names.
    pub(super) fn scalars<'s>(&self, row: u64, into: &mut Vec<Scalar<'s>>) {
        into.clear();
        for fact in &self.facts {
            let (source, local) = self.leaves.locate(row);
            into.push(match fact {
                RowFact::Row => Scalar::Int(row as i64),
                RowFact::Key => Scalar::Text(source.key(local).into()),
                RowFact::Shard => Scalar::Text(source.shard_of(local).into()),
                RowFact::Numbers(numbers) => {
                    numbers.get(row as usize).map_or(Scalar::None, |n| Scalar::Int(*n))
                }
            });
        }
    }
}

impl Leaves {
    /// A number per row of the joined source, known without reading; `None` if a source does not know it.
    fn column(&self, name: &str) -> Result<Option<Vec<i64>>> {
        let mut all = vec![];
        for source in self.sources() {
            match source.column(name)? {
                Some(column) => all.extend(column),
                None => return Ok(None),
            }
        }
        Ok(Some(all))
    }

    /// A number per row: known without reading, or read from a small field.
    fn numbers(&self, name: &str, stage: &str) -> Result<Vec<i64>> {
        if let Some(known) = self.column(name)? {
            return Ok(known);
        }
        let mut all = vec![];
        for source in self.sources() {
            source.spec().require(name, stage)?;
            all.extend(scan(source, name, stage)?);
        }
        Ok(all)
    }
}

/// One number per place of an order that is the same in every epoch.
pub(super) fn integers_by_place(
    column: &PerRow<Integers>,
    below: &dyn Order,
    leaves: &Leaves,
    stage: &str,
) -> Result<Vec<i64>> {
    match column {
        PerRow::List(list) => list.numbers(),
        PerRow::Named(name) => Ok(by_place(&leaves.numbers(name, stage)?, below)),
    }
}

/// One weight per place of an order that is the same in every epoch.
pub(super) fn reals_by_place(
    column: &PerRow<Reals>,
    below: &dyn Order,
    leaves: &Leaves,
    stage: &str,
) -> Result<Vec<f64>> {
    match column {
        PerRow::List(list) => list.numbers(),
        PerRow::Named(name) => {
            Ok(by_place(&leaves.numbers(name, stage)?, below).into_iter().map(|n| n as f64).collect())
        }
    }
}

/// One length per row. A given list is by place if the order is the same in every epoch, otherwise by row.
pub(super) fn lengths_by_row(
    column: &PerRow<Integers>,
    below: &dyn Order,
    leaves: &Leaves,
    stage: &str,
) -> Result<Arc<[u32]>> {
    let small = |n: i64| {
        u32::try_from(n)
            .map_err(|_| Error::plan(stage, format!("lengths must be 0 to {}, got {n}", u32::MAX)))
    };
    let list = match column {
        PerRow::Named(name) => return leaves.numbers(name, stage)?.into_iter().map(small).collect(),
        PerRow::List(list) => list.numbers()?,
    };
    let (places, rows) = (below.places(), leaves.total());
    if !below.is_fixed() && list.len() as u64 == rows {
        return list.into_iter().map(small).collect();
    }
    if list.len() as u64 != places {
        return Err(Error::plan(stage, format!("{} lengths for {places} rows", list.len())));
    }
    let mut lengths = vec![0; rows as usize];
    let mut at: Vec<u64> = (0..places).collect();
    below.resolve(0, &mut at);
    for (row, n) in at.into_iter().zip(list) {
        lengths[row as usize] = small(n)?;
    }
    Ok(lengths.into())
}

fn by_place(by_row: &[i64], below: &dyn Order) -> Vec<i64> {
    let mut rows: Vec<u64> = (0..below.places()).collect();
    below.resolve(0, &mut rows);
    rows.into_iter().map(|row| by_row.get(row as usize).copied().unwrap_or(0)).collect()
}

/// Rows read at a time.
const CHUNK: u64 = 1024;

/// Reads one small field of every row and parses it as a number.
fn scan(source: &Arc<dyn Source>, name: &str, stage: &str) -> Result<Vec<i64>> {
    let fields: Vec<Arc<str>> = vec![name.into()];
    let rows = source.rows();
    let chunks = parallel::map(rows.div_ceil(CHUNK) as usize, usable_cpus().min(16), |at| {
        let start = at as u64 * CHUNK;
        let some: Vec<u64> = (start..(start + CHUNK).min(rows)).collect();
        let records = source.fetch(&some, &fields)?;
        let numbers = records.iter().zip(&some).map(|(record, row)| {
            record.fields.first().and_then(whole).ok_or_else(|| {
                let what = record.fields.first().map_or("nothing", Value::what);
                let shard = source.shard_of(*row);
                Error::plan(
                    stage,
                    format!("shard `{shard}`, row {row}: the field `{name}` is not a whole number ({what})"),
                )
            })
        });
        numbers.collect::<Result<Vec<_>>>()
    })?;
    Ok(chunks.into_iter().flatten().collect())
}

fn whole(value: &Value) -> Option<i64> {
    match value {
        Value::Bytes(bytes) => std::str::from_utf8(bytes).ok()?.trim().parse().ok(),
        Value::Text(text) => text.trim().parse().ok(),
        Value::Tensor(t) if t.shape.is_empty() && t.dtype == infeed_core::Dtype::I64 => {
            Some(i64::from_ne_bytes(t.data.as_ref().try_into().ok()?))
        }
        _ => None,
    }
}
