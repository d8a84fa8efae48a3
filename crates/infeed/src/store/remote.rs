//! Object stores in the table. The stores themselves are the crate `infeed-remote`.

use super::{StoreEntry, paths::find_listed};
use bytes::Bytes;
use infeed_core::{Error, Found, Hold, Result, Shard, Store};
use infeed_remote::{RemoteStore, StoreOptions};
use serde_json::{Map, Value as Json};
use std::{
    collections::HashMap,
    io::Read,
    ops::Range,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

pub(super) const S3: StoreEntry = StoreEntry {
    name: "s3",
    about: "S3 and what speaks like it: `s3://BUCKET/KEY`",
    schemes: &["s3", "s3a"],
    open,
};

pub(super) const GOOGLE: StoreEntry =
    StoreEntry { name: "google", about: "Google Cloud Storage: `gs://BUCKET/KEY`", schemes: &["gs"], open };

pub(super) const AZURE: StoreEntry = StoreEntry {
    name: "azure",
    about: "Azure Blob Storage: `az://CONTAINER/KEY`, `abfs://CONTAINER@ACCOUNT.dfs.core.windows.net/KEY`",
    schemes: &["az", "azure", "abfs", "abfss"],
    open,
};

pub(super) const HTTP: StoreEntry = StoreEntry {
    name: "http",
    about: "files of web servers, without listings: `https://HOST/PATH`",
    schemes: &["https", "http"],
    open,
};

pub(super) const HUB: StoreEntry = StoreEntry {
    name: "hub",
    about: "data sets of the Hugging Face hub: `hf://datasets/OWNER/NAME[@REVISION]/PATH`",
    schemes: &["hf"],
    open,
};

fn open(options: &Map<String, Json>) -> Result<Arc<dyn Store>> {
    Ok(Arc::new(Listed { inner: RemoteStore::new(StoreOptions::parse(options)?), found: Mutex::default() }))
}

/// How long what paths stood for is remembered: opening looks at the same objects again at once, and each look is a way to the
/// server and back.
const REMEMBERED: Duration = Duration::from_secs(2);

/// A remote store whose paths may have patterns.
#[derive(Debug)]
struct Listed {
    inner: RemoteStore,
    /// What [`Store::find`] has seen, and when. If an object changed since, its tag no longer matches when it is read.
    found: Mutex<HashMap<String, (Shard, Instant)>>,
}

impl Listed {
    /// What a path stood for a moment ago, if all of these names were seen.
    fn remembered(&self, names: &[String]) -> Option<Vec<Shard>> {
        let found = self.found.hold();
        let fresh = |name: &String| {
            found.get(name).filter(|(_, seen)| seen.elapsed() < REMEMBERED).map(|(shard, _)| shard.clone())
        };
        names.iter().map(fresh).collect()
    }
}

/// A store whose lookups are remembered: what [`find_listed`] asks.
#[derive(Debug)]
struct Noting<'a>(&'a Listed);

impl Noting<'_> {
    fn note(&self, shards: &[Shard]) {
        let (now, mut found) = (Instant::now(), self.0.found.hold());
        found.retain(|_, (_, seen)| seen.elapsed() < REMEMBERED);
        found.extend(shards.iter().map(|shard| (shard.name.to_string(), (shard.clone(), now))));
    }
}

impl Store for Noting<'_> {
    fn list(&self, prefix: &str) -> Result<Vec<Shard>> {
        // A listing is remembered by the store itself.
        self.0.inner.list(prefix)
    }

    fn stat(&self, names: &[String]) -> Result<Vec<Shard>> {
        self.0.inner.stat(names).inspect(|shards| self.note(shards))
    }

    fn read(&self, shard: &Shard, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        self.0.inner.read(shard, ranges)
    }
}

impl Store for Listed {
    fn list(&self, prefix: &str) -> Result<Vec<Shard>> {
        self.inner.list(prefix)
    }

    fn stat(&self, names: &[String]) -> Result<Vec<Shard>> {
        self.remembered(names).map_or_else(|| self.inner.stat(names), Ok)
    }

    fn probe(&self, names: &[String]) -> Result<Vec<Option<Shard>>> {
        self.inner.probe(names)
    }

    fn read(&self, shard: &Shard, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        self.inner.read(shard, ranges)
    }

    fn will_read(&self, shard: &Shard, ranges: &[Range<u64>]) {
        self.inner.will_read(shard, ranges);
    }

    fn room_ahead(&self) -> Option<u64> {
        self.inner.room_ahead()
    }

    fn ahead_for(&self, run: u64, step: u64, done: u64) {
        self.inner.ahead_for(run, step, done);
    }

    fn notes(&self) -> Vec<String> {
        self.inner.notes()
    }

    fn forget_ahead(&self) {
        self.inner.forget_ahead();
    }

    fn set_memory(&self, bytes: Option<u64>) {
        self.inner.set_memory(bytes);
    }

    fn stream(&self, shard: &Shard, from: u64) -> Result<Option<Box<dyn Read + Send>>> {
        self.inner.stream(shard, from)
    }

    fn put(&self, name: &str, bytes: Bytes) -> Result<()> {
        self.found.hold().remove(name);
        self.inner.put(name, bytes)
    }

    /// Web servers cannot be asked for patterns, and the error says what to write instead.
    fn find(&self, path: &str) -> Result<Vec<Found>> {
        find_listed(&Noting(self), path).map_err(|e| match e {
            Error::NotFound { path, hint } if path.contains(['*', '?', '[']) && path.starts_with("http") => {
                let hint = format!("{hint}; patterns need a listing: write the names out, with braces");
                Error::NotFound { path, hint }
            }
            other => other,
        })
    }
}
