//! The store that infeed's readers see.

use crate::{
    backend::{Backend, Failure, Meta},
    fetch::{Fetcher, Object, retrying},
    location::Location,
    options::StoreOptions,
    runtime::{self, PerProcess},
};
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use infeed_core::{Error, Hold, Result, Shard, Store};
use std::{
    collections::HashMap,
    io::{Error as IoError, ErrorKind, Read},
    ops::Range,
    sync::{Arc, Mutex, atomic::AtomicBool},
};

/// How many objects are looked up at a time.
const LOOKUPS: usize = 64;
/// From this many names in one folder on, the folder is listed instead: one request tells a thousand names. It is given up where
/// others are so many that looking the names up is cheaper.
const WORTH_LISTING: usize = 8;
const OTHERS: usize = 32;
/// The least memory for what is announced: some requests.
const SMALLEST_AHEAD: u64 = 64 << 20;
/// Bytes that a stream has on their way, and what it reads at a time.
const STREAM_AHEAD: u64 = 32 << 20;
const STREAM_STEP: u64 = 1 << 20;

/// What is known of an object, or why not, and how often it was asked.
type LookedUp = Result<Meta, (Failure, u32)>;

/// Objects of S3, Google Cloud Storage, Azure, web servers and the Hugging Face hub, by URL.
#[derive(Debug)]
pub struct RemoteStore {
    options: StoreOptions,
    /// A child of a fork has neither the threads nor the connections.
    parts: PerProcess<Parts>,
}

#[derive(Debug)]
struct Parts {
    fetcher: Arc<Fetcher>,
    clients: Mutex<HashMap<String, Arc<Backend>>>,
    /// What is known of objects, by URL: a [`Shard`] has no place for tags.
    objects: Mutex<HashMap<Arc<str>, Arc<Object>>>,
}

impl RemoteStore {
    /// A store; no request is sent.
    pub fn new(options: StoreOptions) -> Self {
        RemoteStore { options, parts: PerProcess::new() }
    }

    fn parts(&self) -> &Parts {
        self.parts.get(|| Parts {
            fetcher: Fetcher::new(self.options.clone()),
            clients: Mutex::default(),
            objects: Mutex::default(),
        })
    }

    fn client(&self, at: &Location<'_>) -> Result<Arc<Backend>> {
        // Made outside of the lock: profiles are read from files.
        if let Some(client) = self.parts().clients.hold().get(at.root) {
            return Ok(Arc::clone(client));
        }
        // Clients want the runtime's TLS provider.
        runtime::handle()?;
        let client = Arc::new(Backend::open(at, &self.options)?);
        Ok(Arc::clone(self.parts().clients.hold().entry(at.root.to_owned()).or_insert(client)))
    }

    /// Notes what is known of an object, and makes the shard of it.
    fn note(&self, root: &str, client: &Arc<Backend>, meta: Meta, listed: bool) -> Shard {
        let url: Arc<str> = format!("{root}{}", meta.key).into();
        let identity = format!("{url}\n{}\n{}", meta.size, meta.tag.as_deref().unwrap_or_default());
        let object = Arc::new(Object {
            url: Arc::clone(&url),
            identity: identity.into(),
            listed,
            key: meta.key,
            backend: Arc::clone(client),
            size: meta.size,
            modified: meta.modified,
            tag: meta.tag,
            whole: AtomicBool::new(!meta.ranges),
        });
        let shard = shard_of(&object);
        self.parts().objects.hold().insert(url, object);
        shard
    }

    /// The object of a shard, which must be the one that was listed.
    fn object(&self, shard: &Shard) -> Result<Arc<Object>> {
        let known = self.parts().objects.hold().get(&shard.name).cloned();
        let object = match known {
            Some(object) => object,
            // The shard comes from a saved index or from a parent process.
            None => {
                self.stat(&[shard.name.to_string()])?;
                let now = self.parts().objects.hold().get(&shard.name).cloned();
                now.ok_or_else(|| Error::Internal { what: format!("`{}` was not noted", shard.name) })?
            }
        };
        let version = object.tag.as_deref().map(hash);
        let differs =
            |listed: Option<u64>, now: Option<u64>| listed.is_some() && now.is_some() && listed != now;
        if object.size != shard.size || differs(shard.version, version) {
            let what = match object.size == shard.size {
                true => "its ETag is another one".to_owned(),
                false => format!("it had {} bytes and has {} now", shard.size, object.size),
            };
            // It is asked again next time: the listing may be newer than what is noted here.
            self.parts().objects.hold().remove(&shard.name);
            return Err(Error::Changed { path: shard.name.to_string(), what });
        }
        Ok(object)
    }

