//! A store over local files that counts requests.

use infeed_core::{
    Bytes, Error, Found, Result, Shard, Store,
    store::below::{Refusal, check_size},
};
use std::{
    fs,
    io::ErrorKind,
    ops::Range,
    path::{Path, PathBuf},
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
};

/// Local files, or simulated remote files that have no paths and cannot be mapped.
#[derive(Debug, Default)]
pub(super) struct Disk {
    /// Whether to behave like a remote store.
    pub(super) remote: bool,
    /// How often objects were mapped, ranges were read, and ranges were announced.
    pub(super) maps: AtomicUsize,
    pub(super) reads: AtomicUsize,
    pub(super) hints: AtomicUsize,
}

fn missing(name: &str) -> Error {
    Error::NotFound { path: name.to_owned(), hint: String::new() }
}

fn walk(folder: &Path, out: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            out.push(format!("{}/", path.display()));
            walk(&path, out);
        } else {
            out.push(path.display().to_string());
        }
    }
}

impl Store for Disk {
    fn list(&self, prefix: &str) -> Result<Vec<Shard>> {
        let names: Vec<String> =
            self.names(prefix)?.into_iter().filter(|name| !name.ends_with('/')).collect();
        self.stat(&names)
    }

    fn stat(&self, names: &[String]) -> Result<Vec<Shard>> {
        let one = |name: &String| match fs::metadata(name) {
            Ok(about) if about.is_file() => {
                Ok(Shard { name: name.as_str().into(), size: about.len(), modified: None, version: None })
            }
            _ => Err(missing(name)),
        };
        names.iter().map(one).collect()
    }

    fn read(&self, shard: &Shard, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        self.reads.fetch_add(1, Relaxed);
        let all = fs::read(&*shard.name).map_err(|e| Error::io("read", &*shard.name, e))?;
        let all = Bytes::from(all);
        Ok(ranges.iter().map(|range| all.slice(range.start as usize..range.end as usize)).collect())
    }

    fn will_read(&self, _shard: &Shard, ranges: &[Range<u64>]) {
        self.hints.fetch_add(ranges.len(), Relaxed);
    }

    fn map(&self, shard: &Shard) -> Result<Option<Bytes>> {
        if self.remote {
            return Ok(None);
        }
        self.maps.fetch_add(1, Relaxed);
        Ok(Some(fs::read(&*shard.name).map_err(|e| Error::io("map", &*shard.name, e))?.into()))
    }

    fn read_below(&self, names: &[String], folders: &[String], limit: u64) -> Result<Vec<Bytes>> {
        let one = |name: &String| {
            let found = fs::canonicalize(name).map_err(|e| Error::io("open", name, e))?;
            let inside = |folder: &String| found.starts_with(fs::canonicalize(folder).unwrap());
            if !folders.iter().any(inside) {
                return Err(Refusal::outside(name, &folders[0]));
            }
            let about = fs::metadata(&found).unwrap();
            if !about.is_file() {
                return Err(Error::io("read", name, ErrorKind::InvalidInput.into()));
            }
            check_size(name, about.len(), limit)?;
            Ok(fs::read(found).unwrap().into())
        };
        names.iter().map(one).collect()
    }

    fn names(&self, folder: &str) -> Result<Vec<String>> {
        let mut out = vec![];
        walk(Path::new(folder), &mut out);
        out.sort();
        Ok(out)
    }

    fn find(&self, path: &str) -> Result<Vec<Found>> {
        match fs::metadata(path) {
            Ok(about) if about.is_dir() => Ok(vec![Found::Folder(path.trim_end_matches('/').to_owned())]),
            Ok(_) => Ok(vec![Found::File(path.to_owned())]),
            Err(_) => Err(missing(path)),
        }
    }

    fn local_path(&self, name: &str) -> Option<PathBuf> {
        (!self.remote).then(|| name.into())
    }
}
