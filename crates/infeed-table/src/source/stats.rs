//! Column statistics: counts, mean, standard deviation, extremes, and distinct values.

use crate::{
    block::decode::unpacked,
    field::{ColumnForm, is_text, numbers::lane, ops, plain},
    open::{args::Nulls, open_table},
    source::TableSource,
};
use arrow_array::{Array, ArrayRef, cast::AsArray};
use arrow_schema::DataType;
use infeed_core::{Dtype, Error, Result, Store, parallel};
use serde_json::{Map, Value as Json, json};
use std::{collections::BTreeSet, sync::Arc};

/// The maximum number of distinct values of a categorical column.
const MOST: usize = 1_000_000;

/// Moments of the numbers seen so far. `m2` is the sum of squared distances from the mean, which stays precise
/// however far the mean is from zero.
#[derive(Debug, Clone, Copy)]
struct Moments {
    count: u64,
    nulls: u64,
    mean: f64,
    m2: f64,
    min: f64,
    max: f64,
}

impl Moments {
    const NONE: Moments =
        Moments { count: 0, nulls: 0, mean: 0.0, m2: 0.0, min: f64::INFINITY, max: f64::NEG_INFINITY };

    /// Computes the moments of one block, in two passes over values that fit the cache.
    fn of(values: &[f64]) -> Self {
        let mut out = Moments::NONE;
        let mut sum = 0.0;
        for x in values.iter().filter(|x| !x.is_nan()) {
            out.count += 1;
            sum += x;
            out.min = out.min.min(*x);
            out.max = out.max.max(*x);
        }
        out.nulls = values.len() as u64 - out.count;
        if out.count > 0 {
            out.mean = sum / out.count as f64;
            out.m2 = values.iter().filter(|x| !x.is_nan()).map(|x| (x - out.mean) * (x - out.mean)).sum();
        }
        out
    }

    /// Combines the moments of two sets.
    fn and(self, other: Moments) -> Self {
        let count = self.count + other.count;
        if self.count == 0 || other.count == 0 {
            let full = if self.count == 0 { other } else { self };
            return Moments { nulls: self.nulls + other.nulls, ..full };
        }
        let apart = other.mean - self.mean;
        let (a, b, n) = (self.count as f64, other.count as f64, count as f64);
        Moments {
            count,
            nulls: self.nulls + other.nulls,
            mean: self.mean + apart * b / n,
            m2: self.m2 + other.m2 + apart * apart * a * b / n,
            min: self.min.min(other.min),
            max: self.max.max(other.max),
        }
    }

    fn json(&self) -> Json {
        let or_null = |x: f64| if self.count == 0 || !x.is_finite() { Json::Null } else { json!(x) };
        let std = (self.m2 / self.count.max(1) as f64).sqrt();
        json!({
            "count": self.count, "nulls": self.nulls, "mean": or_null(self.mean), "std": or_null(std),
            "min": or_null(self.min), "max": or_null(self.max),
        })
    }
}

/// Distinct values, sorted.
#[derive(Debug, Default)]
struct Distinct {
    texts: BTreeSet<String>,
    ints: BTreeSet<i64>,
    count: u64,
    nulls: u64,
}

/// Computes statistics of columns of a table, each read once, on all CPUs.
///
/// Number columns have `count` (without nulls and NaN), `nulls`, `mean`, `std` (of the population, not of a sample),
/// `min` and `max`, after the operations that `ops` lists for them. Columns in `categories` have `count`, `nulls` and
/// their sorted `values` instead.
pub fn column_stats(
    store: &Arc<dyn Store>,
    name: &str,
    paths: &[String],
    args: &Map<String, Json>,
    columns: &[String],
    categories: &[String],
    ops: &Map<String, Json>,
) -> Result<Json> {
    let mut all: Vec<String> = columns.to_vec();
    all.extend(categories.iter().filter(|name| !columns.contains(name)).cloned());
    let mut args = args.clone();
    args.remove("matrix");
    args.insert("columns".to_owned(), json!(all));
    let source = open_table(store, name, paths, &args)?;
    let mut out = Map::new();
    for name in &all {
        let field = source.columns.fields.iter().position(|field| *field.name == **name);
        let field =
            field.ok_or_else(|| Error::argument(format!("`{name}` is a struct: name its columns")))?;
        let found = if categories.contains(name) {
            distinct(&source, field)?
        } else {
            let steps = ops.get(name).map(|steps| ops::parse(name, steps)).transpose()?.unwrap_or_default();
            moments(&source, field, &steps)?
        };
        out.insert(name.clone(), found);
    }
    Ok(Json::Object(out))
}

