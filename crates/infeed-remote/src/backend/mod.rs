//! Single requests to a service, without retries: those are [`fetch`](crate::fetch)'s.

mod azure;
mod failure;
mod google;
mod http;
mod hub;
mod object;
mod s3;

use crate::{
    direct::Received,
    location::{Location, Service},
    options::StoreOptions,
};
use bytes::{Buf, Bytes};
use futures_util::{Stream, StreamExt, stream::BoxStream};
use infeed_core::Result;
use std::{ops::Range, time::Duration};

pub(crate) use failure::{Cause, Failure};

/// How long it may take to be connected.
const CONNECT: Duration = Duration::from_secs(10);

/// What a service says about an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Meta {
    pub(crate) key: String,
    pub(crate) size: u64,
    /// The tag that changes whenever the object does.
    pub(crate) tag: Option<String>,
    /// Nanoseconds since 1970.
    pub(crate) modified: Option<u64>,
    /// Whether parts of it can be asked for.
    pub(crate) ranges: bool,
}

/// The objects of a prefix, in any order.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    pub(crate) found: Vec<Meta>,
    /// Whether these are all.
    pub(crate) whole: bool,
}

/// The bytes of an answer, as they arrive.
pub(crate) enum Body {
    /// From an HTTP library; what is left of the last piece.
    Pieces(BoxStream<'static, Result<Bytes, Failure>>, Bytes),
    Direct(Received),
}

impl Body {
    fn pieces(stream: impl Stream<Item = Result<Bytes, Failure>> + Send + 'static) -> Self {
        Body::Pieces(stream.boxed(), Bytes::new())
    }

    /// Writes some bytes to `out`; none at the end of the answer.
    pub(crate) async fn read(&mut self, out: &mut [u8]) -> Result<usize, Failure> {
        let (stream, rest) = match self {
            Body::Direct(body) => return body.read(out).await.map_err(broken),
            Body::Pieces(stream, rest) => (stream, rest),
        };
        while rest.is_empty() {
            match stream.next().await {
                Some(piece) => *rest = piece?,
                None => return Ok(0),
            }
        }
        let count = out.len().min(rest.len());
        rest.copy_to_slice(&mut out[..count]);
        Ok(count)
    }

    /// Returns the next piece.
    pub(crate) async fn piece(&mut self) -> Result<Option<Bytes>, Failure> {
        match self {
            Body::Direct(body) => body.piece().await.map_err(broken),
            Body::Pieces(stream, rest) if rest.is_empty() => stream.next().await.transpose(),
            Body::Pieces(_, rest) => Ok(Some(std::mem::take(rest))),
        }
    }
}

/// A connection that broke.
fn broken(e: std::io::Error) -> Failure {
    Failure::new(Cause::Passing, e.to_string())
}

/// A client for one root: a bucket, a host, a data set.
#[derive(Debug)]
pub(crate) enum Backend {
    Object(object::ObjectBackend),
    Http(http::HttpBackend),
    Hub(hub::HubBackend),
}

impl Backend {
    /// Makes the client. No request is sent.
    pub(crate) fn open(at: &Location<'_>, options: &StoreOptions) -> Result<Self> {
        Ok(match at.service {
            Service::S3 => Backend::Object(s3::open(at, options)?),
            Service::Google => Backend::Object(google::open(at, options)?),
            Service::Azure => Backend::Object(azure::open(at, options)?),
            Service::Http => Backend::Http(http::HttpBackend::open(at, options)?),
            Service::Hub => Backend::Hub(hub::HubBackend::open(at, options)?),
        })
    }

    /// How many requests at a time it takes without being asked first. Object stores are made for many clients with many requests
    /// each; a web server may take as many for an attack.
    pub(crate) fn first_requests(&self) -> usize {
        match self {
            Backend::Object(_) => 64,
            Backend::Http(_) | Backend::Hub(_) => 16,
        }
    }

    pub(crate) async fn head(&self, key: &str) -> Result<Meta, Failure> {
        match self {
            Backend::Object(inner) => inner.head(key).await,
            Backend::Http(inner) => inner.head(key).await,
            Backend::Hub(inner) => inner.head(key).await,
        }
    }

    /// Asks for a range of an object that must still have this tag.
    pub(crate) async fn get(&self, key: &str, range: Range<u64>, tag: Option<&str>) -> Result<Body, Failure> {
        match self {
            Backend::Object(inner) => inner.get(key, range, tag).await,
            Backend::Http(inner) => inner.get(key, range, tag).await,
            Backend::Hub(inner) => inner.get(key, range, tag).await,
        }
    }

    /// Returns the objects whose name starts with `prefix`: all, or some if more than `most` had to be looked at.
    pub(crate) async fn list(&self, prefix: &str, most: usize) -> Result<Listing, Failure> {
        match self {
            Backend::Object(inner) => inner.list(prefix, most).await,
            Backend::Http(inner) => inner.list(prefix),
            Backend::Hub(inner) => inner.list(prefix).await,
        }
    }

    pub(crate) async fn put(&self, key: &str, bytes: Bytes) -> Result<(), Failure> {
        match self {
            Backend::Object(inner) => inner.put(key, bytes).await,
            Backend::Http(inner) => inner.put(key, bytes).await,
            Backend::Hub(_) => Err(Failure::new(Cause::Refused, "data sets of the hub are only read")),
        }
    }
}
