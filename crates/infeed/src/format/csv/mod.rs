//! Comma-separated values.

mod codec;

use super::{rows, shared};
use crate::layout::rows::{FirstRows, RowLayout, RowSchema, Sketch, numbered};
use codec::{Table, Type};
use infeed_core::{Args, Can, Error, FormatEntry, Param, Result};
use infeed_records::{
    Guess,
    csv::{self, RowFinder, cells, count, titles, width},
    split::Split,
};
use std::sync::{Arc, OnceLock};

/// Rows that are read to learn the types of columns.
const LOOK: usize = 1000;

#[derive(Debug)]
pub(super) struct Csv {
    delimiter: OnceLock<u8>,
    header: bool,
    /// Names of the columns, if the user gives them.
    names: Option<Vec<String>>,
    /// Columns that are wanted; `None` means all.
    wanted: Option<Vec<String>>,
    /// Types given by the user.
    types: Vec<(String, Type)>,
    largest: u64,
}

/// The entry of this format.
pub(super) const ENTRY: FormatEntry = FormatEntry {
    name: "csv",
    about: "comma- or tab-separated values",
    details: "Follows RFC 4180. Fields are the titles in the first row, `names`, or `column_0`, `column_1` and so on with \
              header=False. Types that are not given come from the first 1,000 rows of every file: int64, float64, bool or text. An empty \
              cell is NaN in a column of floats, an empty text in a column of text, and a bad sample in a column of integers.",
    params: PARAMS,
    endings: &[".csv", ".tsv"],
    magic: &[],
    can: Can { stream: true, ..Can::ROWS },
    recognise: None,
    recognise_folder: None,
    open: |request| {
        let args = request.args()?;
        rows::open(request, Arc::new(make(&args)?), shared::cache(&args)?)
    },
};

const PARAMS: &[Param] = &[
    Param {
        name: "delimiter",
        python: "str | None",
        default: Some("null"),
        about: "what separates fields; detected by default: comma, tab, semicolon or bar",
    },
    Param {
        name: "header",
        python: "bool",
        default: Some("true"),
        about: "whether the first row has the titles",
    },
    Param {
        name: "names",
        python: "Sequence[str] | None",
        default: Some("null"),
        about: "names of all columns, in place of the titles or where there are none",
    },
    Param {
        name: "columns",
        python: "Sequence[str] | Mapping[str, str] | None",
        default: Some("null"),
        about: "columns to read, with their types if it is a dict (text, bool, int64, float32, ...)",
    },
    Param {
        name: "types",
        python: "Mapping[str, str] | None",
        default: Some("null"),
        about: "types of some columns; those of the others come from the first 1000 rows",
    },
    shared::INDEX,
    shared::MAX_ROW,
];

pub(super) fn make(args: &Args) -> Result<Csv> {
    let delimiter = OnceLock::new();
    if !args.is_none("delimiter") {
        match args.text("delimiter")?.as_bytes() {
            [b'"' | b'\n' | b'\r'] | [] | [_, _, ..] => {
                return Err(args.error("delimiter", "must be one character, and no quote or line end"));
            }
            [one] => drop(delimiter.set(*one)),
        }
    }
    let mut types = vec![];
    let typed = args.pairs("columns")?;
    for (name, text) in typed.iter().flatten().cloned().chain(args.pairs("types")?.into_iter().flatten()) {
        let wrong = || {
            Error::argument(format!(
                "csv: `{text}` is not a type for the column `{name}` (text, bool, int64, float32, ...)"
            ))
        };
        types.push((name.clone(), Type::parse(&text).ok_or_else(wrong)?));
    }
    let wanted = match typed {
        Some(pairs) => Some(pairs.into_iter().map(|(name, _)| name).collect()),
        None => shared::names(args, "columns")?,
    };
    Ok(Csv {
        delimiter,
        header: args.flag("header")?,
        names: shared::names(args, "names")?,
        wanted,
        types,
        largest: args.int("max_row", 1)? as u64,
    })
}

impl Csv {
    fn delimiter(&self) -> u8 {
        self.delimiter.get().copied().unwrap_or(b',')
    }

