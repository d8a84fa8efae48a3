//! Patterns over stores that only list names.

use super::{braces, fixed_part};
use infeed_core::{Error, Found, Result, Store};

/// Resolves a path in a store without real folders: an object, what its braces and stars match, or the names below it.
pub(in crate::store) fn find_listed(store: &dyn Store, path: &str) -> Result<Vec<Found>> {
    let names = braces(path)?;
    // All names with one call: stores that are far away look many up at a time.
    if names.len() > 1
        && !names.iter().any(|name| name.contains(['*', '?', '[']))
        && store.stat(&names).is_ok()
    {
        return Ok(names.into_iter().map(Found::File).collect());
    }
    let mut found = Vec::new();
    for name in names {
        if name.contains(['*', '?', '[']) {
            matching(store, name, &mut found)?;
            continue;
        }
        found.push(one(store, name)?);
    }
    Ok(found)
}

/// Returns the object of this name, or else the folder.
fn one(store: &dyn Store, name: String) -> Result<Found> {
    let bare = name.trim_end_matches('/');
    let folder = || store.list(&format!("{bare}/")).map(|below| !below.is_empty());
    // What looks like a folder is listed first: it will be anyway, and some servers fail when a folder is asked for as an object.
    let looks_like_folder = bare.rsplit('/').next().is_none_or(|last| !last.contains('.'));
    let listed = looks_like_folder.then(folder);
    if matches!(listed, Some(Ok(true))) {
        return Ok(Found::Folder(bare.to_owned()));
    }
    match store.stat(std::slice::from_ref(&name)) {
        Ok(_) => Ok(Found::File(name)),
        Err(Error::NotFound { hint, .. }) => match listed.unwrap_or_else(folder) {
            Ok(true) => Ok(Found::Folder(bare.to_owned())),
            // Stores without listings say so; that the object is not there is what matters.
            Ok(false) | Err(Error::NotFound { .. }) => Err(Error::NotFound { path: name, hint }),
            Err(other) => Err(other),
        },
        Err(other) => Err(other),
    }
}

/// Adds the objects that match a pattern, or the one that has it as its name. A star does not match `/`, as in a shell.
fn matching(store: &dyn Store, pattern: String, found: &mut Vec<Found>) -> Result<()> {
    let special = pattern.find(['*', '?', '[']).unwrap_or(pattern.len());
    // The listing tells of both: asking for the name first would be another way to a server that is far away.
    let listed = match store.list(&pattern[..special]) {
        // Stores without listings say so, and may still have an object of that name.
        Err(error @ Error::NotFound { .. }) => match store.stat(std::slice::from_ref(&pattern)) {
            Ok(shards) => shards,
            Err(Error::NotFound { .. }) => return Err(error),
            Err(other) => return Err(other),
        },
        other => other?,
    };
    if listed.iter().any(|shard| *shard.name == *pattern) {
        found.push(Found::File(pattern));
        return Ok(());
    }
    let compiled = glob::Pattern::new(&pattern).map_err(|e| {
        Error::argument(format!("`{pattern}` is not a valid pattern: {} at character {}", e.msg, e.pos))
    })?;
    let options = glob::MatchOptions { require_literal_separator: true, ..glob::MatchOptions::new() };
    let before = found.len();
    for shard in listed {
        if compiled.matches_with(&shard.name, options) {
            found.push(Found::File(shard.name.to_string()));
        }
    }
    if found.len() > before {
        return Ok(());
    }
    let hint = format!("; no object matches; those looked at begin with `{}`", fixed_part(&pattern));
    Err(Error::NotFound { path: pattern, hint })
}

#[cfg(test)]
mod tests {
    use crate::store::MemoryStore;
    use infeed_core::{Found, Store};

    #[test]
    fn patterns_match_names() {
        let store: MemoryStore =
            ["d/a-0.tar", "d/a-1.tar", "d/b.txt", "d/e/a-2.tar"].map(|n| (n, "x")).into_iter().collect();
        let names = |path: &str| -> Vec<String> {
            store.find(path).unwrap().iter().map(|found| found.name().to_owned()).collect()
        };
        assert_eq!(names("mem:d/a-*.tar"), ["mem:d/a-0.tar", "mem:d/a-1.tar"]);
        assert_eq!(names("mem:d/a-{1..0}.tar"), ["mem:d/a-1.tar", "mem:d/a-0.tar"]);
        assert_eq!(names("mem:d/**/*.tar").len(), 3);
        store.put("mem:d/a-[0].tar", "x");
        assert_eq!(names("mem:d/a-[0].tar"), ["mem:d/a-[0].tar"]);
        assert_eq!(store.find("mem:d/").unwrap(), [Found::Folder("mem:d".into())]);
        assert!(store.find("mem:d/*.jpg").unwrap_err().to_string().contains("no object matches"));
        assert!(store.find("mem:none").is_err());
    }
}
