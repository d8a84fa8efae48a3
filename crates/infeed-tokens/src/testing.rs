//! Local files as a store, for tests and examples of this crate.

use bytes::Bytes;
use infeed_core::{Error, Result, Shard, Store};
use std::{fs::File, ops::Range, os::unix::fs::FileExt, path::PathBuf, sync::Arc};

/// Reads files, and emulates mapping by reading them whole.
#[derive(Debug)]
pub(crate) struct Files {
    maps: bool,
}

/// Returns a store that maps.
pub(crate) fn mapping() -> Arc<dyn Store> {
    Arc::new(Files { maps: true })
}

/// Returns a store that only reads ranges.
#[allow(dead_code)] // the examples need only one of the two
pub(crate) fn ranges() -> Arc<dyn Store> {
    Arc::new(Files { maps: false })
}

impl Store for Files {
    fn list(&self, prefix: &str) -> Result<Vec<Shard>> {
        let mut found = Vec::new();
        let mut folders: Vec<PathBuf> = vec![prefix[..prefix.rfind('/').map_or(0, |at| at + 1)].into()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
                let path = entry.path();
                let name = path.display().to_string();
                match path.is_dir() {
                    true => folders.push(path),
                    false if name.starts_with(prefix) => found.extend(self.stat(&[name])?),
                    false => {}
                }
            }
        }
        found.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(found)
    }

    fn stat(&self, names: &[String]) -> Result<Vec<Shard>> {
        let one = |name: &String| {
            let about = std::fs::metadata(name).map_err(|e| Error::io("look at", name, e))?;
            // A folder is not an object.
            let missing = || Error::NotFound { path: name.clone(), hint: String::new() };
            let size = about.is_file().then_some(about.len()).ok_or_else(missing)?;
            Ok(Shard { name: name.as_str().into(), size, modified: None, version: None })
        };
        names.iter().map(one).collect()
    }

    fn read(&self, shard: &Shard, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        let failed = |e| Error::io("read", &*shard.name, e);
        let file = File::open(&*shard.name).map_err(failed)?;
        let one = |range: &Range<u64>| {
            let mut bytes = vec![0; (range.end - range.start) as usize];
            file.read_exact_at(&mut bytes, range.start).map_err(failed)?;
            Ok(bytes.into())
        };
        ranges.iter().map(one).collect()
    }

    fn map(&self, shard: &Shard) -> Result<Option<Bytes>> {
        if !self.maps {
            return Ok(None);
        }
        let all = std::fs::read(&*shard.name).map_err(|e| Error::io("map", &*shard.name, e))?;
        Ok(Some(all.into()))
    }
}
