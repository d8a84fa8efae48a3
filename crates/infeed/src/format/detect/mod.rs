//! What a user's files are.

mod names;

use super::folder::{is_image, is_manifest};
use infeed_core::{Error, Result, Store, StoreExt};
use infeed_records::{lmdb, tfrecord};
use names::{ends, format_of, is_tokens};
use std::collections::BTreeMap;

pub use names::{belongs, is_packed};

/// Bytes of a file that are looked at.
const LOOK: u64 = 4096;

/// Formats whose files are tables: they are read column by column.
const TABLES: [&str; 4] = ["parquet", "arrow", "avro", "sqlite"];

/// What files turned out to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Detected {
    /// Shards of a format of [`ENTRIES`](super::ENTRIES).
    Shards {
        /// The format's name.
        format: &'static str,
        /// The shards, without other files that lay beside them.
        names: Vec<String>,
    },
    /// Compressed shards, maybe with others among them: read from front to back.
    Stream {
        /// The format's name.
        format: &'static str,
        /// The files.
        names: Vec<String>,
    },
    /// Tables: Parquet, Arrow, Avro, SQLite.
    Table {
        /// The format's name.
        format: &'static str,
        /// The files.
        names: Vec<String>,
    },
    /// The index of an MDS data set, for [`open_mds`](super::open_mds).
    Mds(String),
    /// A folder of images, for [`FolderSource::open`](super::FolderSource::open).
    Folder,
    /// Images one by one, for [`FolderSource::files`](super::FolderSource::files).
    Files,
    /// A list of images, for [`FolderSource::manifest`](super::FolderSource::manifest).
    Manifest(String),
}

/// Tells the format of files by their names and, where these say nothing, by their first bytes. With `folder` the
/// names are everything below that folder, and whatever is not data (a README, a licence) is passed over.
pub fn detect(store: &dyn Store, folder: Option<&str>, names: &[String]) -> Result<Detected> {
    let files: Vec<&String> = names.iter().filter(|name| !name.ends_with('/')).collect();
    match folder {
        Some(folder) => in_folder(store, folder, &files),
        None => of_files(store, &files),
    }
}

/// What lies in a folder.
fn in_folder(store: &dyn Store, folder: &str, files: &[&String]) -> Result<Detected> {
    let tars: Vec<&String> = files.iter().filter(|n| ends(n, ".tar")).copied().collect();
    let images = files.iter().filter(|n| is_image(n)).count();
    if !tars.is_empty() && tars.len() >= images {
        return Ok(of_format("tar", tars));
    }
    if images > 0 {
        return Ok(Detected::Folder);
    }
    let top = format!("{}/", folder.trim_end_matches('/'));
    if let Some(index) = files.iter().find(|n| ***n == *format!("{top}index.json"))
        && is_mds(store, index)?
    {
        return Ok(Detected::Mds((*index).clone()));
    }
    let mut counts: BTreeMap<&'static str, usize> = BTreeMap::new();
    for name in files {
        *counts.entry(format_of(name).unwrap_or_default()).or_default() += 1;
    }
    // Texts and bare JSON beside other data tell about it.
    let documents = files.iter().filter(|n| ends(n, ".json")).count();
    let data = counts.iter().filter(|(format, _)| !matches!(**format, "" | "text"));
    let lines_only =
        |format: &str, count: usize| if format == "jsonl" { count - documents.min(count) } else { count };
    let best = data.map(|(format, count)| (lines_only(format, *count), *count, *format)).max();
    match best {
        Some((_, _, format)) => {
            let mine = |n: &&&String| format_of(n) == Some(format);
            let lines: Vec<&String> =
                files.iter().filter(mine).filter(|n| !ends(n, ".json")).copied().collect();
            let all = || files.iter().filter(mine).copied().collect();
            Ok(of_format(format, if lines.is_empty() { all() } else { lines }))
        }
        None if counts.contains_key("text") => {
            Ok(of_format("text", files.iter().filter(|n| format_of(n) == Some("text")).copied().collect()))
        }
        None => Err(unknown(Some(folder), files)),
    }
}

