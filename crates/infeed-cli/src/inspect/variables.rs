//! Variables of array formats: axes, chunks, and what a row costs.

use crate::{
    human,
    table::{Align, Table},
};
use infeed_core::Variable;
use serde_json::{Value as Json, json};

/// A table of the variables, and what could be better.
pub(super) fn text(variables: &[Variable]) -> String {
    let columns =
        ["variable", "type", "axes", "chunks", "filters", "stored", "ratio", "row", "read", "decoded"];
    let right = |title: &str| matches!(title, "stored" | "ratio" | "row" | "read" | "decoded");
    let align = |title: &str| if right(title) { Align::Right } else { Align::Left };
    let mut table = Table::new(&columns.map(|title| (title, align(title)))).indented(2);
    for one in variables {
        table.row([
            human::line(&one.name, 40),
            one.dtype.clone(),
            axes(one),
            one.chunk.as_deref().map_or_else(|| "none".to_owned(), joined),
            if one.filters.is_empty() { "none".to_owned() } else { one.filters.join(", ") },
            human::bytes(one.stored),
            if one.stored == 0 {
                "-".to_owned()
            } else {
                format!("{:.1}", one.bytes as f64 / one.stored as f64)
            },
            human::bytes(one.row),
            human::bytes(one.read),
            human::bytes(one.decoded),
        ]);
    }
    let mut out = table.render();
    for one in variables {
        if let Some(advice) = &one.advice {
            out += &format!("  {}: {advice}\n", human::line(&one.name, 40));
        }
    }
    out
}

/// The axes with their names, if they have some: `time=365, lat=181, lon=360`.
fn axes(variable: &Variable) -> String {
    if variable.dimensions.is_empty() {
        return joined(&variable.shape);
    }
    let mut names = variable.dimensions.iter();
    let one = |side: &u64| match names.next() {
        Some(name) => format!("{}={side}", human::line(name, 24)),
        None => side.to_string(),
    };
    variable.shape.iter().map(one).collect::<Vec<_>>().join(", ")
}

fn joined(sides: &[u64]) -> String {
    if sides.is_empty() {
        "one".to_owned()
    } else {
        sides.iter().map(u64::to_string).collect::<Vec<_>>().join(" x ")
    }
}

pub(super) fn json(variables: &[Variable]) -> Json {
    let one = |one: &Variable| {
        json!({
            "name": &*one.name,
            "dtype": one.dtype,
            "shape": one.shape,
            "dimensions": one.dimensions,
            "chunk": one.chunk,
            "filters": one.filters,
            "bytes": one.bytes,
            "stored_bytes": one.stored,
            "row_bytes": one.row,
            "read_bytes_per_row": one.read,
            "decoded_bytes_per_row": one.decoded,
            "advice": one.advice,
        })
    };
    variables.iter().map(one).collect()
}
