//! A pool of connections, one per concurrently reading thread, and the queries that use them.

use super::{guarded::Guarded, quote};
use crate::{
    open::{ShardFiles, args::TableArgs},
    shard::limit::BlockLimit,
};
use infeed_core::{Error, Hold, Result};
use rusqlite::{Connection, Row, types::Value};
use std::{
    ffi::OsStr,
    path::PathBuf,
    sync::{Arc, Mutex},
};

/// Read-only connections to one file.
#[derive(Debug)]
pub(super) struct Connections {
    /// As the user wrote it, for messages.
    name: String,
    path: PathBuf,
    /// Idle connections, with the process that opened them: SQLite forbids using them after a fork.
    idle: Mutex<Vec<(u32, Guarded)>>,
    limit: Arc<BlockLimit>,
    /// The most bytes that values stored in the file can have.
    stored: u64,
}

/// Values beyond the size of the file: a column that is computed may repeat what others hold.
const REPEATED: u64 = 4;
const SLACK: u64 = 256 << 20;

impl Connections {
    pub(super) fn new(name: &str, path: PathBuf, files: &ShardFiles<'_>) -> Self {
        let mut log = path.clone().into_os_string();
        log.push("-wal");
        let size = |path: &OsStr| std::fs::metadata(path).map_or(0, |about| about.len());
        let bytes = size(path.as_os_str()).saturating_add(size(&log));
        let stored = match files.args.query {
            None => bytes.saturating_mul(REPEATED).saturating_add(SLACK),
            Some(_) => u64::MAX,
        };
        Connections {
            name: name.to_owned(),
            path,
            idle: Mutex::default(),
            limit: Arc::clone(files.limit),
            stored,
        }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn bad(&self, what: &str) -> Error {
        Error::argument(format!("`{}`: {what}", self.name))
    }

    fn failed(&self, e: &rusqlite::Error) -> Error {
        use rusqlite::ErrorCode::{DatabaseBusy, DatabaseCorrupt, DatabaseLocked, TooBig};
        let cure = match e.sqlite_error_code() {
            Some(DatabaseBusy | DatabaseLocked) => {
                ": another program writes to it; wait for it, or read a copy"
            }
            Some(DatabaseCorrupt) => ": the file is damaged; `.recover` of the sqlite3 program may save it",
            Some(TooBig) => {
                ": a value is larger than memory= or than the file can hold; leave its column out, or raise memory="
            }
            _ => "",
        };
        // A busy database may be free the next time, so this is not a property of the data.
        if matches!(e.sqlite_error_code(), Some(DatabaseBusy | DatabaseLocked)) {
            return Error::io("read", &*self.name, std::io::Error::other(format!("{e}{cure}")));
        }
        Error::sample(format!("`{}`: {e}{cure}", self.name))
    }

    fn connect(&self) -> Result<Guarded> {
        let mut idle = self.idle.hold();
        while let Some((process, guarded)) = idle.pop() {
            if process != std::process::id() {
                // Closing it would touch locks that belong to the parent process.
                std::mem::forget(guarded);
            } else if guarded.holds(&self.path) {
                return Ok(guarded);
            }
        }
        drop(idle);
        Guarded::open(&self.path).map_err(|e| self.failed(&e))
    }

    /// The most bytes that a page may have: `memory=`, and for tables what the file can hold. Columns that are computed could
    /// stand for any number of bytes; a query is the user's own.
    pub(super) fn most(&self) -> u64 {
        self.limit.get().min(self.stored)
    }

    /// Runs `work` with a connection.
    fn with<T>(&self, work: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T> {
        let guarded = self.connect()?;
        let limited = guarded.limit(self.most());
        let done = limited.and_then(|()| work(&guarded.connection)).map_err(|e| self.failed(&e));
        if !guarded.holds(&self.path) {
            let what = "another program began to write to it; wait for it, or read a copy";
            return Err(Error::io("read", &*self.name, std::io::Error::other(what)));
        }
        let mut idle = self.idle.hold();
        idle.push((std::process::id(), guarded));
        done
    }

    /// Iterates over the rows of a query. `work` returns an error message to stop.
    pub(super) fn each(
        &self,
        sql: &str,
        values: &[Value],
        mut work: impl FnMut(&Row<'_>) -> rusqlite::Result<Option<String>>,
    ) -> Result<()> {
        let stopped = self.with(|connection| {
            let mut statement = connection.prepare_cached(sql)?;
            let mut rows = statement.query(rusqlite::params_from_iter(values))?;
            while let Some(row) = rows.next()? {
                if let Some(what) = work(row)? {
                    return Ok(Some(what));
                }
            }
            Ok(None)
        })?;
        match stopped {
            Some(what) => Err(Error::sample(format!("`{}`: {what}", self.name))),
            None => Ok(()),
        }
    }

    /// Returns the columns of the expression after `FROM`.
    pub(super) fn names(&self, from: &str) -> Result<Vec<String>> {
        self.with(|connection| {
            let statement = connection.prepare(&format!("SELECT * FROM {from}"))?;
            Ok(statement.column_names().map(str::to_owned).collect())
        })
    }

    /// Returns the columns of a table or view with their declared types; empty for a query.
    pub(super) fn declared(&self, from: &str) -> Result<Vec<(String, String)>> {
        let mut out = vec![];
        let Some((table, _)) = self.tables()?.into_iter().find(|(name, _)| quote(name) == from) else {
            return Ok(out);
        };
        self.each("SELECT name, type FROM pragma_table_xinfo(?)", &[Value::Text(table)], |row| {
            out.push((row.get(0)?, row.get(1)?));
            Ok(None)
        })?;
        Ok(out)
    }

    /// Returns the default key: the row number, if there is one.
    pub(super) fn rowid(&self, from: &str, args: &TableArgs) -> Result<Vec<String>> {
        let has = args.query.is_none()
            && self.with(|c| Ok(c.prepare(&format!("SELECT rowid FROM {from}")).is_ok()))?;
        let is_table =
            has && self.tables()?.iter().any(|(name, kind)| quote(name) == from && kind == "table");
        if is_table {
            return Ok(vec!["rowid".to_owned()]);
        }
        Err(self.bad(
            "a query, a view or a table WITHOUT ROWID has no row numbers: give key= the column, or columns, by which rows \
             can be told apart",
        ))
    }

    /// Returns tables and views, each with its type.
    pub(super) fn tables(&self) -> Result<Vec<(String, String)>> {
        let mut out = vec![];
        let sql = "SELECT name, type FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%' \
                   ORDER BY name";
        self.each(sql, &[], |row| {
            out.push((row.get(0)?, row.get(1)?));
            Ok(None)
        })?;
        Ok(out)
    }
}

/// Returns the expression after `FROM`: the table, or the query in parentheses.
pub(super) fn from(pool: &Connections, args: &TableArgs) -> Result<String> {
    let tables = pool.tables()?;
    let there = tables.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ");
    match (&args.table, &args.query) {
        (Some(_), Some(_)) => Err(pool.bad("give table= or query=, not both")),
        (None, Some(query)) => Ok(format!("({})", query.trim().trim_end_matches(';'))),
        (Some(table), None) if tables.iter().any(|(name, _)| name == table) => Ok(quote(table)),
        (Some(table), None) => Err(pool.bad(&format!("there is no table `{table}` (there are: {there})"))),
        (None, None) => match tables.as_slice() {
            [(only, _)] => Ok(quote(only)),
            [] => Err(pool.bad("there is no table in it")),
            _ => Err(pool.bad(&format!("there are several tables: choose one with table= ({there})"))),
        },
    }
}
