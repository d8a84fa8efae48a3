//! Services that object_store speaks to.

use super::{Body, CONNECT, Cause, Failure, Listing, Meta};
use crate::{
    credentials::Renewable,
    direct::{Connector, Direct, Wanted},
    options::StoreOptions,
};
use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt};
use infeed_core::{Error, Result};
use object_store::{
    Certificate, ClientOptions, GetOptions, GetRange, ObjectMeta, ObjectStore, ObjectStoreExt, RetryConfig,
    path::Path,
};
use std::{
    ops::Range,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

/// A bucket or container.
#[derive(Debug)]
pub(crate) struct ObjectBackend {
    store: Arc<dyn ObjectStore>,
    /// Keys that can be had again when the service refuses them.
    keys: Option<Renewable>,
    /// Whether anything was found there: then the bucket exists.
    found: AtomicBool,
}

impl ObjectBackend {
    pub(super) fn new(store: impl ObjectStore) -> Self {
        ObjectBackend { store: Arc::new(store), keys: None, found: AtomicBool::new(false) }
    }

    /// The same with keys that can be had again.
    pub(super) fn with_keys(self, keys: Option<Renewable>) -> Self {
        ObjectBackend { keys, ..self }
    }

    /// Asks, and has the keys renewed if they are refused: the next try is with others.
    async fn asked<T>(&self, ask: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
        let Some(keys) = &self.keys else { return ask.await };
        let generation = keys.generation();
        let failure = match ask.await {
            Ok(answer) => {
                keys.worked(generation);
                return Ok(answer);
            }
            Err(failure) if matches!(failure.cause, Cause::Keys | Cause::Denied) => failure,
            Err(failure) => return Err(failure),
        };
        match keys.renew(generation, failure.cause == Cause::Keys).await {
            Ok(true) => Err(Failure::new(Cause::Passing, failure.what)),
            Ok(false) => Err(failure),
            Err(why) => {
                Err(Failure::new(failure.cause, format!("{}, and there are no others: {why}", failure.what)))
            }
        }
    }

    pub(super) async fn head(&self, key: &str) -> Result<Meta, Failure> {
        self.asked(self.head_once(key)).await
    }

    async fn head_once(&self, key: &str) -> Result<Meta, Failure> {
        let failure = match self.store.head(&path(key)?).await {
            Ok(object) => {
                self.found.store(true, Relaxed);
                return Ok(meta(object));
            }
            Err(e) => Failure::from(e),
        };
        // An answer to HEAD has no body, which would tell the reason: that to GET has one. Of objects that are not there it only
        // matters whether the bucket is.
        let unclear = match failure.cause {
            Cause::Denied | Cause::Refused => true,
            Cause::Missing => !self.found.load(Relaxed),
            _ => false,
        };
        if unclear
            && let Err(told) = self.get_once(key, 0..1, None).await
            && (matches!(told.cause, Cause::Denied | Cause::Keys | Cause::Missing) || told.passes())
        {
            return Err(told);
        }
        Err(failure)
    }

    pub(super) async fn get(&self, key: &str, range: Range<u64>, tag: Option<&str>) -> Result<Body, Failure> {
        self.asked(self.get_once(key, range, tag)).await
    }

    async fn get_once(&self, key: &str, range: Range<u64>, tag: Option<&str>) -> Result<Body, Failure> {
        let mut options = GetOptions {
            range: Some(GetRange::Bounded(range)),
            if_match: tag.map(str::to_owned),
            ..GetOptions::default()
        };
        options.extensions.insert(Wanted::default());
        let mut got = self.store.get_opts(&path(key)?, options).await?;
        // Not every server knows If-Match.
        if let (Some(listed), Some(now)) = (tag, got.meta.e_tag.clone().map(quoted))
            && listed != now
        {
            return Err(Failure::new(
                Cause::Changed,
                "another object has its name now (its ETag is another one)",
            ));
        }
        Ok(match got.extensions.remove::<Wanted>().and_then(|body| body.take()) {
            Some(body) => Body::Direct(body),
            None => Body::pieces(got.into_stream().map_err(Failure::from)),
        })
    }

    /// Listings are by folder: the folder of the prefix is listed, from the prefix on.
    pub(super) async fn list(&self, prefix: &str, most: usize) -> Result<Listing, Failure> {
        self.asked(self.list_once(prefix, most)).await
    }

    async fn list_once(&self, prefix: &str, most: usize) -> Result<Listing, Failure> {
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
                return Ok(Listing { found, whole: false });
            }
            let name = object.location.as_ref();
            if name.starts_with(prefix) {
                found.push(meta(object));
            } else if name > prefix {
                // Names come sorted.
                break;
            }
        }
        Ok(Listing { found, whole: true })
    }

    pub(super) async fn put(&self, key: &str, bytes: Bytes) -> Result<(), Failure> {
        let path = path(key)?;
        self.asked(async {
            self.store.put(&path, bytes.into()).await?;
            Ok(())
        })
        .await
    }
}

fn path(key: &str) -> Result<Path, Failure> {
    Path::parse(key).map_err(|e| Failure::new(Cause::Refused, format!("its name cannot be asked for: {e}")))
}

fn meta(object: ObjectMeta) -> Meta {
    let modified = object.last_modified.timestamp_nanos_opt().and_then(|time| u64::try_from(time).ok());
    let tag = object.e_tag.map(quoted);
    Meta { key: object.location.to_string(), size: object.size, tag, modified, ranges: true }
}

/// A tag as it stands in headers. Azure's listings leave the quotes out.
fn quoted(tag: String) -> String {
    if tag.ends_with('"') { tag } else { format!("\"{tag}\"") }
}

/// Single requests: the retries are ours.
pub(super) fn no_retries() -> RetryConfig {
    RetryConfig { max_retries: 0, ..RetryConfig::default() }
}

/// How bodies are received.
pub(super) fn connector(options: &StoreOptions) -> Connector {
    Connector::new(Direct::new(options.requests, options.proxy.as_deref()))
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
