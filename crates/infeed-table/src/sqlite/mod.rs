//! SQLite: a block is a page of rows in the order of a key.
//!
//! Where pages begin is found once, by going through the key alone. A page is then `WHERE key > ? ORDER BY key LIMIT n`,
//! which an index answers without counting rows, however deep it lies.

mod kinds;
mod pool;

use crate::{args::TableArgs, blocks::Blocks};
use arrow_array::ArrayRef;
use arrow_schema::{Field, Schema, SchemaRef};
use infeed_core::{Error, Result};
use kinds::{Column, Kind};
use pool::Pool;
use rusqlite::types::Value;
use std::sync::Arc;

/// One table or query.
#[derive(Debug)]
pub(crate) struct SqliteShard {
    pool: Pool,
    /// What stands behind `FROM`.
    from: String,
    /// Names in the order of the schema, quoted.
    names: Vec<String>,
    kinds: Vec<Kind>,
    /// Quoted columns of the key.
    key: Vec<String>,
    schema: SchemaRef,
    rows: Vec<u64>,
    /// The last key before each page; none before the first.
    before: Vec<Vec<Value>>,
    size: u64,
}

impl SqliteShard {
    pub(crate) fn open(path: &str, args: &TableArgs) -> Result<Self> {
        Self::new(path, args).map_err(|e| match e {
            // What is found while opening is no bad sample.
            Error::Sample { what, .. } => Error::argument(what),
            other => other,
        })
    }

    fn new(path: &str, args: &TableArgs) -> Result<Self> {
        let size = std::fs::metadata(path).map_err(|e| Error::io("look at", path, e))?.len();
        let pool = Pool::new(path)?;
        let from = pool::from(&pool, args)?;
        let names = pool.names(&from)?;
        if names.is_empty() {
            return Err(pool.bad("it has no columns"));
        }
        let quoted: Vec<String> = names.iter().map(|name| quote(name)).collect();
        let key = match &args.key {
            Some(key) => {
                if let Some(wrong) = key.iter().find(|name| !names.contains(name) && *name != "rowid") {
                    let there = names.join(", ");
                    return Err(
                        pool.bad(&format!("there is no column `{wrong}` for key= (there are: {there})"))
                    );
                }
                key.iter().map(|name| quote(name)).collect()
            }
            None => pool.rowid(&from, args)?,
        };
        let kinds = kinds::find(&pool, &from, &names)?;
        let fields: Vec<Field> =
            names.iter().zip(&kinds).map(|(name, kind)| Field::new(name, kind.arrow(), true)).collect();
        let schema = Arc::new(Schema::new(fields));
        let (rows, before) = pages(&pool, &from, &key, args.page)?;
        Ok(SqliteShard { pool, from, names: quoted, kinds, key, schema, rows, before, size })
    }
}

/// Goes through the key once: rows of every page, and the key before it.
fn pages(pool: &Pool, from: &str, key: &[String], page: u64) -> Result<(Vec<u64>, Vec<Vec<Value>>)> {
    let list = key.join(", ");
    let sql = format!("SELECT {list} FROM {from} ORDER BY {list}");
    let (mut rows, mut before) = (vec![], vec![]);
    let mut last: Vec<Value> = vec![];
    pool.each(&sql, &[], |row| {
        let next: Vec<Value> = (0..key.len()).map(|at| row.get(at)).collect::<Result<_, _>>()?;
        if let Some(at) = next.iter().position(|value| *value == Value::Null) {
            return Ok(Some(format!("the key {} is null somewhere: rows cannot be found by it", key[at])));
        }
        if next == last {
            return Ok(Some(format!(
                "the key ({list}) has {next:?} more than once: choose one that is unique"
            )));
        }
        if rows.last().is_none_or(|rows| *rows == page) {
            before.push(std::mem::take(&mut last));
            rows.push(0);
        }
        if let Some(rows) = rows.last_mut() {
            *rows += 1;
        }
        last = next;
        Ok(None)
    })?;
    Ok((rows, before))
}

/// A name as SQL has it.
pub(crate) fn quote(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

impl Blocks for SqliteShard {
    fn name(&self) -> &str {
        self.pool.path()
    }

    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn block_rows(&self) -> &[u64] {
        &self.rows
    }

    fn noun(&self) -> &'static str {
        "page"
    }

    fn read(&self, block: usize, columns: &[usize]) -> Result<Vec<ArrayRef>> {
        let names: Vec<&str> = columns.iter().map(|column| self.names[*column].as_str()).collect();
        // Without a column there is still a row.
        let what = if names.is_empty() { "1".to_owned() } else { names.join(", ") };
        let list = self.key.join(", ");
        let before = &self.before[block];
        let behind = match before.len() {
            0 => String::new(),
            count => format!(" WHERE ({list}) > ({})", vec!["?"; count].join(", ")),
        };
        let rows = self.rows[block];
        let sql = format!("SELECT {what} FROM {}{behind} ORDER BY {list} LIMIT {rows}", self.from);
        let mut out: Vec<Column> =
            columns.iter().map(|column| Column::new(self.kinds[*column], rows as usize)).collect();
        let mut at = 0;
        self.pool.each(&sql, before, |row| {
            for (column, out) in out.iter_mut().enumerate() {
                if let Err(what) = out.push(row.get_ref(column)?) {
                    let name = self.schema.field(columns[column]).name();
                    return Ok(Some(format!("row {at} of it: column `{name}` {what}")));
                }
            }
            at += 1;
            Ok(None)
        })?;
        Ok(out.into_iter().map(Column::finish).collect())
    }

    fn column_bytes(&self, _column: usize) -> u64 {
        self.size / self.schema.fields().len().max(1) as u64
    }
}
