//! What users write for a place, and the names it stands for.
//!
//! | form | means |
//! |---|---|
//! | `train.tar` | one file |
//! | `train-{000000..000127}.tar`, `{a,b}/x.tar` | braces, as in a shell |
//! | `train-*.tar`, `**/*.tar`, `[ab]?.tar` | files that match, sorted |
//! | `images/` | a folder; what is in it decides what it is |
//! | `a.tar::b.tar` | several, in this order |
//! | `file:x.tar`, `file:///data/x.tar`, `~/x.tar` | spelled otherwise |
//!
//! A form that names an existing file is that file, whatever special characters it has.

mod braces;

use super::local::missing;
use infeed_core::{Error, Result};
use std::path::{Path, PathBuf};

pub use braces::braces;

/// What a form stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// A file that exists.
    File(String),
    /// A folder that exists, without a `/` at its end unless it is the root.
    Folder(String),
}

/// The files and folders that these forms stand for, in the order in which they were written.
pub fn find<S: AsRef<str>>(forms: &[S]) -> Result<Vec<Found>> {
    let mut found = Vec::new();
    for form in forms {
        let form = form.as_ref();
        if form.is_empty() {
            return Err(Error::argument("a path is empty"));
        }
        for part in form.split("::").filter(|part| !part.is_empty()) {
            one(part, &mut found)?;
        }
    }
    if found.is_empty() {
        return Err(Error::argument("there is no path to read"));
    }
    Ok(found)
}

/// Adds what one form, free of `::`, stands for.
fn one(form: &str, found: &mut Vec<Found>) -> Result<()> {
    let path = home(local(form)?)?;
    if Path::new(&path).exists() {
        return existing(&path, found);
    }
    for name in braces(&path)? {
        if Path::new(&name).exists() {
            existing(&name, found)?;
        } else if name.contains(['*', '?', '[']) {
            matching(&name, found)?;
        } else {
            return Err(lost(&name));
        }
    }
    Ok(())
}

/// The path of a form that may be a URL.
fn local(form: &str) -> Result<&str> {
    if let Some(rest) = form.strip_prefix("file:") {
        // `file:///x` and `file://localhost/x` name a host, `file:x` does not.
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
    let scheme =
        form.split_once("://").map(|(scheme, _)| scheme).or(form.starts_with("pipe:").then_some("pipe"));
    match scheme {
        Some(name)
            if !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b)) =>
        {
            Err(Error::argument(format!(
                "`{form}`: {name} is not supported yet; copy or mount the data and give a local path"
            )))
        }
        _ => Ok(form),
    }
}

/// Puts the home folder in place of a leading `~`.
fn home(path: &str) -> Result<String> {
    match path.strip_prefix('~') {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => match std::env::var("HOME") {
            Ok(home) => Ok(format!("{}{rest}", home.trim_end_matches('/'))),
            Err(_) => Err(Error::argument(format!("`{path}`: HOME is not set; write the whole path"))),
        },
        _ => Ok(path.to_owned()),
    }
}

fn existing(name: &str, found: &mut Vec<Found>) -> Result<()> {
    let data = std::fs::metadata(name).map_err(|e| Error::io("look at", name, e))?;
    found.push(if data.is_dir() {
        let bare = name.trim_end_matches('/');
        Found::Folder(if bare.is_empty() { "/" } else { bare }.to_owned())
    } else {
        Found::File(name.to_owned())
    });
    Ok(())
}

/// Adds what a pattern matches, sorted.
fn matching(pattern: &str, found: &mut Vec<Found>) -> Result<()> {
    let paths = glob::glob(pattern).map_err(|e| {
        Error::argument(format!("`{pattern}` is no pattern: {} at character {}", e.msg, e.pos))
    })?;
    let mut names = Vec::new();
    for path in paths {
        let path: PathBuf = path.map_err(|e| {
            let name = e.path().display().to_string();
            Error::io("list", name, e.into())
        })?;
        match path.into_os_string().into_string() {
            Ok(name) => names.push(name),
            Err(name) => {
                return Err(Error::argument(format!("the name of {name:?} is not UTF-8; rename the file")));
            }
        }
    }
    if names.is_empty() {
        let parent = fixed_part(pattern);
        let hint = if Path::new(parent).exists() {
            format!("; no file matches, though `{parent}` exists")
        } else {
            format!("; no file matches: `{parent}` does not exist")
        };
        return Err(Error::NotFound { path: pattern.to_owned(), hint });
    }
    names.sort_unstable();
    names.iter().try_for_each(|name| existing(name, found))
}

/// The folder of a pattern up to its first special character.
fn fixed_part(pattern: &str) -> &str {
    let special = pattern.find(['*', '?', '[']).unwrap_or(pattern.len());
    match pattern[..special].rfind('/') {
        Some(0) => "/",
        Some(slash) => &pattern[..slash],
        None => ".",
    }
}

/// A path that does not exist, or one that we may not look at.
fn lost(name: &str) -> Error {
    match std::fs::metadata(name) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => Error::io("look at", name, e),
        _ => missing(Path::new(name)),
    }
}

#[cfg(test)]
mod tests;
