//! What a user's files are.

use super::folder::{is_image, is_manifest};
use infeed_core::{Error, Result, Store, StoreExt};
use std::collections::BTreeMap;

/// Bytes of a file that are looked at.
const LOOK: u64 = 4096;

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
    /// Compressed tars, maybe with others among them: read from front to back.
    Stream {
        /// The files.
        names: Vec<String>,
    },
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
    let tars: Vec<String> = files.iter().filter(|n| ends(n, ".tar")).map(|&n| n.clone()).collect();
    let images = files.iter().filter(|n| is_image(n)).count();
    if folder.is_some() && !tars.is_empty() && tars.len() >= images {
        return Ok(Detected::Shards { format: "tar", names: tars });
    }
    if folder.is_some() && images > 0 {
        return Ok(Detected::Folder);
    }
    if files.iter().any(|n| is_packed(n)) {
        let streams: Vec<String> =
            files.iter().filter(|n| is_packed(n) || ends(n, ".tar")).map(|&n| n.clone()).collect();
        if folder.is_none() && streams.len() < files.len() {
            return Err(unknown(folder, &files));
        }
        return Ok(Detected::Stream { names: streams });
    }
    if folder.is_some() || files.is_empty() {
        return Err(unknown(folder, &files));
    }
    if tars.len() == files.len() {
        return Ok(Detected::Shards { format: "tar", names: tars });
    }
    if images == files.len() {
        return Ok(Detected::Files);
    }
    if let [only] = files.as_slice() {
        let start = start(store, only)?;
        if [".txt", ".csv", ".tsv"].iter().any(|e| ends(only, e))
            && is_manifest(&String::from_utf8_lossy(&start))
        {
            return Ok(Detected::Manifest((*only).clone()));
        }
    }
    // A name that says nothing: only then is every file opened, and only its first bytes are read.
    for name in files.iter().filter(|n| !ends(n, ".tar")) {
        if start(store, name)?.get(257..262) != Some(b"ustar") {
            return Err(unknown(folder, &files));
        }
    }
    Ok(Detected::Shards { format: "tar", names: files.into_iter().cloned().collect() })
}

/// The first bytes of a file.
fn start(store: &dyn Store, name: &str) -> Result<infeed_core::Bytes> {
    let shard = store.stat_one(name)?;
    store.read_one(&shard, 0..shard.size.min(LOOK))
}

fn ends(name: &str, extension: &str) -> bool {
    name.len() > extension.len()
        && name.as_bytes()[name.len() - extension.len()..].eq_ignore_ascii_case(extension.as_bytes())
}

/// Whether a name is that of a compressed tar.
pub fn is_packed(name: &str) -> bool {
    [".tar.gz", ".tgz", ".tar.zst", ".tar.bz2", ".tar.xz", ".tar.lz4"].iter().any(|e| ends(name, e))
}

/// Says what was looked at and what is known.
fn unknown(folder: Option<&str>, files: &[&String]) -> Error {
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
         a folder of images (`root/class/image.jpg` or `root/image.jpg`), image files, \
         and a manifest (`.txt`, `.csv` or `.tsv` with a path and a label in each line)"
    ))
}

#[cfg(test)]
mod tests;
