//! MDS shards as stored, or decompressed into memory and cached.

use infeed_core::{Bytes, Error, Hold, Result, Shard, Store, StoreExt};
use infeed_records::{hash, mds};
use std::{
    collections::BTreeMap,
    io::Read,
    ops::Range,
    sync::{Arc, Mutex},
};

/// Decompressed shards that are cached. A shuffle that follows storage reads from a few shards at a time.
const KEPT: usize = 4;
/// The largest decompressed size that a shard may claim.
const LARGEST: u64 = 4 << 30;

/// A shard: its file, and how that is compressed.
#[derive(Debug, Clone)]
pub(super) struct MdsShard {
    name: Arc<str>,
    size: u64,
    hashes: BTreeMap<String, String>,
    zip: Option<(String, String)>,
}

impl MdsShard {
    /// Finds out which of a shard's files exist.
    pub(super) fn find(store: &dyn Store, folder: &str, shard: &mds::Shard) -> Result<MdsShard> {
        let raw = format!("{folder}{}", shard.raw.basename);
        let plain = MdsShard {
            name: raw.as_str().into(),
            size: shard.raw.bytes,
            hashes: shard.raw.hashes.clone(),
            zip: None,
        };
        if exists(store, &raw)? {
            return Ok(plain);
        }
        let Some((file, how)) = &shard.zip else {
            return Err(Error::NotFound { path: raw, hint: "; the index names it as a shard".to_owned() });
        };
        let zip = format!("{folder}{}", file.basename);
        if !exists(store, &zip)? {
            return Err(Error::NotFound { path: zip, hint: "; the index names it as a shard".to_owned() });
        }
        if !matches!(how.as_str(), "zstd" | "gz" | "bz2") {
            return Err(Error::plan(
                "mds",
                format!("`{zip}` is compressed with `{how}`; zstd, gz and bz2 are read"),
            ));
        }
        if shard.raw.bytes > LARGEST {
            return Err(Error::plan(
                "mds",
                format!("`{zip}` has {} bytes when it is unpacked; 4 GiB is the most", shard.raw.bytes),
            ));
        }
        Ok(MdsShard { hashes: file.hashes.clone(), zip: Some((zip, how.clone())), ..plain })
    }

    /// Verifies checksums.
    fn check(&self, file: &str, bytes: &[u8]) -> Result<()> {
        for (name, wanted) in &self.hashes {
            let known = hash::KNOWN.join(", ");
            let found = hash::digest(name, bytes).ok_or_else(|| {
                Error::plan("mds", format!("`{file}` has a checksum `{name}`, which cannot be checked (known are {known}); check=False leaves it out"))
            })?;
            if found != *wanted {
                let what = format!("its {name} checksum is {found}, its index says {wanted}");
                return Err(Error::Format { shard: file.to_owned(), offset: 0, what });
            }
        }
        Ok(())
    }
}

/// The shards of a data set.
#[derive(Debug)]
pub(super) struct MdsStore {
    files: Arc<dyn Store>,
    parts: Vec<MdsShard>,
    places: std::collections::HashMap<Arc<str>, usize>,
    check: bool,
    /// Decompressed shards, the most recently used last.
    kept: Mutex<Vec<(usize, Bytes)>>,
}

impl MdsStore {
    /// Creates the store. With `check`, uncompressed shards are verified now, the others when they are decompressed.
    pub(super) fn new(files: Arc<dyn Store>, parts: Vec<MdsShard>, check: bool) -> Result<Self> {
        for part in parts.iter().filter(|part| part.zip.is_none()) {
            let file = files.stat_one(&part.name)?;
            if file.size != part.size {
                let what = format!("it has {} bytes, its index says {}", file.size, part.size);
                return Err(Error::Format {
                    shard: part.name.to_string(),
                    offset: file.size.min(part.size),
                    what,
                });
            }
            if check {
                part.check(&part.name, &files.read_all(&file)?)?;
            }
        }
        let places = parts.iter().enumerate().map(|(at, part)| (Arc::clone(&part.name), at)).collect();
        Ok(MdsStore { files, parts, places, check, kept: Mutex::default() })
    }

    /// Returns the shards as if none were compressed.
    pub(super) fn shards(&self) -> Vec<Shard> {
        let listed =
            |part: &MdsShard| part.zip.is_none().then(|| self.files.stat_one(&part.name).ok()).flatten();
        let shard = |part: &MdsShard| {
            let (modified, version) = listed(part).map_or((None, None), |file| (file.modified, file.version));
            Shard { name: Arc::clone(&part.name), size: part.size, modified, version }
        };
        self.parts.iter().map(shard).collect()
    }

