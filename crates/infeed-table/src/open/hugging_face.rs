//! Reads folders that Hugging Face's data sets library writes: `save_to_disk` and its cache.

use super::files::{inside, join};
use infeed_core::{Error, FolderLook, Guess, Result, Store, StoreExt, Sure};
use serde_json::Value as Json;
use std::collections::BTreeMap;

/// Metadata files of the library: the splits of a folder, the files of a split, and the description of the data.
const SPLITS: &str = "dataset_dict.json";
const STATE: &str = "state.json";
const ABOUT: &str = "dataset_info.json";
const ENDING: &str = ".arrow";

/// Recognises such a data set, or else a folder of Arrow files.
pub(crate) fn recognise(look: &FolderLook<'_>) -> Result<Option<Guess>> {
    let has = |name: &str| look.files.iter().any(|file| inside(look.folder, file) == name);
    if has(SPLITS) || has(STATE) || has(ABOUT) {
        return Ok(Some(Guess { sure: Sure::Certain, count: look.files.len() }));
    }
    let entry = &crate::shard::ipc::FORMAT.entry;
    let count = look.files.iter().filter(|name| entry.has_ending(name)).count();
    Ok((count > 0).then_some(Guess { sure: Sure::Name, count }))
}

/// Returns the files of a data set folder, and whether it has splits; `None` for an ordinary folder. `below` are the
/// names of everything in it.
pub(crate) fn files(
    store: &dyn Store,
    folder: &str,
    below: &[String],
    split: Option<&str>,
) -> Result<Option<(Vec<String>, bool)>> {
    let has = |name: &str| below.iter().any(|file| inside(folder, file) == name);
    if has(SPLITS) {
        let splits = strings(&json(store, &join(folder, SPLITS))?, "splits");
        let chosen = choose(folder, &splits, split)?;
        let state = format!("{chosen}/{STATE}");
        if !has(&state) {
            return Ok(None);
        }
        return saved(store, &below_folder(&join(folder, SPLITS), folder, &chosen)?)
            .map(|files| Some((files, true)));
    }
    if has(STATE) {
        return saved(store, folder).map(|files| Some((files, false)));
    }
    if has(ABOUT) {
        let about = json(store, &join(folder, ABOUT))?;
        return cached(folder, below, &about, split).map(|files| Some((files, true)));
    }
    Ok(None)
}

/// Returns the files of a folder written by `save_to_disk`, as listed in `state.json`.
fn saved(store: &dyn Store, folder: &str) -> Result<Vec<String>> {
    let state = join(folder, STATE);
    let about = json(store, &state)?;
    let files: Vec<String> = match about.get("_data_files") {
        Some(Json::Array(files)) => {
            let names = files.iter().filter_map(|file| file.get("filename")?.as_str());
            names.map(|name| below_folder(&state, folder, name)).collect::<Result<_>>()?
        }
        _ => vec![],
    };
    if files.is_empty() {
        return Err(Error::NotFound { path: state, hint: "; it lists no data files".to_owned() });
    }
    if about.get("_indices_data_files").is_some_and(|files| !files.is_null()) {
        return Err(Error::argument(format!(
            "`{folder}` keeps its rows in another order than its files: call flatten_indices() before save_to_disk()"
        )));
    }
    Ok(files)
}

/// Returns the files of a cache folder, which are named after their split: `imdb-train-00000-of-00002.arrow`.
fn cached(folder: &str, below: &[String], about: &Json, split: Option<&str>) -> Result<Vec<String>> {
    let known: Vec<String> = match about.get("splits") {
        Some(Json::Object(splits)) => splits.keys().cloned().collect(),
        _ => vec![],
    };
    let mut splits: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for path in below {
        let name = inside(folder, path);
        let Some(stem) = name.strip_suffix(ENDING).filter(|stem| !stem.contains('/')) else { continue };
        // Skip results of map() and filter(), which are in the same folder.
        if stem.starts_with("cache-") || stem.starts_with("tmp") {
            continue;
        }
        let stem = match stem.rsplit_once("-of-") {
            Some((front, count)) if count.bytes().all(|b| b.is_ascii_digit()) => {
                front.rsplit_once('-').map_or(front, |(front, _)| front)
            }
            _ => stem,
        };
        let own = known.iter().filter(|name| stem.ends_with(&format!("-{name}")) || stem == **name);
        let name = own
            .max_by_key(|name| name.len())
            .map_or_else(|| stem.rsplit_once('-').map_or(stem, |(_, name)| name).to_owned(), Clone::clone);
        splits.entry(name).or_default().push(path.clone());
    }
    if splits.is_empty() {
        let hint = format!("; there is no {ENDING} file in it");
        return Err(Error::NotFound { path: folder.to_owned(), hint });
    }
    let names: Vec<String> = splits.keys().cloned().collect();
    let chosen = choose(folder, &names, split)?;
    Ok(splits.remove(&chosen).unwrap_or_default())
}

/// Joins a folder and a name that the file `listed` has. The name must not lead out of the folder.
fn below_folder(listed: &str, folder: &str, name: &str) -> Result<String> {
    if infeed_core::store::below::stays_inside(name) {
        return Ok(join(folder, name));
    }
    Err(Error::Format {
        shard: listed.to_owned(),
        offset: 0,
        what: format!(
            "it lists `{name}`, which is not below its folder; give the paths of the files themselves"
        ),
    })
}

fn choose(folder: &str, splits: &[String], split: Option<&str>) -> Result<String> {
    let there = splits.join(", ");
    match (split, splits) {
        (Some(split), _) if splits.iter().any(|name| name == split) => Ok(split.to_owned()),
        (Some(split), _) => {
            Err(Error::argument(format!("`{folder}` has no split \"{split}\" (there are: {there})")))
        }
        (None, [only]) => Ok(only.clone()),
        (None, _) => Err(Error::argument(format!(
            "`{folder}` has several splits: choose one with split= (there are: {there})"
        ))),
    }
}

fn json(store: &dyn Store, name: &str) -> Result<Json> {
    let bytes = store.read_all(&store.stat_one(name)?)?;
    serde_json::from_slice(&bytes).map_err(|e| Error::Format {
        shard: name.to_owned(),
        offset: 0,
        what: format!("it is not JSON: {e}"),
    })
}

fn strings(value: &Json, key: &str) -> Vec<String> {
    let list = value.get(key).and_then(Json::as_array);
    list.into_iter().flatten().filter_map(|item| item.as_str().map(str::to_owned)).collect()
}
