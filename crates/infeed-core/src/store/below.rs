//! Objects that data names: paths in cells and columns, which are not trusted.
//!
//! A path must lead below a folder that the user chose. The text of the path is checked here; links and kinds of files are
//! checked by [`Store::read_below`], which opens first and checks what it opened.

use crate::{Error, Result, Store};
use std::{
    io::{Error as IoError, ErrorKind},
    path::{Component, Path},
};

/// Why a store does not read an object that data names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// Its links lead out of the folder.
    Outside,
    /// It is a folder, a pipe, a socket or a device.
    NotAFile,
}

impl Refusal {
    /// Returns the error of an object whose links lead out of its folder.
    pub fn outside(name: &str, folder: &str) -> Error {
        let what = format!("its links lead to outside of `{folder}`");
        Error::io("read", name, IoError::new(ErrorKind::PermissionDenied, what))
    }

    /// Returns the reason of an error; `None` for errors of other kinds.
    pub fn of(error: &Error) -> Option<Refusal> {
        let Error::Io { source, .. } = error else { return None };
        match source.kind() {
            // One with a number comes from the system: a file without the right to read it.
            ErrorKind::PermissionDenied if source.raw_os_error().is_none() => Some(Refusal::Outside),
            ErrorKind::InvalidInput | ErrorKind::IsADirectory => Some(Refusal::NotAFile),
            _ => None,
        }
    }
}

/// Returns whether a path in data can only lead below the folder it is relative to, apart from links: not absolute, not in
/// another store, and without a way up.
pub fn stays_inside(path: &str) -> bool {
    let plain = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
    !path.is_empty()
        && !path.contains(['\0'])
        && !path.contains("://")
        && Path::new(path).components().all(plain)
}

/// Returns what stands before the names of objects beside an object: its folder with a slash, or the store that has no folders.
pub fn folder_of(object: &str) -> String {
    let scheme = |(scheme, _): &(&str, &str)| scheme.bytes().all(|b| b.is_ascii_alphanumeric());
    match (object.rsplit_once('/'), object.split_once(':').filter(scheme)) {
        (Some((folder, _)), _) => format!("{folder}/"),
        (None, Some((scheme, _))) => format!("{scheme}:"),
        (None, None) => "./".to_owned(),
    }
}

/// Returns the name of the object that a path in data leads to, below `folder` (which ends in a slash or in the colon of a
/// store). The path is relative to the folder, or absolute and below it. `None` if it leads elsewhere.
pub fn name_below(store: &(impl Store + ?Sized), folder: &str, path: &str) -> Option<String> {
    Some(format!("{folder}{}", relative(path, || absolute(store, folder))?))
}

/// What stands behind a folder in the path of a file below it. A relative path stands behind every folder.
fn relative(path: &str, folder: impl FnOnce() -> Option<String>) -> Option<&str> {
    let inside = if path.starts_with('/') { path.strip_prefix(&*folder()?)? } else { path };
    stays_inside(inside).then_some(inside)
}

/// A folder of this machine as an absolute path that ends in a slash.
fn absolute(store: &(impl Store + ?Sized), folder: &str) -> Option<String> {
    let folder = std::path::absolute(store.local_path(folder)?).ok()?;
    Some(format!("{}/", folder.to_str()?.trim_end_matches('/')))
}

/// Checks the size of an object that data names, before it is read.
pub fn check_size(name: &str, size: u64, limit: u64) -> Result<()> {
    crate::Budget::new(limit).check(size).map_err(|error| match error {
        Error::Sample { at, what } => Error::Sample { at, what: format!("`{name}`: {what}") },
        other => other,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_in_the_store_of_their_table() {
        for (shard, want) in [
            ("/a/t.parquet", "/a/"),
            ("/t.parquet", "/"),
            ("t.parquet", "./"),
            ("mem:t.parquet", "mem:"),
            ("mem:a/t.parquet", "mem:a/"),
            ("file:/a/t.parquet", "file:/a/"),
        ] {
            assert_eq!(folder_of(shard), want);
        }
    }

    #[test]
    fn paths_that_lead_elsewhere_are_refused() {
        let data = || Some("/data/images/".to_owned());
        for path in ["a.jpg", "images/a.jpg", "./a.jpg", "12:30.jpg", "a..b/c"] {
            assert_eq!(relative(path, || None), Some(path));
            assert_eq!(relative(path, data), Some(path));
        }
        for path in [
            "",
            "/etc/passwd",
            "..",
            "../a",
            "a/../../b",
            "http://host/a",
            "file:///etc/passwd",
            "a/..",
            "a\0b",
        ] {
            assert_eq!(relative(path, || None), None, "{path}");
            assert_eq!(relative(path, data), None, "{path}");
        }
        assert_eq!(relative("/data/images/a/b.jpg", data), Some("a/b.jpg"));
        for path in ["/data/images2/a.jpg", "/data/images/../a", "/data/images", "/data/images//etc"] {
            assert_eq!(relative(path, data), None, "{path}");
        }
        assert_eq!(relative("/etc/passwd", || Some("/".to_owned())), Some("etc/passwd"));
    }

    #[test]
    fn refusals_are_told_from_faults_of_the_system() {
        assert_eq!(Refusal::of(&Refusal::outside("a", "b/")), Some(Refusal::Outside));
        let denied = Error::io("open", "a", IoError::from_raw_os_error(13));
        assert_eq!(Refusal::of(&denied), None);
        let folder = Error::io("read", "a", IoError::from(ErrorKind::IsADirectory));
        assert_eq!(Refusal::of(&folder), Some(Refusal::NotAFile));
        assert!(!Refusal::outside("a", "b/").is_storage());
    }
}
