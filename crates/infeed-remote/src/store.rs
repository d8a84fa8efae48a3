//! The store that infeed's readers see.

use crate::{
    backend::{Backend, Cause, Meta},
    fetch::{Fetcher, Object, retrying},
    location::{Location, shown},
    lookup::{Absent, LookedUp},
    options::StoreOptions,
    runtime::{self, PerProcess},
    stream::RemoteStream,
};
use bytes::Bytes;
use infeed_core::{Error, Hold, Result, Shard, Store};
use std::{
    collections::HashMap,
    io::{Error as IoError, ErrorKind, Read},
    ops::Range,
    sync::{Arc, Mutex, atomic::AtomicBool},
};

/// The least memory for what is announced: some requests.
const SMALLEST_AHEAD: u64 = 64 << 20;

/// Objects of S3, Google Cloud Storage, Azure, web servers and the Hugging Face hub, by URL.
#[derive(Debug)]
pub struct RemoteStore {
    pub(crate) options: StoreOptions,
    /// A child of a fork has neither the threads nor the connections.
    parts: PerProcess<Parts>,
}

#[derive(Debug)]
pub(crate) struct Parts {
    fetcher: Arc<Fetcher>,
    clients: Mutex<HashMap<String, Arc<Backend>>>,
    /// What is known of objects, by URL: a [`Shard`] has no place for tags.
    pub(crate) objects: Mutex<HashMap<Arc<str>, Arc<Object>>>,
    /// Prefixes whose objects are all known: what is not among them is not there.
    pub(crate) whole: Mutex<Vec<String>>,
}

impl RemoteStore {
    /// A store; no request is sent.
    pub fn new(options: StoreOptions) -> Self {
        RemoteStore { options, parts: PerProcess::new() }
    }

    pub(crate) fn parts(&self) -> &Parts {
        self.parts.get(|| Parts {
            fetcher: Fetcher::new(self.options.clone()),
            clients: Mutex::default(),
            objects: Mutex::default(),
            whole: Mutex::default(),
        })
    }

    pub(crate) fn client(&self, at: &Location<'_>) -> Result<Arc<Backend>> {
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
    pub(crate) fn note(&self, root: &str, client: &Arc<Backend>, meta: Meta, listed: bool) -> Shard {
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
}

/// The shard of an object.
pub(crate) fn shard_of(object: &Arc<Object>) -> Shard {
    // The tag tells objects apart that were written in the same second; some services have no times at all.
    let version = object.tag.as_deref().map(hash);
    Shard { name: Arc::clone(&object.url), size: object.size, modified: version.or(object.modified), version }
}

/// A number for a tag. It is kept in saved indices, so it must be the same in every build: FNV-1a.
fn hash(tag: &str) -> u64 {
    tag.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

impl Store for RemoteStore {
    fn list(&self, prefix: &str) -> Result<Vec<Shard>> {
        self.list_some(prefix, usize::MAX)
    }

    /// What a listing has told is not asked again: if the object changed since, its tag no longer matches when it is read.
    fn stat(&self, names: &[String]) -> Result<Vec<Shard>> {
        // Of several that fail the first of the names is told, whichever answer came first.
        let one = |(name, answer): (&String, LookedUp)| {
            answer.map_err(|(failure, tries)| failure.error("look at", name, tries))
        };
        names.iter().zip(self.look_at(names, Absent::IsAsked)?).map(one).collect()
    }

    fn probe(&self, names: &[String]) -> Result<Vec<Option<Shard>>> {
        let one = |(name, answer): (&String, LookedUp)| match answer {
            Ok(shard) => Ok(Some(shard)),
            // S3 says "denied" of what is not there to those who may not list.
            Err((failure, _)) if matches!(failure.cause, Cause::Missing | Cause::Denied) => Ok(None),
            Err((failure, tries)) => Err(failure.error("look at", name, tries)),
        };
        names.iter().zip(self.look_at(names, Absent::IsKnown)?).map(one).collect()
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

    fn ahead_for(&self, run: u64, step: u64, done: u64) {
        self.parts().fetcher.ahead_for(run, step, done);
    }

    fn forget_ahead(&self) {
        self.parts().fetcher.forget();
    }

    fn set_memory(&self, bytes: Option<u64>) {
        // The batches need the other half.
        let half =
            bytes.map(|bytes| (bytes / 2).clamp(SMALLEST_AHEAD, self.options.ahead.max(SMALLEST_AHEAD)));
        self.parts().fetcher.set_limit(half.unwrap_or(self.options.ahead));
    }

    /// Names servers that send whole files only.
    fn notes(&self) -> Vec<String> {
        let objects = self.parts().objects.hold();
        let whole: Vec<&Arc<Object>> = objects.values().filter(|object| object.is_whole()).collect();
        let Some(first) = whole.iter().map(|object| &object.url).min() else { return Vec::new() };
        let large = whole.iter().filter(|object| object.size > self.options.ahead).count();
        let large = match large {
            0 => String::new(),
            n => format!("; {n} of them too large for memory, which can only be read as streams"),
        };
        let (files, more) = if whole.len() == 1 { ("file", "") } else { ("files", ", ...") };
        let what = format!(
            "whole: {} {files}, because the server knows no range requests ({}{more}){large}",
            whole.len(),
            shown(first)
        );
        vec![what]
    }

    fn put(&self, name: &str, bytes: Bytes) -> Result<()> {
        let at = Location::parse(name)?;
        let (client, key, deadline) = (self.client(&at)?, at.key.to_owned(), self.options.deadline);
        self.parts().objects.hold().remove(name);
        self.parts().whole.hold().retain(|prefix| !name.starts_with(prefix));
        let name = name.to_owned();
        runtime::wait(async move {
            let put = retrying(deadline, || client.put(&key, bytes.clone())).await;
            put.map_err(|(failure, tries)| failure.error("write", &name, tries))
        })
    }

    fn stream(&self, shard: &Shard, from: u64) -> Result<Option<Box<dyn Read + Send>>> {
        let object = self.object(shard)?;
        let fetcher = Arc::clone(&self.parts().fetcher);
        Ok(Some(Box::new(RemoteStream::new(fetcher, object, from))))
    }
}
