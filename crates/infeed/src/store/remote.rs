//! Object stores in the table. The stores themselves are the crate `infeed-remote`.

use super::{StoreEntry, paths::find_listed};
use bytes::Bytes;
use infeed_core::{Error, Found, Result, Shard, Store};
use infeed_remote::{RemoteStore, StoreOptions};
use serde_json::{Map, Value as Json};
use std::{io::Read, ops::Range, sync::Arc};

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
    Ok(Arc::new(Listed(RemoteStore::new(StoreOptions::parse(options)?))))
}

/// A remote store whose paths may have patterns.
#[derive(Debug)]
struct Listed(RemoteStore);

impl Store for Listed {
    fn list(&self, prefix: &str) -> Result<Vec<Shard>> {
        self.0.list(prefix)
    }

    fn stat(&self, names: &[String]) -> Result<Vec<Shard>> {
        self.0.stat(names)
    }

    fn read(&self, shard: &Shard, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        self.0.read(shard, ranges)
    }

    fn will_read(&self, shard: &Shard, ranges: &[Range<u64>]) {
        self.0.will_read(shard, ranges);
    }

    fn room_ahead(&self) -> Option<u64> {
        self.0.room_ahead()
    }

    fn forget_ahead(&self) {
        self.0.forget_ahead();
    }

    fn set_memory(&self, bytes: u64) {
        self.0.set_memory(bytes);
    }

    fn stream(&self, shard: &Shard, from: u64) -> Result<Option<Box<dyn Read + Send>>> {
        self.0.stream(shard, from)
    }

    fn put(&self, name: &str, bytes: Bytes) -> Result<()> {
        self.0.put(name, bytes)
    }

    /// A pattern is never the name of an object: looking first would cost a request for each path.
    fn find(&self, path: &str) -> Result<Vec<Found>> {
        find_listed(self, path).map_err(|e| match e {
            Error::NotFound { path, hint } if path.contains(['*', '?', '[']) && path.starts_with("http") => {
                let hint = format!("{hint}; patterns need a listing: write the names out, with braces");
                Error::NotFound { path, hint }
            }
            other => other,
        })
    }
}
