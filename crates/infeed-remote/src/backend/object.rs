//! Services that object_store speaks to.

use super::{Body, CONNECT, Cause, Failure, Meta};
use crate::options::StoreOptions;
use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt};
use infeed_core::{Error, Result};
use object_store::{
    Certificate, ClientOptions, GetOptions, GetRange, ObjectMeta, ObjectStore, ObjectStoreExt, RetryConfig,
    path::Path,
};
use std::{ops::Range, sync::Arc};

/// A bucket or container.
#[derive(Debug)]
pub(crate) struct ObjectBackend {
    store: Arc<dyn ObjectStore>,
}

impl ObjectBackend {
    pub(super) fn new(store: impl ObjectStore) -> Self {
        ObjectBackend { store: Arc::new(store) }
    }

    pub(super) async fn head(&self, key: &str) -> Result<Meta, Failure> {
        Ok(meta(self.store.head(&path(key)?).await?))
    }

    pub(super) async fn get(&self, key: &str, range: Range<u64>, tag: Option<&str>) -> Result<Body, Failure> {
        let options = GetOptions {
            range: Some(GetRange::Bounded(range)),
            if_match: tag.map(str::to_owned),
            ..GetOptions::default()
        };
        let got = self.store.get_opts(&path(key)?, options).await?;
        // Not every server knows If-Match.
        if let (Some(listed), Some(now)) = (tag, &got.meta.e_tag)
            && listed != now
        {
            return Err(Failure::new(
                Cause::Changed,
                "another object has its name now (its ETag is another one)",
            ));
        }
        Ok(got.into_stream().map_err(Failure::from).boxed())
    }

    /// Listings are by folder: the folder of the prefix is listed, from the prefix on.
    pub(super) async fn list(&self, prefix: &str, most: usize) -> Result<Vec<Meta>, Failure> {
        let folder = prefix.rfind('/').map_or("", |slash| &prefix[..slash]);
        let folder = path(folder)?;
        let listing = if prefix.len() > folder.as_ref().len() + 1 {
            // Names after the offset; the prefix itself may be one of them, so the offset is shorter by a character.
            let mut before = prefix.to_owned();
            before.pop();
            match Path::parse(&before) {
                Ok(offset) if !before.ends_with('/') => self.store.list_with_offset(Some(&folder), &offset),
                _ => self.store.list(Some(&folder)),
            }
        } else {
            self.store.list(Some(&folder))
        };
        let mut found = Vec::new();
        let (mut listing, mut seen) = (listing, 0);
        while let Some(object) = listing.next().await {
            let object = object?;
            seen += 1;
            if seen > most {
                break;
            }
            let name = object.location.as_ref();
            if name.starts_with(prefix) {
                found.push(meta(object));
            } else if name > prefix {
                // Names come sorted.
                break;
            }
        }
        Ok(found)
    }

    pub(super) async fn put(&self, key: &str, bytes: Bytes) -> Result<(), Failure> {
        self.store.put(&path(key)?, bytes.into()).await?;
        Ok(())
    }
}

fn path(key: &str) -> Result<Path, Failure> {
    Path::parse(key).map_err(|e| Failure::new(Cause::Refused, format!("its name cannot be asked for: {e}")))
}

fn meta(object: ObjectMeta) -> Meta {
    let modified = object.last_modified.timestamp_nanos_opt().and_then(|time| u64::try_from(time).ok());
    Meta { key: object.location.to_string(), size: object.size, tag: object.e_tag, modified, ranges: true }
}

/// Single requests: the retries are ours.
pub(super) fn no_retries() -> RetryConfig {
    RetryConfig { max_retries: 0, ..RetryConfig::default() }
}

/// How connections are made.
pub(super) fn client(options: &StoreOptions) -> Result<ClientOptions> {
    // Without limits on whole requests: how long one may take depends on its size. Ours is on progress.
    let mut client = ClientOptions::new()
        .with_allow_http(true)
        .with_timeout_disabled()
        .with_read_timeout_disabled()
        .with_connect_timeout(CONNECT)
        .with_pool_max_idle_per_host(options.requests);
    if let Some(proxy) = &options.proxy {
        client = client.with_proxy_url(proxy);
    }
    if let Some(file) = &options.ca_file {
        let pem = std::fs::read(file).map_err(|e| Error::io("read", file.as_str(), e))?;
        let certificates = Certificate::from_pem_bundle(&pem)
            .map_err(|e| Error::argument(format!("`{file}` has no certificates in PEM form: {e}")))?;
        for certificate in certificates {
            client = client.with_root_certificate(certificate);
        }
    }
    Ok(client)
}

/// The error of settings that object_store refuses.
pub(super) fn refused(url: &str, e: object_store::Error) -> Error {
    Error::argument(format!("`{url}`: {e}"))
}
