//! SQLite: a block is a page of rows in key order.
//!
//! Page boundaries are found once, by scanning the key alone. A page is then read by `WHERE key > ? ORDER BY key
//! LIMIT n`, which an index answers without counting rows, however far into the table it is.

mod guarded;
mod kinds;
mod pool;

use crate::{
    open::{ShardFiles, TableFormat, open, params},
    shard::Blocks,
};
use arrow_array::ArrayRef;
use arrow_schema::{Field, Schema, SchemaRef};
use infeed_core::{
    Can, Error, FormatEntry, Magic, Param, Result, Shard, StoreExt, memory::readable, parallel,
};
use kinds::{SqlColumn, SqlType};
use pool::Connections;
use rusqlite::types::{Value, ValueRef};
use std::sync::Arc;

/// Magic bytes of a database.
const MAGIC: &[u8] = b"SQLite format 3\0";

/// The format.
pub(crate) const FORMAT: TableFormat = TableFormat {
    entry: FormatEntry {
        name: "sqlite",
        about: "a table or query of a SQLite database, read in pages of its key",
        details: "Rows are read in pages in the order of `key`: one or several columns that tell rows apart. Tables have such \
                  a key of their own; views, queries and tables WITHOUT ROWID need one. A field per column, as in `parquet`.",
        params: &[
            Param {
                name: "table",
                python: "str | None",
                default: Some("null"),
                about: "the table or view to read; needed where there are several",
            },
            Param {
                name: "query",
                python: "str | None",
                default: Some("null"),
                about: "a query whose result is read, in place of a table",
            },
            Param {
                name: "key",
                python: "str | Iterable[str] | None",
                default: Some("null"),
                about: "the column or columns that tell rows apart; the row number without it",
            },
            Param {
                name: "page",
                python: "int | None",
                default: Some("null"),
                about: "rows of a page: 8192 without it",
            },
            params::COLUMNS,
            params::WHERE,
            params::NULLS,
            params::FILL,
            params::MATRIX,
        ],
        endings: &[".sqlite", ".sqlite3", ".db"],
        magic: &[Magic { at: 0, bytes: MAGIC }],
        can: Can { blocks: true, remote: false, many: false, ..Can::ROWS },
        recognise: None,
        recognise_folder: None,
        open,
    },
    shards: |files| {
        parallel::map(files.shards.len(), files.threads, |at| {
            Ok(Arc::new(SqliteShard::open(files, &files.shards[at])?) as Arc<dyn Blocks>)
        })
    },
    data_sets: false,
};

/// One table or query.
#[derive(Debug)]
pub(crate) struct SqliteShard {
    pool: Connections,
    /// The expression after `FROM`.
    from: String,
    /// Names in the order of the schema, quoted.
    names: Vec<String>,
    kinds: Vec<SqlType>,
    /// Quoted columns of the key.
    key: Vec<String>,
    schema: SchemaRef,
    rows: Vec<u64>,
    /// The last key before each page; empty for the first.
    before: Vec<Vec<Value>>,
    size: u64,
}

impl SqliteShard {
    fn open(files: &ShardFiles<'_>, shard: &Shard) -> Result<Self> {
        Self::new(files, shard).map_err(|e| match e {
            // Errors found while opening are not bad samples.
            Error::Sample { what, .. } => Error::argument(what),
            other => other,
        })
    }

    fn new(files: &ShardFiles<'_>, shard: &Shard) -> Result<Self> {
        let (args, size) = (files.args, shard.size);
        let path = files.entry.local_path(&**files.store, &shard.name)?;
        let head = files.store.read_one(shard, 0..size.min(MAGIC.len() as u64))?;
        if head[..] != *MAGIC {
            let what = "this is no SQLite database".to_owned();
            return Err(Error::Format { shard: shard.name.to_string(), offset: 0, what });
        }
        let pool = Connections::new(&shard.name, path, files);
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

/// Scans the key once and returns the rows of every page and the key before it.
fn pages(pool: &Connections, from: &str, key: &[String], page: u64) -> Result<(Vec<u64>, Vec<Vec<Value>>)> {
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

/// Quotes an SQL identifier.
pub(crate) fn quote(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

impl Blocks for SqliteShard {
    /// Not what is still in the log beside the file.
    fn shows_changes(&self) -> bool {
        false
    }

    fn name(&self) -> &str {
        self.pool.name()
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
        // Without a column, the query must still return rows.
        let what = if names.is_empty() { "1".to_owned() } else { names.join(", ") };
        let list = self.key.join(", ");
        let before = &self.before[block];
        let behind = match before.len() {
            0 => String::new(),
            count => format!(" WHERE ({list}) > ({})", vec!["?"; count].join(", ")),
        };
        let rows = self.rows[block];
        let sql = format!("SELECT {what} FROM {}{behind} ORDER BY {list} LIMIT {rows}", self.from);
        let mut out: Vec<SqlColumn> =
            columns.iter().map(|column| SqlColumn::new(self.kinds[*column], rows as usize)).collect();
        let (mut at, mut bytes, most) = (0, 0u64, self.pool.most());
        self.pool.each(&sql, before, |row| {
            for (column, out) in out.iter_mut().enumerate() {
                let value = row.get_ref(column)?;
                if let ValueRef::Text(held) | ValueRef::Blob(held) = value {
                    bytes += held.len() as u64;
                }
                if bytes > most {
                    return Ok(Some(format!(
                        "the page takes more than {}, which is more than memory= allows or the file can hold; raise memory=, \
                         read fewer columns, or fewer rows at a time with page=",
                        readable(most)
                    )));
                }
                if let Err(what) = out.push(value) {
                    let name = self.schema.field(columns[column]).name();
                    return Ok(Some(format!("row {at} of it: column `{name}` {what}")));
                }
            }
            at += 1;
            Ok(None)
        })?;
        Ok(out.into_iter().map(SqlColumn::finish).collect())
    }

    fn column_bytes(&self, _column: usize) -> u64 {
        self.size / self.schema.fields().len().max(1) as u64
    }
}
