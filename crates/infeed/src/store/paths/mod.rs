//! Path patterns that users write, and the names they stand for.
//!
//! | form | means |
//! |---|---|
//! | `train.tar` | one file |
//! | `train-{000000..000127}.tar`, `{a,b}/x.tar` | braces, as in a shell |
//! | `train-*.tar`, `**/*.tar`, `[ab]?.tar` | files that match, sorted |
//! | `images/` | a folder; its format is detected from its content |
//! | `a.tar::b.tar` | several, in this order |
//! | `file:x.tar`, `file:///data/x.tar`, `~/x.tar` | other spellings of a local path |
//! | `mem:x.tar` | an object of another store of the table; patterns work there, too |
//!
//! A pattern that is the name of an existing file means that file, whatever special characters it has.

mod braces;
mod listed;

use super::{
    Stores,
    local::{look_all, missing},
};
use infeed_core::{Error, Found, Result, Store};
use std::{
    io::ErrorKind,
    path::{Path, PathBuf},
};

pub use braces::braces;
pub(super) use listed::find_listed;

/// Returns the files and folders that these patterns stand for, in the order in which they were written.
pub fn find<S: AsRef<str>>(forms: &[S]) -> Result<Vec<Found>> {
    let stores = Stores::new();
    let mut found = Vec::new();
    for form in forms {
        found.extend(stores.find(form.as_ref())?);
    }
    if found.is_empty() {
        return Err(Error::argument("there is no path to read"));
    }
    Ok(found)
}

/// Adds what one pattern, without `::`, stands for on this machine.
pub(super) fn find_local(form: &str, found: &mut Vec<Found>) -> Result<()> {
    let path = home(local(form)?)?;
    if Path::new(&path).exists() {
        found.push(existing(path)?);
        return Ok(());
    }
    let names = braces(&path)?;
    let kinds = look_all(&names, |name| Ok(std::fs::metadata(name).ok().map(|data| data.is_dir())))?;
    for (name, is_folder) in names.into_iter().zip(kinds) {
        match is_folder {
            Some(is_folder) => found.push(named(name, is_folder)),
            None if name.contains(['*', '?', '[']) => matching(&name, found)?,
            None => return Err(lost(&name)),
        }
    }
    Ok(())
}

/// Returns the path of a pattern that may be a `file:` URL.
fn local(form: &str) -> Result<&str> {
    if let Some(rest) = form.strip_prefix("file:") {
        // `file:///x` and `file://localhost/x` have a host part, `file:x` does not.
        return match rest.strip_prefix("//") {
            None => Ok(rest),
            Some(full) => match full.strip_prefix("localhost").unwrap_or(full) {
                path if path.starts_with('/') => Ok(path),
                _ => Err(Error::argument(format!(
                    "`{form}` names another host; write `file:PATH` or `file:///PATH`"
                ))),
            },
        };
    }
    Ok(form)
}

/// Replaces a leading `~` by the home folder.
fn home(path: &str) -> Result<String> {
    match path.strip_prefix('~') {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => match std::env::var("HOME") {
            Ok(home) => Ok(format!("{}{rest}", home.trim_end_matches('/'))),
            Err(_) => Err(Error::argument(format!("`{path}`: HOME is not set; write the whole path"))),
        },
        _ => Ok(path.to_owned()),
    }
}

fn existing(name: String) -> Result<Found> {
    let data = std::fs::metadata(&name).map_err(|e| Error::io("look at", &name, e))?;
    Ok(named(name, data.is_dir()))
}

fn named(name: String, is_folder: bool) -> Found {
    if !is_folder {
        return Found::File(name);
    }
    let bare = name.trim_end_matches('/');
    Found::Folder(if bare.is_empty() { "/" } else { bare }.to_owned())
}

/// Adds what a pattern matches, sorted.
fn matching(pattern: &str, found: &mut Vec<Found>) -> Result<()> {
    let wrong = |e: glob::PatternError| {
        Error::argument(format!("`{pattern}` is not a valid pattern: {} at character {}", e.msg, e.pos))
    };
    if let Some((folder, last)) = simple(pattern) {
        let last = glob::Pattern::new(last).map_err(wrong)?;
        let before = found.len();
        in_folder(folder, &last, found)?;
        return if found.len() > before { Ok(()) } else { Err(no_match(pattern)) };
    }
    let mut names = Vec::new();
    for path in glob::glob(pattern).map_err(wrong)? {
        let path: PathBuf = path.map_err(|e| {
            let name = e.path().display().to_string();
            Error::io("list", name, e.into())
        })?;
        names.push(path.into_os_string().into_string().map_err(not_text)?);
    }
    if names.is_empty() {
        return Err(no_match(pattern));
    }
    names.sort_unstable();
    found.extend(look_all(&names, |name| existing(name.to_owned()))?);
    Ok(())
}

/// Splits a pattern with wildcards only in its last part into folder and last part. The folder's listing then gives the
/// kind of each name, without lookups. `glob` rewrites some folder names; those are left to it.
fn simple(pattern: &str) -> Option<(&str, &str)> {
    let (folder, last) = pattern.split_at(pattern.rfind('/')? + 1);
    let plain = |part: &str| !part.is_empty() && part != "." && part != "..";
    let bare = folder.strip_prefix('/').unwrap_or(folder);
    let parts = bare.strip_suffix('/').unwrap_or(bare);
    let known = !folder.contains(['*', '?', '[']) && (parts.is_empty() || parts.split('/').all(plain));
    (known && !last.is_empty() && !last.contains("**")).then_some((folder, last))
}

/// Adds the matches in one folder, sorted.
fn in_folder(folder: &str, pattern: &glob::Pattern, found: &mut Vec<Found>) -> Result<()> {
    let failed = |e| Error::io("list", folder, e);
    let entries = match std::fs::read_dir(folder) {
        // Nothing matches in a folder that does not exist.
        Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return Ok(()),
        other => other.map_err(failed)?,
    };
    let before = found.len();
    for entry in entries {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name();
        if !pattern.matches(&name.to_string_lossy()) {
            continue;
        }
        let name = name.into_string().map_err(|_| not_text(entry.path().into_os_string()))?;
        let name = format!("{folder}{name}");
        // A link counts as its target.
        let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
        found.push(if is_file { Found::File(name) } else { existing(name)? });
    }
    found[before..].sort_unstable_by(|a, b| a.name().cmp(b.name()));
    Ok(())
}

fn not_text(name: std::ffi::OsString) -> Error {
    Error::argument(format!("the name of {name:?} is not UTF-8; rename the file"))
}

/// The error if nothing matches: says which part of the path exists.
fn no_match(pattern: &str) -> Error {
    let parent = fixed_part(pattern);
    let hint = if Path::new(parent).exists() {
        format!("; no file matches, though `{parent}` exists")
    } else {
        format!("; no file matches: `{parent}` does not exist")
    };
    Error::NotFound { path: pattern.to_owned(), hint }
}

/// Returns the folder of a pattern up to its first special character.
fn fixed_part(pattern: &str) -> &str {
    let special = pattern.find(['*', '?', '[']).unwrap_or(pattern.len());
    match pattern[..special].rfind('/') {
        Some(0) => "/",
        Some(slash) => &pattern[..slash],
        None => ".",
    }
}

/// The error for a path that does not exist or may not be accessed.
fn lost(name: &str) -> Error {
    match std::fs::metadata(name) {
        Err(e) if e.kind() != ErrorKind::NotFound => Error::io("look at", name, e),
        _ => missing(Path::new(name)),
    }
}

#[cfg(test)]
mod tests;