fn column(source: &TableSource, block: usize, field: usize) -> Result<ArrayRef> {
    let mut arrays = source.part(block).columns(&[field])?;
    unpacked(arrays.swap_remove(0))
}

fn moments(source: &TableSource, field: usize, steps: &[ops::Op]) -> Result<Json> {
    let about = &source.columns.fields[field];
    if !matches!(about.how, ColumnForm::Number(_)) {
        return Err(Error::argument(format!(
            "column `{}` is {}, and only numbers have a mean: leave it out, or give it categories",
            about.name, about.plain
        )));
    }
    let blocks = parallel::map(source.blocks.len(), parallel::cpus(), |block| {
        let mut all = lane(&column(source, block, field)?, &[], Dtype::F64, Nulls::Auto)?
            .data
            .typed_data::<f64>()
            .to_vec();
        steps.iter().for_each(|step| ops::apply(step, &mut all));
        Ok(Moments::of(&all))
    })?;
    // Combined in row order, independent of threads: the same data gives the same digits.
    Ok(blocks.into_iter().fold(Moments::NONE, Moments::and).json())
}

fn distinct(source: &TableSource, field: usize) -> Result<Json> {
    let about = &source.columns.fields[field];
    match about.how {
        ColumnForm::Text => {}
        ColumnForm::Number(dtype) if !dtype.is_float() => {}
        _ => {
            return Err(Error::argument(format!(
                "column `{}` is {}, and only text and whole numbers have categories",
                about.name, about.plain
            )));
        }
    }
    let blocks = parallel::map(source.blocks.len(), parallel::cpus(), |block| {
        let array = column(source, block, field)?;
        let mut out = Distinct { nulls: array.logical_null_count() as u64, ..Distinct::default() };
        out.count = array.len() as u64 - out.nulls;
        if is_text(&plain(array.data_type())) {
            let texts = arrow_cast::cast(&array, &DataType::LargeUtf8);
            let texts = texts.map_err(|e| Error::sample(e.to_string()))?;
            for text in texts.as_string::<i64>().iter().flatten() {
                if !out.texts.contains(text) {
                    out.texts.insert(text.to_owned());
                }
            }
        } else if array.data_type() != &DataType::Null {
            let ints = lane(&array, &[], Dtype::I64, Nulls::Auto)?;
            let all = ints.data.typed_data::<i64>().iter().enumerate();
            out.ints.extend(all.filter(|(row, _)| array.is_valid(*row)).map(|(_, x)| *x));
        }
        if out.texts.len().max(out.ints.len()) > MOST {
            return Err(Error::argument(format!(
                "column `{}` has more than {MOST} distinct values",
                about.name
            )));
        }
        Ok(out)
    })?;
    let mut all = Distinct::default();
    for block in blocks {
        all.count += block.count;
        all.nulls += block.nulls;
        all.texts.extend(block.texts);
        all.ints.extend(block.ints);
    }
    let values: Vec<Json> =
        all.texts.into_iter().map(Json::String).chain(all.ints.into_iter().map(|x| json!(x))).collect();
    if values.len() > MOST {
        return Err(Error::argument(format!("column `{}` has more than {MOST} distinct values", about.name)));
    }
    Ok(json!({"count": all.count, "nulls": all.nulls, "values": values}))
}
