//! Parses the rows of a CSV file.

use crate::layout::rows::{Row, RowCodec, RowSchema, numbered};
use infeed_core::{Dtype, Error, FieldSpec, Record, Result, Tensor, Value, format::Fields};
use infeed_records::{
    Guess,
    csv::{self, Cell, cells, count, parse, titles, write},
    text::{Invalid, decode, unmarked},
};
use std::sync::Arc;

/// The type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Type {
    Text,
    Number(Dtype),
}

impl Type {
    pub(super) fn parse(text: &str) -> Option<Type> {
        match text {
            "text" | "str" | "string" => Some(Type::Text),
            other => Dtype::parse(other).map(Type::Number),
        }
    }

    pub(super) fn of(guess: Guess) -> Type {
        match guess {
            Guess::Bool => Type::Number(Dtype::Bool),
            Guess::Int => Type::Number(Dtype::I64),
            Guess::Float => Type::Number(Dtype::F64),
            _ => Type::Text,
        }
    }

    fn spec(self) -> FieldSpec {
        match self {
            Type::Text => FieldSpec::text(),
            Type::Number(dtype) => FieldSpec::scalar(dtype),
        }
    }
}

/// Returns a row without preceding blank lines, its line end, and a byte order mark before the first row.
pub(super) fn bare(row: &Row) -> &[u8] {
    csv::bare(if row.number == 0 { unmarked(&row.bytes) } else { &row.bytes })
}

/// The columns of all files.
#[derive(Debug, Clone)]
pub(super) struct Table {
    pub(super) delimiter: u8,
    pub(super) columns: Arc<[(Arc<str>, Type)]>,
    /// The column names of every file, if the user gave them.
    pub(super) names: Option<Arc<[Arc<str>]>>,
    pub(super) titled: bool,
    /// Fields per row of files without names.
    pub(super) width: usize,
}

impl RowSchema for Table {
    fn fields(&self) -> Fields {
        self.columns.iter().map(|(name, of)| (Arc::clone(name), of.spec())).collect()
    }

    fn codec(&self, head: &[u8]) -> Result<Arc<dyn RowCodec>> {
        let names = match &self.names {
            Some(names) => Some(names.to_vec()),
            None if self.titled => Some(titles(head, self.delimiter)?),
            None => None,
        };
        let place = |(at, (name, _)): (usize, &(Arc<str>, Type))| match &names {
            Some(names) => names.iter().position(|known| known == name).ok_or_else(|| {
                Error::sample(format!(
                    "there is no column `{name}`, which other files have; it has {}",
                    names.join(", ")
                ))
            }),
            // Columns without names are `column_N`.
            None => Ok(name.strip_prefix("column_").and_then(|n| n.parse().ok()).unwrap_or(at)),
        };
        let places = self.columns.iter().enumerate().map(place).collect::<Result<_>>()?;
        let width = names.as_ref().map_or(self.width, Vec::len);
        Ok(Arc::new(Columns { table: self.clone(), places, width }))
    }
}

/// The columns of one file.
#[derive(Debug)]
struct Columns {
    table: Table,
    /// The index of each column of the table in the rows of this file.
    places: Vec<usize>,
    /// Fields per row.
    width: usize,
}

impl Columns {
    /// Returns index and type of each field.
    fn find(&self, fields: &[Arc<str>]) -> Vec<Option<(usize, Type)>> {
        let columns = &self.table.columns;
        let at = |name: &Arc<str>| columns.iter().position(|(known, _)| known == name);
        fields.iter().map(|name| at(name).map(|at| (self.places[at], columns[at].1))).collect()
    }

    fn cut<'a>(&self, row: &'a Row, found: &mut Vec<Cell>) -> Result<&'a [u8]> {
        let bytes = bare(row);
        cells(bytes, self.table.delimiter, found)?;
        count(found.len(), self.width)?;
        Ok(bytes)
    }
}

impl RowCodec for Columns {
    fn records(&self, rows: &[Row], fields: &[Arc<str>], out: &mut Vec<Result<Record>>) {
        let (wanted, mut found) = (self.find(fields), vec![]);
        for row in rows {
            let record = self.cut(row, &mut found).and_then(|bytes| {
                let value = |(field, wanted): (&Arc<str>, &Option<(usize, Type)>)| {
                    let Some((place, of)) = wanted else { return Ok(Value::Missing) };
                    one(&found[*place].bytes(bytes), *of).map_err(|e| e.in_field(field))
                };
                let fields = fields.iter().zip(&wanted).map(value).collect::<Result<_>>()?;
                Ok(Record { fields })
            });
            out.push(record.map_err(|e| numbered(row, e)));
        }
    }

    fn fills(&self, field: &str) -> bool {
        self.table.columns.iter().any(|(name, of)| **name == *field && matches!(of, Type::Number(_)))
    }

    fn fill(&self, rows: &[Row], places: &[usize], fields: &[Arc<str>], out: &mut [&mut [u8]]) -> Result<()> {
        let (wanted, mut found) = (self.find(fields), vec![]);
        for (row, to) in rows.iter().zip(places) {
            let bytes = self.cut(row, &mut found)?;
            for (wanted, out) in wanted.iter().zip(out.iter_mut()) {
                let lost = || Error::Internal { what: "a column to fill is not a number".to_owned() };
                let Some((place, Type::Number(dtype))) = wanted else { return Err(lost()) };
                let size = dtype.size();
                let room = out.get_mut(to * size..(to + 1) * size).ok_or_else(lost)?;
                if !write(&found[*place].bytes(bytes), *dtype, room)? {
                    return Err(Error::sample("the field is empty"));
                }
            }
        }
        Ok(())
    }
}

fn one(cell: &[u8], of: Type) -> Result<Value> {
    Ok(match of {
        Type::Text => Value::Text(decode(cell, Invalid::Refuse)?.into_owned()),
        Type::Number(dtype) => match parse(cell, dtype)? {
            Some(data) => Value::Tensor(Tensor { dtype, shape: vec![], data: data.into() }),
            None => Value::Missing,
        },
    })
}
