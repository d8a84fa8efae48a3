//! Objects held in memory.

use bytes::Bytes;
use infeed_core::{Error, Result, Shard, Store};
use std::{collections::BTreeMap, ops::Range};

/// A store that is a map from names to bytes. Reading copies nothing.
#[derive(Debug, Clone, Default)]
pub struct MemoryStore {
    objects: BTreeMap<String, Bytes>,
}

impl MemoryStore {
    /// A store with nothing in it.
    pub fn new() -> Self {
        Self::default()
    }

    /// Puts an object in, in place of one with the same name.
    pub fn put(&mut self, name: impl Into<String>, bytes: impl Into<Bytes>) {
        self.objects.insert(name.into(), bytes.into());
    }

    fn get(&self, name: &str) -> Result<&Bytes> {
        self.objects.get(name).ok_or_else(|| Error::NotFound {
            path: name.to_owned(),
            hint: format!("; the memory store has {} objects", self.objects.len()),
        })
    }
}

impl<N: Into<String>, B: Into<Bytes>> FromIterator<(N, B)> for MemoryStore {
    fn from_iter<I: IntoIterator<Item = (N, B)>>(objects: I) -> Self {
        MemoryStore { objects: objects.into_iter().map(|(n, b)| (n.into(), b.into())).collect() }
    }
}

/// Memory has no clock, so nothing derived from it may be kept between runs.
fn shard(name: &str, bytes: &Bytes) -> Shard {
    Shard { name: name.into(), size: bytes.len() as u64, modified: None }
}

impl Store for MemoryStore {
    fn list(&self, prefix: &str) -> Result<Vec<Shard>> {
        let from = self.objects.range(prefix.to_owned()..);
        Ok(from.take_while(|(name, _)| name.starts_with(prefix)).map(|(n, b)| shard(n, b)).collect())
    }

    fn stat(&self, names: &[String]) -> Result<Vec<Shard>> {
        names.iter().map(|name| Ok(shard(name, self.get(name)?))).collect()
    }

    fn read(&self, shard: &Shard, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        let bytes = self.get(&shard.name)?;
        ranges
            .iter()
            .map(|range| {
                let fits = range.start <= range.end && range.end <= bytes.len() as u64;
                if fits {
                    Ok(bytes.slice(range.start as usize..range.end as usize))
                } else {
                    let what = format!("bytes {range:?} are beyond its end at {}", bytes.len());
                    let cause = std::io::Error::new(std::io::ErrorKind::UnexpectedEof, what);
                    Err(Error::io("read", &*shard.name, cause))
                }
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use infeed_core::StoreExt;

    #[test]
    fn reads_are_views() {
        let store: MemoryStore = [("a/1", "first"), ("a/2", "second"), ("b", "third")].into_iter().collect();
        let names: Vec<_> = store.list("a/").unwrap().into_iter().map(|s| s.name).collect();
        assert_eq!(names, ["a/1".into(), "a/2".into()]);
        let shard = store.stat_one("a/2").unwrap();
        let whole = store.read_all(&shard).unwrap();
        let part = store.read_one(&shard, 1..3).unwrap();
        assert_eq!(part, "ec");
        assert_eq!(part.as_ptr(), whole[1..].as_ptr());
        assert!(store.read_one(&shard, 0..7).unwrap_err().to_string().contains("beyond its end at 6"));
        assert!(matches!(store.stat_one("c"), Err(Error::NotFound { .. })));
    }
}