/// What files are that were named one by one.
fn of_files(store: &dyn Store, files: &[&String]) -> Result<Detected> {
    if files.is_empty() {
        return Err(unknown(None, files));
    }
    if files.iter().all(|n| is_image(n)) {
        return Ok(Detected::Files);
    }
    if let [only] = files {
        let listed = [".txt", ".csv", ".tsv"].iter().any(|e| ends(only, e));
        if listed && is_manifest(&String::from_utf8_lossy(&start(store, only)?)) {
            return Ok(Detected::Manifest((*only).clone()));
        }
        if (only.ends_with("/index.json") || ***only == *"index.json") && is_mds(store, only)? {
            return Ok(Detected::Mds((*only).clone()));
        }
    }
    let mut found = None;
    for name in files {
        // A name that says nothing: only then is the file opened, and only its first bytes are read.
        let format = match format_of(name) {
            Some(format) => Some(format),
            None => sniff(&start(store, name)?),
        };
        match (format, found) {
            (Some(format), None) => found = Some(format),
            (Some(format), Some(before)) if format == before => {}
            _ => return Err(unknown(None, files)),
        }
    }
    found.map(|format| of_format(format, files.to_vec())).ok_or_else(|| unknown(None, files))
}

fn of_format(format: &'static str, files: Vec<&String>) -> Detected {
    let names: Vec<String> = files.into_iter().cloned().collect();
    if TABLES.contains(&format) {
        Detected::Table { format, names }
    } else if names.iter().any(|n| is_packed(n)) {
        Detected::Stream { format, names }
    } else {
        Detected::Shards { format, names }
    }
}

/// The format of a file by its first bytes.
fn sniff(start: &[u8]) -> Option<&'static str> {
    if start.get(257..262) == Some(b"ustar") {
        Some("tar")
    } else if start.starts_with(b"PAR1") {
        Some("parquet")
    } else if start.starts_with(b"ARROW1") {
        Some("arrow")
    } else if start.starts_with(b"Obj\x01") {
        Some("avro")
    } else if start.starts_with(b"SQLite format 3\0") {
        Some("sqlite")
    } else if tfrecord::length(start).is_some() {
        Some("tfrecord")
    } else if lmdb::meta(start).is_some() {
        Some("lmdb")
    } else {
        None
    }
}

/// Whether an `index.json` is that of MDS shards: many data sets have a file of that name.
fn is_mds(store: &dyn Store, name: &str) -> Result<bool> {
    let start = start(store, name)?;
    Ok(String::from_utf8_lossy(&start).contains("\"column_encodings\""))
}

/// The first bytes of a file.
fn start(store: &dyn Store, name: &str) -> Result<infeed_core::Bytes> {
    let shard = store.stat_one(name)?;
    store.read_one(&shard, 0..shard.size.min(LOOK))
}

/// Says what was looked at and what is known.
fn unknown(folder: Option<&str>, files: &[&String]) -> Error {
    if let Some(tokens) = files.iter().find(|n| is_tokens(n)) {
        return Error::argument(format!(
            "`{tokens}` looks like a file of tokens, which does not say how long a sample is: \
             infeed.tokens(path, length=...) reads it"
        ));
    }
    let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
    for name in files {
        let base = name.rsplit('/').next().unwrap_or(name);
        let kind = base.rsplit_once('.').map_or("without extension".to_owned(), |(_, e)| format!(".{e}"));
        *kinds.entry(kind.to_lowercase()).or_default() += 1;
    }
    let mut kinds: Vec<(usize, String)> = kinds.into_iter().map(|(kind, count)| (count, kind)).collect();
    kinds.sort_by(|a, b| b.cmp(a));
    let seen: Vec<String> = kinds.iter().take(5).map(|(count, kind)| format!("{count} {kind}")).collect();
    let place = folder.map(|f| format!(" in the folder `{f}`")).unwrap_or_default();
    let first = files.first().map(|f| format!("; the first is `{f}`")).unwrap_or_default();
    let seen = if seen.is_empty() { "no files".to_owned() } else { seen.join(", ") };
    Error::argument(format!(
        "cannot tell the format of the data{place} ({seen}{first}). Known are: tar (WebDataset `.tar` shards), \
         JSON lines (`.jsonl`), CSV (`.csv`, `.tsv`), text (`.txt`), TFRecord (`.tfrecord`), each also compressed \
         (`.gz`, `.zst`, `.bz2`, `.xz`, `.lz4`), MDS (`index.json`), LMDB (`data.mdb`), Parquet, Arrow, Avro, SQLite, \
         a folder of images (`root/class/image.jpg` or `root/image.jpg`), image files, \
         and a manifest (`.txt`, `.csv` or `.tsv` with a path and a label in each line)"
    ))
}

#[cfg(test)]
mod tests;