    /// Returns the column names of a file. Without titles there are as many as its first rows have fields.
    fn columns(&self, head: &FirstRows) -> Result<Vec<Arc<str>>> {
        match (&self.names, self.header) {
            (Some(names), _) => Ok(names.iter().map(|name| name.as_str().into()).collect()),
            (None, true) => titles(&head.titles, self.delimiter()),
            (None, false) => {
                let width = width(head.rows.iter().map(codec::bare), self.delimiter()).unwrap_or(0);
                Ok((0..width).map(|at| format!("column_{at}").into()).collect())
            }
        }
    }
}

impl RowLayout for Csv {
    fn name(&self) -> &'static str {
        "csv"
    }

    fn prepare(&self, name: &str, start: &[u8]) {
        let tabs = name.to_ascii_lowercase().contains(".tsv");
        // Set once: by the user if they gave a delimiter, otherwise by the first file.
        self.delimiter.get_or_init(|| if tabs { b'\t' } else { csv::delimiter(start) });
    }

    fn splitter(&self) -> Box<dyn Split> {
        Box::new(RowFinder::new(self.delimiter()))
    }

    fn titled(&self) -> bool {
        self.header
    }

    fn largest(&self) -> u64 {
        self.largest
    }

    fn tag(&self) -> String {
        format!("{}{}", self.delimiter(), self.header)
    }

    fn look(&self) -> usize {
        LOOK
    }

    fn sketch(&self, head: &FirstRows) -> Result<Sketch> {
        let names = self.columns(head)?;
        let mut guesses = vec![(Guess::Unknown, false); names.len()];
        let mut found = vec![];
        // A bad row becomes a bad sample when it is read: it must not prevent reading the others.
        let (mut good, mut bad) = (0, None);
        for row in &head.rows {
            let bytes = codec::bare(row);
            let cut = cells(bytes, self.delimiter(), &mut found);
            if let Err(error) = cut.and_then(|()| count(found.len(), names.len())) {
                bad = bad.or(Some(numbered(row, error)));
                continue;
            }
            good += 1;
            for ((guess, empty), cell) in guesses.iter_mut().zip(&found) {
                let one = csv::guess(&cell.bytes(bytes));
                *empty |= one == Guess::Unknown;
                // A column that is neither all numbers nor all booleans is text.
                *guess = guess.meet(one).unwrap_or(Guess::Text);
            }
        }
        if let Some(error) = bad.filter(|_| good == 0) {
            return Err(error);
        }
        let settled = |(guess, empty)| match guess {
            // Only floats can mark a missing number, with NaN.
            Guess::Int if empty => Guess::Float,
            other => other,
        };
        Ok(names.into_iter().zip(guesses.into_iter().map(settled)).collect())
    }

    fn schema(&self, fields: Vec<(Arc<str>, Guess)>) -> Result<Arc<dyn RowSchema>> {
        let known: Vec<&str> = fields.iter().map(|(name, _)| &**name).collect();
        let asked = self.wanted.iter().flatten().chain(self.types.iter().map(|(name, _)| name));
        if let Some(lost) = asked.into_iter().find(|name| !known.contains(&name.as_str())) {
            let all = known.join(", ");
            return Err(Error::plan("csv", format!("there is no column `{lost}`; the columns are {all}")));
        }
        let wanted = |name: &str| self.wanted.as_ref().is_none_or(|all| all.iter().any(|one| one == name));
        let of_type = |name: &str, guess: Guess| {
            let given = self.types.iter().find(|(known, _)| known == name).map(|(_, of)| *of);
            given.unwrap_or_else(|| Type::of(guess))
        };
        let columns = fields
            .iter()
            .filter(|(name, _)| wanted(name))
            .map(|(name, guess)| (Arc::clone(name), of_type(name, *guess)));
        Ok(Arc::new(Table {
            delimiter: self.delimiter(),
            columns: columns.collect(),
            names: self.names.as_ref().map(|names| names.iter().map(|name| name.as_str().into()).collect()),
            titled: self.header,
            width: fields.len(),
        }))
    }
}
