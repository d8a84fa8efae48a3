//! Expands the paths of a table to shards: files, patterns, folders of files, and Hugging Face data set folders.

use super::{TableFormat, hugging_face};
use infeed_core::{Error, FormatEntry, Found, Result, Shard, Store};

/// Returns the shards of all paths, in order. `listed` has the names below the only path, if that is
/// a folder already listed.
pub(crate) fn expand(
    format: &TableFormat,
    store: &dyn Store,
    paths: &[String],
    listed: Option<&[String]>,
    split: Option<&str>,
) -> Result<Vec<Shard>> {
    let mut names = vec![];
    let mut chosen = false;
    for path in paths {
        for found in store.find(path)? {
            let folder = match found {
                Found::File(name) => {
                    names.push(name);
                    continue;
                }
                Found::Folder(folder) => folder,
            };
            let below = match listed {
                Some(listed) if paths.len() == 1 => listed.to_vec(),
                _ => store.names(&folder)?,
            };
            if format.data_sets
                && let Some((files, has_splits)) = hugging_face::files(store, &folder, &below, split)?
            {
                chosen |= has_splits;
                names.extend(files);
                continue;
            }
            let before = names.len();
            names.extend(below.into_iter().filter(|name| belongs(&format.entry, &folder, name)));
            if names.len() == before {
                let hint = format!("; there is no {} file in it", format.entry.endings[0]);
                return Err(Error::NotFound { path: path.clone(), hint });
            }
        }
    }
    if let Some(split) = split.filter(|_| !chosen) {
        return Err(Error::argument(format!("split=\"{split}\": `{}` has no splits", paths.join(", "))));
    }
    store.stat(&names)
}

/// Returns whether a file in a folder belongs to the format. Files or folders whose name begins with a dot or an
/// underscore are metadata of the program that wrote the folder.
pub(crate) fn belongs(entry: &FormatEntry, folder: &str, name: &str) -> bool {
    let noted = inside(folder, name).split('/').any(|part| part.starts_with(['.', '_']));
    !noted && !name.ends_with('/') && entry.has_ending(name)
}

/// Returns the path of a file relative to a folder.
pub(crate) fn inside<'a>(folder: &str, name: &'a str) -> &'a str {
    name.strip_prefix(folder).unwrap_or(name).trim_start_matches('/')
}

/// Joins a folder and a name, unless the name is absolute.
pub(crate) fn join(folder: &str, name: &str) -> String {
    if folder.is_empty() || name.starts_with('/') || name.contains("://") {
        return name.to_owned();
    }
    format!("{}/{name}", folder.trim_end_matches('/'))
}
