//! Which of many named files are there.

use infeed_core::{Error, Result, Store};
use std::collections::{BTreeSet, HashSet};

/// Names in a message.
const SHOWN: usize = 3;

/// Returns for each name whether there is such a file. Folders are listed, which is faster than asking for each file.
pub(super) fn present(store: &dyn Store, names: &[String]) -> Result<Vec<bool>> {
    let parent = |name: &str| name.rsplit_once('/').map_or(String::new(), |(folder, _)| folder.to_owned());
    let folders: BTreeSet<String> = names.iter().map(|name| parent(name)).collect();
    let mut there: HashSet<String> = HashSet::new();
    let mut last: Option<String> = None;
    for folder in folders {
        // Sorted: a folder comes before those in it, which are listed with it.
        if last
            .as_ref()
            .is_some_and(|last| folder.strip_prefix(&**last).is_some_and(|rest| rest.starts_with('/')))
        {
            continue;
        }
        // What is directly in the root of the file system, or of nothing, is not worth a walk through all of it.
        if folder.is_empty() {
            let alone = names.iter().filter(|name| parent(name).is_empty());
            there.extend(alone.filter(|name| store.stat(std::slice::from_ref(*name)).is_ok()).cloned());
            continue;
        }
        match store.names(&folder) {
            Ok(found) => there.extend(found),
            Err(Error::NotFound { .. }) => {}
            Err(other) => return Err(other),
        }
        last = Some(folder);
    }
    Ok(names.iter().map(|name| there.contains(name)).collect())
}

/// Deals with files that are not there: an error, or a line about what is left out. `list` names them.
pub(super) fn missing(list: &str, names: &[&str], skip: bool) -> Result<Option<String>> {
    let Some(first) = names.first() else { return Ok(None) };
    let mut shown = names.iter().take(SHOWN).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    if names.len() > SHOWN {
        shown.push_str(", ...");
    }
    let count = match names.len() {
        1 => "a file that is not there".to_owned(),
        n => format!("{n} files that are not there"),
    };
    if skip {
        return Ok(Some(format!("`{list}` names {count}: skipped {shown}")));
    }
    let hint =
        format!("; `{list}` names {count}: {shown}; give the folder that has them, or missing=\"skip\"");
    Err(Error::NotFound { path: (*first).to_owned(), hint })
}

/// Puts a path below a folder, unless it is complete.
pub(super) fn join(folder: &str, path: &str) -> String {
    let complete = path.starts_with('/') || path.split('/').next().is_some_and(|first| first.contains(':'));
    let path = path.strip_prefix("./").unwrap_or(path);
    match folder {
        _ if complete => path.to_owned(),
        "" | "." => path.to_owned(),
        folder => format!("{}/{path}", folder.trim_end_matches('/')),
    }
}

/// Whether a name from a file stays below the folder that it is relative to.
pub(super) fn stays_below(name: &str) -> bool {
    !name.is_empty() && !name.starts_with('/') && !name.split(['/', '\\']).any(|part| part == "..")
}