    fn check(&self, shard: &Shard, ranges: &[Range<u64>]) -> Result<()> {
        let beyond = ranges.iter().find(|range| range.start > range.end || range.end > shard.size);
        match beyond {
            None => Ok(()),
            Some(range) => {
                let what =
                    format!("bytes {}..{} are beyond its end at {}", range.start, range.end, shard.size);
                Err(Error::io("read", &*shard.name, IoError::new(ErrorKind::InvalidInput, what)))
            }
        }
    }

    /// Lists the names of a prefix that are asked for; the others are looked up one by one.
    fn listed(&self, names: &[String]) -> HashMap<String, Shard> {
        let mut folders: HashMap<&str, Vec<&str>> = HashMap::new();
        for name in names {
            if let Some(slash) = name.rfind('/') {
                folders.entry(&name[..=slash]).or_default().push(name);
            }
        }
        let mut found = HashMap::new();
        for (_, names) in folders.into_iter().filter(|(_, names)| names.len() >= WORTH_LISTING) {
            let first = names[0];
            let same = |name: &&str| first.bytes().zip(name.bytes()).take_while(|(a, b)| a == b).count();
            let mut len = names.iter().map(same).min().unwrap_or(0);
            while !first.is_char_boundary(len) {
                len -= 1;
            }
            // What goes wrong here goes wrong again, and is reported, when the names are looked up.
            for shard in self.list_some(&first[..len], 2_000 + OTHERS * names.len()).unwrap_or_default() {
                found.insert(shard.name.to_string(), shard);
            }
        }
        found
    }

    /// Looks objects up, many at a time. The answers come in any order, each with its place.
    fn look_up(&self, asks: Vec<(usize, Arc<Backend>, String)>) -> Result<Vec<(usize, LookedUp)>> {
        if asks.is_empty() {
            return Ok(Vec::new());
        }
        let deadline = self.options.deadline;
        runtime::wait(async move {
            let ask = |(place, client, key): (usize, Arc<Backend>, String)| async move {
                (place, retrying(deadline, || client.head(&key)).await)
            };
            Ok(stream::iter(asks).map(ask).buffer_unordered(LOOKUPS).collect().await)
        })
    }
}

/// The shard of an object.
fn shard_of(object: &Arc<Object>) -> Shard {
    // The tag tells objects apart that were written in the same second; some services have no times at all.
    let version = object.tag.as_deref().map(hash);
    Shard { name: Arc::clone(&object.url), size: object.size, modified: version.or(object.modified), version }
}

