//! Opens a database that is not trusted, and leaves nothing beside it.
//!
//! A database in WAL mode needs two more files to be read, and SQLite creates them where they are missing. If there is no log,
//! the file alone is complete, and it is opened as one that nobody changes: without those files, and without locks. Whether
//! that holds is checked before and after every query.

use rusqlite::{Connection, OpenFlags, config::DbConfig, limits::Limit};
use std::{
    fs::{self, File},
    io::{self, Read},
    os::unix::{ffi::OsStrExt, fs::MetadataExt},
    path::{Path, PathBuf},
    time::Duration,
};

/// How long to wait for a writer.
const PATIENCE: Duration = Duration::from_secs(5);

/// The longest text or blob that SQLite itself allows.
const LONGEST: u64 = 1_000_000_000;

/// A connection, and what its file must still be.
#[derive(Debug)]
pub(super) struct Guarded {
    pub(super) connection: Connection,
    seal: Option<Seal>,
}

/// Size and times of a file that is read without locks.
#[derive(Debug, PartialEq, Eq)]
struct Seal(u64, i64, i64, i64, i64);

impl Guarded {
    pub(super) fn open(path: &Path) -> rusqlite::Result<Self> {
        let seal = seal(path);
        let mut flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = match &seal {
            Some(_) => {
                flags |= OpenFlags::SQLITE_OPEN_URI;
                Connection::open_with_flags(immutable(path), flags)?
            }
            None => Connection::open_with_flags(path, flags)?,
        };
        connection.busy_timeout(PATIENCE)?;
        // What the schema of the file says is not trusted: its views and columns may only call harmless functions.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
        connection.pragma_update(None, "cell_size_check", true)?;
        Ok(Guarded { connection, seal })
    }

    /// Limits the length of one value, before SQLite allocates it.
    pub(super) fn limit(&self, bytes: u64) -> rusqlite::Result<()> {
        let most = bytes.clamp(1000, LONGEST) as i32;
        self.connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, most).map(drop)
    }

    /// Whether the file is still as it was opened.
    pub(super) fn holds(&self, path: &Path) -> bool {
        self.seal.is_none() || self.seal == seal(path)
    }
}

/// Returns what a file must stay like to be read without locks; `None` for one that is read with them.
fn seal(path: &Path) -> Option<Seal> {
    let is_wal = is_wal(path).unwrap_or(false);
    let log = beside(path, "-wal");
    if !is_wal || fs::metadata(log).is_ok() {
        return None;
    }
    let about = fs::metadata(path).ok()?;
    Some(Seal(about.len(), about.mtime(), about.mtime_nsec(), about.ctime(), about.ctime_nsec()))
}

/// Whether the header says that changes go to a log first.
fn is_wal(path: &Path) -> io::Result<bool> {
    let mut head = [0; 20];
    File::open(path)?.read_exact(&mut head)?;
    Ok(head[18..] == [2, 2])
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

/// The address of a file that nobody changes.
fn immutable(path: &Path) -> String {
    let mut uri = "file:".to_owned();
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' => {
                uri.push(char::from(*byte))
            }
            other => uri += &format!("%{other:02X}"),
        }
    }
    uri + "?immutable=1"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_escaped() {
        assert_eq!(immutable(Path::new("/a b/c?d#e%.db")), "file:/a%20b/c%3Fd%23e%25.db?immutable=1");
    }
}
