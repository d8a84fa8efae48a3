//! Files that cells name: `{bytes: null, path: "images/1.jpg"}`, as Hugging Face stores images.
//!
//! The path comes from the data, so it is not trusted: it must lead to a regular file below the folder of the table, or below
//! the folder that the user names with `files=`. It may be relative to one of them, or absolute.

use crate::{open::files::stays_inside, shard::limit::BlockLimit};
use infeed_core::{Budget, Bytes, Error, Result, Store, StoreExt, memory::DEFAULT_LIMIT};
use std::fs;

/// Where the files of cells may be.
#[derive(Debug, Default)]
pub(crate) struct CellFiles {
    /// The folder given by `files=`.
    folder: Option<String>,
}

impl CellFiles {
    pub(crate) fn new(folder: Option<&str>) -> Self {
        let folder = folder.map(|folder| match folder.trim_end_matches('/') {
            "" => "/".to_owned(),
            folder => folder.to_owned(),
        });
        CellFiles { folder }
    }

    /// Reads the file that a cell of `shard` names.
    pub(crate) fn read(
        &self,
        store: &dyn Store,
        shard: &str,
        path: &str,
        limit: &BlockLimit,
    ) -> Result<Bytes> {
        let own = front(shard);
        let given = self.folder.as_ref().map(|folder| format!("{}/", folder.trim_end_matches('/')));
        let fronts: Vec<&str> =
            [Some(&own), given.as_ref()].into_iter().flatten().map(String::as_str).collect();
        let mut missing = None;
        for front in &fronts {
            let Some(inside) = relative(path, || absolute(store, front)) else { continue };
            let name = format!("{front}{inside}");
            match check(store, &name, &fronts, path).and_then(|()| store.stat_one(&name)) {
                Ok(file) => {
                    Budget::new(limit.get().min(DEFAULT_LIMIT)).check(file.size)?;
                    return store.read_all(&file);
                }
                Err(Error::NotFound { path, hint }) => {
                    missing.get_or_insert(Error::NotFound { path, hint });
                }
                Err(other) => return Err(other),
            }
        }
        Err(missing.unwrap_or_else(|| refused(path, &own, "outside of")))
    }
}

/// What stands behind a folder in the path of a file below it. A relative path stands behind every folder.
fn relative(path: &str, folder: impl FnOnce() -> Option<String>) -> Option<&str> {
    let inside = if path.starts_with('/') { path.strip_prefix(&*folder()?)? } else { path };
    stays_inside(inside).then_some(inside)
}

/// A folder of this machine as an absolute path that ends in a slash.
fn absolute(store: &dyn Store, front: &str) -> Option<String> {
    let folder = std::path::absolute(store.local_path(front)?).ok()?;
    Some(format!("{}/", folder.to_str()?.trim_end_matches('/')))
}

fn refused(path: &str, folder: &str, how: &str) -> Error {
    Error::sample(format!(
        "the cell names the file `{path}`, which is {how} the table's folder `{folder}`: it is not read; files=\"FOLDER\" names \
         a folder that cells may refer to"
    ))
}

/// What stands before the names of files beside a shard: its folder, or the store that has no folders.
fn front(shard: &str) -> String {
    let scheme = |(scheme, _): &(&str, &str)| scheme.bytes().all(|b| b.is_ascii_alphanumeric());
    match (shard.rsplit_once('/'), shard.split_once(':').filter(scheme)) {
        (Some((folder, _)), _) => format!("{folder}/"),
        (None, Some((scheme, _))) => format!("{scheme}:"),
        (None, None) => "./".to_owned(),
    }
}

/// Checks what a name leads to on this machine: a regular file, below one of the folders once links are followed. Stores
/// without local files have no links.
fn check(store: &dyn Store, name: &str, fronts: &[&str], path: &str) -> Result<()> {
    let Some(local) = store.local_path(name) else { return Ok(()) };
    // The store has the better message for a file that is not there.
    let Ok(found) = fs::canonicalize(&local) else { return Ok(()) };
    let roots = fronts.iter().filter_map(|front| store.local_path(front));
    if !roots.filter_map(|root| fs::canonicalize(root).ok()).any(|root| found.starts_with(root)) {
        return Err(refused(path, fronts.first().copied().unwrap_or_default(), "a link to outside of"));
    }
    let about = fs::metadata(&found).map_err(|e| Error::io("look at", name, e))?;
    if !about.is_file() {
        return Err(Error::sample(format!(
            "the cell names `{path}`, which is no regular file: it is not read"
        )));
    }
    Ok(())
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
            assert_eq!(front(shard), want);
        }
    }

    #[test]
    fn paths_that_lead_elsewhere_are_refused() {
        let data = || Some("/data/images/".to_owned());
        for path in ["a.jpg", "images/a.jpg", "./a.jpg", "12:30.jpg", "a..b/c"] {
            assert_eq!(relative(path, || None), Some(path));
            assert_eq!(relative(path, data), Some(path));
        }
        for path in
            ["", "/etc/passwd", "..", "../a", "a/../../b", "http://host/a", "file:///etc/passwd", "a/.."]
        {
            assert_eq!(relative(path, || None), None, "{path}");
            assert_eq!(relative(path, data), None, "{path}");
        }
        assert_eq!(relative("/data/images/a/b.jpg", data), Some("a/b.jpg"));
        for path in ["/data/images2/a.jpg", "/data/images/../a", "/data/images", "/data/images//etc"] {
            assert_eq!(relative(path, data), None, "{path}");
        }
        assert_eq!(relative("/etc/passwd", || Some("/".to_owned())), Some("etc/passwd"));
    }
}