/// A number for a tag. It is kept in saved indices, so it must be the same in every build: FNV-1a.
fn hash(tag: &str) -> u64 {
    tag.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

impl RemoteStore {
    fn list_some(&self, prefix: &str, most: usize) -> Result<Vec<Shard>> {
        let at = Location::parse(prefix)?;
        let client = self.client(&at)?;
        let (asked, key, deadline) = (Arc::clone(&client), at.key.to_owned(), self.options.deadline);
        let name = prefix.to_owned();
        let mut found = runtime::wait(async move {
            let listed = retrying(deadline, || asked.list(&key, most)).await;
            listed.map_err(|(failure, tries)| failure.error("list", &name, tries))
        })?;
        found.sort_unstable_by(|a, b| a.key.cmp(&b.key));
        Ok(found.into_iter().map(|meta| self.note(at.root, &client, meta, true)).collect())
    }
}

impl Store for RemoteStore {
    fn list(&self, prefix: &str) -> Result<Vec<Shard>> {
        self.list_some(prefix, usize::MAX)
    }

    /// What a listing has told is not asked again: if the object changed since, its tag no longer matches when it is read.
    fn stat(&self, names: &[String]) -> Result<Vec<Shard>> {
        let noted = |name: &String| {
            let objects = self.parts().objects.hold();
            let object = objects.get(name.as_str()).filter(|object| object.listed)?;
            Some((name.clone(), shard_of(object)))
        };
        let mut known: HashMap<String, Shard> = names.iter().filter_map(noted).collect();
        let unknown: Vec<String> = names.iter().filter(|name| !known.contains_key(*name)).cloned().collect();
        known.extend(self.listed(&unknown));
        let mut asks = Vec::new();
        for (place, name) in names.iter().enumerate().filter(|(_, name)| !known.contains_key(*name)) {
            let at = Location::parse(name)?;
            asks.push((place, self.client(&at)?, at.key.to_owned()));
        }
        let mut found: Vec<Option<Shard>> = names.iter().map(|name| known.get(name).cloned()).collect();
        let mut failed: Option<(usize, Error)> = None;
        for (place, meta) in self.look_up(asks)? {
            match meta {
                Ok(meta) => {
                    let at = Location::parse(&names[place])?;
                    let client = self.client(&at)?;
                    found[place] =
                        Some(self.note(at.root, &client, Meta { key: at.key.to_owned(), ..meta }, false));
                }
                // The first of the names, whichever answer came first.
                Err((failure, tries)) if failed.as_ref().is_none_or(|(first, _)| place < *first) => {
                    failed = Some((place, failure.error("look at", &names[place], tries)));
                }
                Err(_) => {}
            }
        }
        match failed {
            Some((_, error)) => Err(error),
            None => Ok(found.into_iter().flatten().collect()),
        }
    }

    fn read(&self, shard: &Shard, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        let object = self.object(shard)?;
        self.check(shard, ranges)?;
        self.parts().fetcher.read(&object, ranges).inspect_err(|e| {
            if matches!(e, Error::Changed { .. }) {
                self.parts().objects.hold().remove(&shard.name);
            }
        })
    }

    fn will_read(&self, shard: &Shard, ranges: &[Range<u64>]) {
        // A hint: what is wrong with it is told when the ranges are read.
        if let Ok(object) = self.object(shard) {
            let within: Vec<Range<u64>> = ranges
                .iter()
                .filter(|range| range.start < range.end && range.end <= shard.size)
                .cloned()
                .collect();
            self.parts().fetcher.ahead(&object, &within);
        }
    }

    fn room_ahead(&self) -> Option<u64> {
        Some(self.parts().fetcher.room())
    }

    fn forget_ahead(&self) {
        self.parts().fetcher.forget();
    }

    fn set_memory(&self, bytes: u64) {
        // The batches need the other half.
        self.parts()
            .fetcher
            .set_limit((bytes / 2).clamp(SMALLEST_AHEAD, self.options.ahead.max(SMALLEST_AHEAD)));
    }

    fn put(&self, name: &str, bytes: Bytes) -> Result<()> {
        let at = Location::parse(name)?;
        let (client, key, deadline) = (self.client(&at)?, at.key.to_owned(), self.options.deadline);
        self.parts().objects.hold().remove(name);
        let name = name.to_owned();
        runtime::wait(async move {
            let put = retrying(deadline, || client.put(&key, bytes.clone())).await;
            put.map_err(|(failure, tries)| failure.error("write", &name, tries))
        })
    }

    fn stream(&self, shard: &Shard, from: u64) -> Result<Option<Box<dyn Read + Send>>> {
        let object = self.object(shard)?;
        let fetcher = Arc::clone(&self.parts().fetcher);
        Ok(Some(Box::new(RemoteStream { fetcher, object, at: from, announced: from, rest: Bytes::new() })))
    }
}

/// Reads an object from front to back, with some requests ahead.
struct RemoteStream {
    fetcher: Arc<Fetcher>,
    object: Arc<Object>,
    /// The first byte that is not in `rest` and was not read, and the first that was not announced.
    at: u64,
    announced: u64,
    rest: Bytes,
}

impl Read for RemoteStream {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let size = self.object.size;
        if self.rest.is_empty() && self.at < size {
            while self.announced < size.min(self.at + STREAM_AHEAD) {
                // In steps of one request, so that the first bytes do not wait for the others.
                let end = size.min(self.announced + STREAM_STEP);
                self.fetcher.ahead(&self.object, std::slice::from_ref(&(self.announced..end)));
                self.announced = end;
            }
            let end = size.min(self.at + STREAM_STEP);
            let mut read = self
                .fetcher
                .read(&self.object, std::slice::from_ref(&(self.at..end)))
                .map_err(IoError::other)?;
            self.rest = read.pop().unwrap_or_default();
            self.at = end;
        }
        let len = out.len().min(self.rest.len());
        out[..len].copy_from_slice(&self.rest.split_to(len));
        Ok(len)
    }
}
