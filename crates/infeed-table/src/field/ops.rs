//! Operations on a whole column of numbers.

use infeed_core::{Error, Result};
use serde_json::{Map, Value as Json};
use std::collections::HashMap;

/// One operation.
#[derive(Debug, Clone)]
pub(crate) enum Op {
    /// Replaces nulls and NaN by a value.
    Fill(f64),
    /// Limits values to a minimum and a maximum.
    Clip(f64, f64),
    /// `ln(1 + x)`.
    Log1p,
    /// `ln(x)`.
    Log,
    /// `(x - mean) / by`.
    Affine {
        /// The number subtracted.
        mean: f64,
        /// The divisor.
        by: f64,
    },
    /// The index of a value in a list.
    Categories(Categories),
}

/// Values and their indices.
#[derive(Debug, Clone)]
pub(crate) struct Categories {
    pub(crate) texts: HashMap<String, u32>,
    pub(crate) ints: HashMap<i64, u32>,
    /// The number for values that are not in the list; without it they are errors.
    pub(crate) unknown: Option<f64>,
}

const OPS: [&str; 7] = ["fill", "clip", "log1p", "log", "standardize", "minmax", "categories"];

/// Parses the operations of one column.
pub(crate) fn parse(column: &str, steps: &Json) -> Result<Vec<Op>> {
    let bad = |what: String| Error::argument(format!("operations of column `{column}`: {what}"));
    let Json::Array(steps) = steps else { return Err(bad(format!("must be a list, got {steps}"))) };
    let mut out = vec![];
    for step in steps {
        let Json::Object(step) = step else { return Err(bad(format!("must be tables, got {step}"))) };
        let name = step.get("op").and_then(Json::as_str).unwrap_or_default();
        let op = one(name, step).map_err(bad)?;
        if matches!(op, Op::Categories(_)) && !out.is_empty() {
            return Err(bad("categories must come first".to_owned()));
        }
        out.push(op);
    }
    Ok(out)
}

fn one(name: &str, step: &Map<String, Json>) -> Result<Op, String> {
    let known: &[&str] = match name {
        "fill" => &["value"],
        "clip" | "minmax" => &["min", "max"],
        "log" | "log1p" => &[],
        "standardize" => &["mean", "std"],
        "categories" => &["values", "unknown"],
        _ => return Err(format!("there is no operation `{name}` (there are: {})", OPS.join(", "))),
    };
    if let Some(wrong) = step.keys().find(|key| *key != "op" && !known.contains(&key.as_str())) {
        return Err(format!("{name} has no `{wrong}` (there are: {})", known.join(", ")));
    }
    let number = |key: &str| match step.get(key).and_then(Json::as_f64) {
        Some(value) if value.is_finite() => Ok(value),
        _ => Err(format!("{name} needs a number as `{key}`")),
    };
    let side = |key: &str, open: f64| match step.get(key) {
        None | Some(Json::Null) => Ok(open),
        _ => number(key),
    };
    Ok(match name {
        "fill" => Op::Fill(number("value")?),
        "log1p" => Op::Log1p,
        "log" => Op::Log,
        "clip" => {
            let (min, max) = (side("min", f64::NEG_INFINITY)?, side("max", f64::INFINITY)?);
            if min > max {
                return Err(format!("clip has a min of {min} above its max of {max}"));
            }
            Op::Clip(min, max)
        }
        // A constant column becomes zero, not NaN.
        "standardize" => {
            let std = number("std")?;
            Op::Affine { mean: number("mean")?, by: if std == 0.0 { 1.0 } else { std } }
        }
        "minmax" => {
            let (min, max) = (number("min")?, number("max")?);
            Op::Affine { mean: min, by: if max == min { 1.0 } else { max - min } }
        }
        _ => categories(step)?,
    })
}

fn categories(step: &Map<String, Json>) -> Result<Op, String> {
    let Some(Json::Array(values)) = step.get("values") else {
        return Err("categories needs a list of values".to_owned());
    };
    let unknown = match step.get("unknown") {
        None => Some(-1.0),
        Some(Json::String(text)) if text == "error" => None,
        Some(value) => Some(
            value.as_f64().ok_or_else(|| format!("unknown must be a number or \"error\", got {value}"))?,
        ),
    };
    let mut out = Categories { texts: HashMap::new(), ints: HashMap::new(), unknown };
    for (place, value) in values.iter().enumerate() {
        let place = place as u32;
        let old = match value {
            Json::String(text) => out.texts.insert(text.clone(), place),
            value => match value.as_i64() {
                Some(int) => out.ints.insert(int, place),
                None => return Err(format!("categories must be texts or whole numbers, got {value}")),
            },
        };
        if old.is_some() {
            return Err(format!("the category {value} is there twice"));
        }
    }
    Ok(Op::Categories(out))
}

/// Applies an operation to all values. NaN stays NaN, unless it is filled.
pub(crate) fn apply(op: &Op, values: &mut [f64]) {
    match op {
        Op::Fill(value) => values.iter_mut().filter(|x| x.is_nan()).for_each(|x| *x = *value),
        Op::Clip(min, max) => values.iter_mut().for_each(|x| {
            // Comparisons with NaN are false, so NaN stays.
            *x = if *x < *min { *min } else { *x };
            *x = if *x > *max { *max } else { *x };
        }),
        Op::Log1p => values.iter_mut().for_each(|x| *x = x.ln_1p()),
        Op::Log => values.iter_mut().for_each(|x| *x = x.ln()),
        Op::Affine { mean, by } => values.iter_mut().for_each(|x| *x = (*x - mean) / by),
        // Done when the values are read.
        Op::Categories(_) => {}
    }
}