    /// Returns the decompressed bytes of a shard.
    fn unpacked(&self, at: usize, zip: &str, how: &str) -> Result<Bytes> {
        {
            let mut kept = self.kept.hold();
            if let Some(found) = kept.iter().position(|(known, _)| *known == at) {
                let one = kept.remove(found);
                let bytes = one.1.clone();
                kept.push(one);
                return Ok(bytes);
            }
        }
        let part = &self.parts[at];
        let file = self.files.stat_one(zip)?;
        let packed = self.files.read_all(&file)?;
        if self.check {
            part.check(zip, &packed)?;
        }
        let fault = |what: String| Error::Format { shard: zip.to_owned(), offset: 0, what };
        let bytes = unpack(&packed, how, part.size)
            .map_err(|e| fault(format!("the {how} data cannot be read: {e}")))?;
        if bytes.len() as u64 != part.size {
            let what =
                format!("it has {} bytes when it is unpacked, its index says {}", bytes.len(), part.size);
            return Err(fault(what));
        }
        let bytes = Bytes::from(bytes);
        let mut kept = self.kept.hold();
        kept.retain(|(known, _)| *known != at);
        kept.push((at, bytes.clone()));
        let surplus = kept.len().saturating_sub(KEPT);
        kept.drain(..surplus);
        Ok(bytes)
    }
}

/// Whether an object is there.
fn exists(store: &dyn Store, name: &str) -> Result<bool> {
    match store.stat_one(name) {
        Ok(_) => Ok(true),
        Err(Error::NotFound { .. }) => Ok(false),
        Err(other) => Err(other),
    }
}

/// Decompresses at most one byte more than expected.
fn unpack(packed: &[u8], how: &str, size: u64) -> std::io::Result<Vec<u8>> {
    // The index may claim any size; memory grows with the data.
    let mut out = Vec::with_capacity(size.min(64 << 20) as usize);
    let reader: Box<dyn Read> = match how {
        "zstd" => Box::new(zstd::stream::read::Decoder::new(packed)?),
        "gz" => Box::new(flate2::read::MultiGzDecoder::new(packed)),
        _ => Box::new(bzip2::read::MultiBzDecoder::new(packed)),
    };
    reader.take(size + 1).read_to_end(&mut out)?;
    Ok(out)
}

impl Store for MdsStore {
    fn list(&self, prefix: &str) -> Result<Vec<Shard>> {
        Ok(self.shards().into_iter().filter(|shard| shard.name.starts_with(prefix)).collect())
    }

    fn stat(&self, names: &[String]) -> Result<Vec<Shard>> {
        self.files.stat(names)
    }

    fn read(&self, shard: &Shard, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        let at = self.places.get(&shard.name).copied();
        match at.and_then(|at| Some((at, self.parts[at].zip.as_ref()?))) {
            None => self.files.read(shard, ranges),
            Some((at, (zip, how))) => {
                let bytes = self.unpacked(at, zip, how)?;
                let piece = |range: &Range<u64>| {
                    let fits = range.start <= range.end && range.end <= bytes.len() as u64;
                    let beyond =
                        || Error::Internal { what: format!("bytes {range:?} of `{zip}` are beyond its end") };
                    fits.then(|| bytes.slice(range.start as usize..range.end as usize)).ok_or_else(beyond)
                };
                ranges.iter().map(piece).collect()
            }
        }
    }

    fn will_read(&self, shard: &Shard, ranges: &[Range<u64>]) {
        if self.places.get(&shard.name).is_some_and(|at| self.parts[*at].zip.is_none()) {
            self.files.will_read(shard, ranges);
        }
    }

    /// Shards that are compressed are read whole, and kept by this store.
    fn room_ahead(&self) -> Option<u64> {
        self.parts.iter().all(|part| part.zip.is_none()).then(|| self.files.room_ahead()).flatten()
    }

    fn ahead_for(&self, run: u64, step: u64, done: u64) {
        self.files.ahead_for(run, step, done);
    }

    fn forget_ahead(&self) {
        self.files.forget_ahead();
    }

    fn set_memory(&self, bytes: Option<u64>) {
        self.files.set_memory(bytes);
    }
}
