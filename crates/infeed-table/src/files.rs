//! Which files a path of a table stands for: folders of files, and Hugging Face data set folders.

use infeed_core::{Error, Result};
use serde_json::Value as Json;
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

/// How files of a format end.
fn endings(kind: &str) -> &'static [&'static str] {
    match kind {
        "parquet" => &["parquet", "pq"],
        "arrow" => &["arrow", "feather", "ipc", "arrows"],
        "avro" => &["avro"],
        "csv_table" => &["csv", "tsv"],
        _ => &["sqlite", "sqlite3", "db"],
    }
}

/// The files of all paths, in order.
pub(crate) fn expand(kind: &str, paths: &[String], split: Option<&str>) -> Result<Vec<String>> {
    let mut out = vec![];
    let mut chosen = false;
    for path in paths {
        if !Path::new(path).is_dir() {
            out.push(path.clone());
        } else if kind == "arrow"
            && let Some((files, has_splits)) = hugging_face(Path::new(path), split)?
        {
            chosen |= has_splits;
            out.extend(files);
        } else {
            let mut found = vec![];
            below(Path::new(path), endings(kind), &mut found)?;
            if found.is_empty() {
                let hint = format!("; there is no .{} file in it", endings(kind)[0]);
                return Err(Error::NotFound { path: path.clone(), hint });
            }
            found.sort();
            out.extend(found);
        }
    }
    if let Some(split) = split.filter(|_| !chosen) {
        return Err(Error::argument(format!("split=\"{split}\": `{}` has no splits", paths.join(", "))));
    }
    Ok(out)
}

/// The format of the files in a folder.
pub(crate) fn kind_of_folder(path: &str) -> Option<&'static str> {
    if ["state.json", "dataset_info.json", "dataset_dict.json"]
        .iter()
        .any(|name| Path::new(path).join(name).exists())
    {
        return Some("arrow");
    }
    crate::open::KINDS.into_iter().find(|kind| {
        let mut found = vec![];
        below(Path::new(path), endings(kind), &mut found).is_ok() && !found.is_empty()
    })
}

fn below(folder: &Path, endings: &[&str], out: &mut Vec<String>) -> Result<()> {
    let fail = |e| Error::io("list", folder.display().to_string(), e);
    for entry in fs::read_dir(folder).map_err(fail)? {
        let path = entry.map_err(fail)?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        // Names that begin so are notes of the program that wrote the folder.
        if name.starts_with(['.', '_']) {
            continue;
        }
        if path.is_dir() {
            below(&path, endings, out)?;
        } else if path
            .extension()
            .is_some_and(|end| endings.iter().any(|known| end.eq_ignore_ascii_case(known)))
        {
            out.push(path.display().to_string());
        }
    }
    Ok(())
}

/// The files of a data set folder, and whether it has splits; `None` when it is an ordinary folder.
fn hugging_face(folder: &Path, split: Option<&str>) -> Result<Option<(Vec<String>, bool)>> {
    let dict = folder.join("dataset_dict.json");
    if dict.exists() {
        let splits = strings(&json(&dict)?, "splits");
        let chosen = choose(folder, &splits, split)?;
        return Ok(saved(&folder.join(chosen))?.map(|files| (files, true)));
    }
    if let Some(files) = saved(folder)? {
        return Ok(Some((files, false)));
    }
    let about = folder.join("dataset_info.json");
    if about.exists() {
        return cached(folder, &json(&about)?, split).map(|files| Some((files, true)));
    }
    Ok(None)
}

/// A folder that `save_to_disk` made: `state.json` lists its files.
fn saved(folder: &Path) -> Result<Option<Vec<String>>> {
    let state = folder.join("state.json");
    if !state.exists() {
        return Ok(None);
    }
    let about = json(&state)?;
    let files: Vec<PathBuf> = match about.get("_data_files") {
        Some(Json::Array(files)) => {
            let name = |file: &Json| Some(folder.join(file.get("filename")?.as_str()?));
            files.iter().filter_map(name).collect()
        }
        _ => vec![],
    };
    if files.is_empty() {
        let path = state.display().to_string();
        return Err(Error::NotFound { path, hint: "; it lists no data files".to_owned() });
    }
    if about.get("_indices_data_files").is_some_and(|files| !files.is_null()) {
        return Err(Error::argument(format!(
            "`{}` keeps its rows in another order than its files: call flatten_indices() before save_to_disk()",
            folder.display()
        )));
    }
    Ok(Some(files.into_iter().map(|path| path.display().to_string()).collect()))
}

/// A folder of the cache: files are named after their split, `imdb-train-00000-of-00002.arrow`.
fn cached(folder: &Path, about: &Json, split: Option<&str>) -> Result<Vec<String>> {
    let mut found = vec![];
    let fail = |e| Error::io("list", folder.display().to_string(), e);
    for entry in fs::read_dir(folder).map_err(fail)? {
        let path = entry.map_err(fail)?.path();
        if path.extension().is_some_and(|end| end == "arrow") {
            found.push(path);
        }
    }
    found.sort();
    let known: Vec<String> = match about.get("splits") {
        Some(Json::Object(splits)) => splits.keys().cloned().collect(),
        _ => vec![],
    };
    let mut splits: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for path in found {
        let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        // Results of map() and filter() lie beside the data.
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
        splits.entry(name).or_default().push(path.display().to_string());
    }
    if splits.is_empty() {
        let path = folder.display().to_string();
        return Err(Error::NotFound { path, hint: "; there is no .arrow file in it".to_owned() });
    }
    let names: Vec<String> = splits.keys().cloned().collect();
    let chosen = choose(folder, &names, split)?;
    Ok(splits.remove(&chosen).unwrap_or_default())
}

fn choose(folder: &Path, splits: &[String], split: Option<&str>) -> Result<String> {
    let there = splits.join(", ");
    match (split, splits) {
        (Some(split), _) if splits.iter().any(|name| name == split) => Ok(split.to_owned()),
        (Some(split), _) => Err(Error::argument(format!(
            "`{}` has no split \"{split}\" (there are: {there})",
            folder.display()
        ))),
        (None, [only]) => Ok(only.clone()),
        (None, _) => Err(Error::argument(format!(
            "`{}` has several splits: choose one with split= (there are: {there})",
            folder.display()
        ))),
    }
}

fn json(path: &Path) -> Result<Json> {
    let name = || path.display().to_string();
    let text = fs::read_to_string(path).map_err(|e| Error::io("read", name(), e))?;
    serde_json::from_str(&text).map_err(|e| Error::Format {
        shard: name(),
        offset: 0,
        what: format!("it is not JSON: {e}"),
    })
}

fn strings(value: &Json, key: &str) -> Vec<String> {
    let list = value.get(key).and_then(Json::as_array);
    list.into_iter().flatten().filter_map(|item| item.as_str().map(str::to_owned)).collect()
}
