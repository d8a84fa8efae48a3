//! Infers from the first rows of a file: the delimiter, the column names and their types.

use super::CsvType;
use crate::{open::args::TableArgs, shard::bytes::ShardBytes};
use infeed_core::{Dtype, Error, Result};
use infeed_records::{
    Guess,
    csv::{self, RowFinder, bare, cells, count, titles},
    split::Split,
    text::unmarked,
};
use std::sync::Arc;

/// Maximum bytes and rows examined.
const BYTES: u64 = 1 << 20;
const ROWS: usize = 1000;

/// Magic bytes of compressed files.
const PACKED: [(&[u8], &str); 5] = [
    (b"\x1f\x8b", "gzip"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"BZh", "bzip2"),
    (b"\xfd7zXZ\0", "xz"),
    (b"\x04\x22\x4d\x18", "lz4"),
];

/// One file.
#[derive(Debug)]
pub(super) struct Sketch {
    path: String,
    pub(super) delimiter: u8,
    pub(super) names: Vec<Arc<str>>,
    guesses: Vec<Guess>,
    /// Whether each column has an empty cell.
    gaps: Vec<bool>,
}

impl Sketch {
    pub(super) fn new(input: &ShardBytes, args: &TableArgs) -> Result<Self> {
        let path = &input.name;
        let head = input.get(0, input.len.min(BYTES))?;
        if let Some((_, how)) = PACKED.iter().find(|(magic, _)| head.starts_with(magic)) {
            let what = format!(
                "it is compressed ({how}), so that its rows cannot be read in any order: unpack it, write it as Parquet, or \
                 stream it with infeed.csv"
            );
            return Err(input.damaged(0, what));
        }
        let tabs = path.to_ascii_lowercase().ends_with(".tsv");
        let found = || if tabs { b'\t' } else { csv::delimiter(&head) };
        let delimiter = args.csv.delimiter.unwrap_or_else(found);
        let mut ends = vec![];
        let whole = head.len() as u64 == input.len;
        let split = RowFinder::new(delimiter).split(&head, whole, &mut ends);
        split.map_err(|e| input.damaged(0, super::said(e)))?;
        let (mut start, mut line, mut rows) = (0, 1, vec![]);
        for end in ends.iter().take(ROWS + 1) {
            let row = &head[start..end.at];
            line += u64::from(end.lines);
            rows.push((line - 1, bare(if start == 0 { unmarked(row) } else { row })));
            start = end.at;
        }
        let mut found = vec![];
        let at = |line: u64, e: Error| input.damaged(0, format!("line {line}: {}", super::said(e)));
        let head = if args.csv.titled && !rows.is_empty() { Some(rows.remove(0)) } else { None };
        let names: Vec<Arc<str>> = match (&args.csv.names, head) {
            (Some(names), _) => names.iter().map(|name| name.as_str().into()).collect(),
            (None, Some((line, head))) => titles(head, delimiter).map_err(|e| at(line, e))?,
            (None, None) => {
                let width = csv::width(rows.iter().map(|(_, row)| *row), delimiter).unwrap_or(0);
                (0..width).map(|n| format!("column_{n}").into()).collect()
            }
        };
        let (mut guesses, mut gaps) = (vec![Guess::Unknown; names.len()], vec![false; names.len()]);
        let (mut good, mut bad) = (0, None);
        for (line, row) in rows {
            let cut = cells(row, delimiter, &mut found).and_then(|()| count(found.len(), names.len()));
            // An invalid row becomes a bad sample when it is read: it must not prevent reading the others.
            if let Err(error) = cut {
                bad = bad.or(Some(at(line, error)));
                continue;
            }
            good += 1;
            for ((guess, gap), cell) in guesses.iter_mut().zip(&mut gaps).zip(&found) {
                let one = csv::guess(&cell.bytes(row));
                *gap |= one == Guess::Unknown;
                // A column that is neither all numbers nor all booleans is text.
                *guess = guess.meet(one).unwrap_or(Guess::Text);
            }
        }
        if let Some(error) = bad.filter(|_| good == 0) {
            return Err(error);
        }
        Ok(Sketch { path: path.to_string(), delimiter, names, guesses, gaps })
    }
}

/// Returns the types of columns in all files: those given by the user, or those common to the first rows of all files.
pub(super) fn types(sketches: &[Sketch], args: &TableArgs) -> Result<Vec<(Arc<str>, CsvType)>> {
    let mut all: Vec<(Arc<str>, Guess, bool)> = vec![];
    for sketch in sketches {
        for ((name, guess), gap) in sketch.names.iter().zip(&sketch.guesses).zip(&sketch.gaps) {
            match all.iter_mut().find(|(known, ..)| known == name) {
                None => all.push((Arc::clone(name), *guess, *gap)),
                Some((_, known, gaps)) => {
                    *known = known.meet(*guess).unwrap_or(Guess::Text);
                    *gaps |= gap;
                }
            }
        }
    }
    if let Some((lost, _)) =
        args.csv.types.iter().find(|(name, _)| !all.iter().any(|(known, ..)| **known == **name))
    {
        let names: Vec<&str> = all.iter().map(|(name, ..)| &**name).collect();
        let first = sketches.first().map_or("", |sketch| &sketch.path);
        return Err(Error::argument(format!(
            "types: `{first}` has no column `{lost}` (there are: {})",
            names.join(", ")
        )));
    }
    Ok(all
        .into_iter()
        .map(|(name, guess, gaps)| {
            let given = args.csv.types.iter().find(|(known, _)| **known == *name).map(|(_, of)| *of);
            let of = given.unwrap_or(match guess {
                Guess::Bool => Some(Dtype::Bool),
                // In a matrix of floats the type does not matter, and a later cell that is not an
                // integer must not be an error.
                Guess::Int if gaps || in_floats(&name, args) => Some(Dtype::F64),
                Guess::Int => Some(Dtype::I64),
                // A column without any value so far is most useful as NaN.
                Guess::Float | Guess::Unknown => Some(Dtype::F64),
                _ => None,
            });
            (name, of)
        })
        .collect())
}

/// Returns whether a column goes into a matrix of floats as a number.
fn in_floats(name: &str, args: &TableArgs) -> bool {
    args.matrices.iter().any(|matrix| {
        let numbered = matrix.ops.get(name).or_else(|| matrix.ops.get("*")).is_some_and(|ops| {
            ops.as_array().is_some_and(|ops| ops.iter().any(|op| op["op"] == "categories"))
        });
        matrix.dtype.is_float() && !numbered && matrix.columns.iter().any(|column| column == name)
    })
}
