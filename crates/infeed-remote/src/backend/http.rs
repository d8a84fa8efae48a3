//! Files of web servers.

use super::{Body, CONNECT, Cause, Failure, Listing, Meta, broken};
use crate::{
    direct::{Answered, Direct},
    location::{Location, shown},
    options::StoreOptions,
    time::http_date,
};
use bytes::Bytes;
use futures_util::TryStreamExt;
use infeed_core::{Error, Result};
use reqwest::{
    Certificate, Client, Method, Proxy, RequestBuilder, Response, StatusCode,
    header::{
        ACCEPT_RANGES, CONTENT_LENGTH, CONTENT_RANGE, ETAG, HeaderMap, HeaderName, HeaderValue, IF_MATCH,
        LAST_MODIFIED, RANGE,
    },
    redirect::Policy,
};
use std::ops::Range;

/// One host.
pub(crate) struct HttpBackend {
    root: String,
    client: Client,
    direct: Option<Direct>,
}

impl std::fmt::Debug for HttpBackend {
    // Not derived: an address may have a password in it.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "HttpBackend({})", shown(&self.root))
    }
}

impl HttpBackend {
    pub(super) fn open(at: &Location<'_>, options: &StoreOptions) -> Result<Self> {
        Ok(HttpBackend {
            root: at.root.to_owned(),
            client: client(options, Policy::default())?,
            direct: Direct::new(options.requests, options.proxy.as_deref()),
        })
    }

    pub(super) async fn head(&self, key: &str) -> Result<Meta, Failure> {
        let url = format!("{}{key}", self.root);
        let answer = good(self.client.request(Method::HEAD, url).send().await?).await;
        match answer {
            Ok(answer) if text(answer.headers(), &CONTENT_LENGTH).is_some() => meta(key, answer.headers()),
            // Signed URLs are often for GET alone, and some servers tell no length for HEAD: the first byte tells it.
            Ok(_) => self.first_byte(key).await,
            Err(e) if matches!(e.cause, Cause::Denied | Cause::Keys | Cause::Refused) => {
                self.first_byte(key).await
            }
            Err(e) => Err(e),
        }
    }

    async fn first_byte(&self, key: &str) -> Result<Meta, Failure> {
        let url = format!("{}{key}", self.root);
        let answer = good(self.client.get(url).header(RANGE, "bytes=0-0").send().await?).await?;
        meta(key, answer.headers())
    }

    pub(super) async fn get(&self, key: &str, range: Range<u64>, tag: Option<&str>) -> Result<Body, Failure> {
        let url = format!("{}{key}", self.root);
        let mut headers = HeaderMap::new();
        if let Some(Ok(tag)) = tag.filter(|tag| !tag.starts_with("W/")).map(HeaderValue::from_str) {
            headers.insert(IF_MATCH, tag);
        }
        if let Some(body) = self.get_direct(&url, headers.clone(), &range, tag).await? {
            return Ok(body);
        }
        get(self.client.get(url).headers(headers), range, tag).await
    }

    /// The body of an answer that can be received directly.
    async fn get_direct(
        &self,
        url: &str,
        mut headers: HeaderMap,
        range: &Range<u64>,
        tag: Option<&str>,
    ) -> Result<Option<Body>, Failure> {
        let (Some(direct), Ok(uri), Ok(bytes)) = (&self.direct, url.parse(), wanted(range).try_into()) else {
            return Ok(None);
        };
        headers.insert(RANGE, bytes);
        match direct.get(&uri, &headers).await.map_err(broken)? {
            Answered::NotHere => Ok(None),
            Answered::Message(status, _, message) => {
                Err(Failure::of_status(status.as_u16(), &String::from_utf8_lossy(&message)))
            }
            Answered::Body(status, headers, body) => {
                check(status, &headers, range, tag)?;
                Ok(Some(Body::Direct(body)))
            }
        }
    }

    pub(super) fn list(&self, prefix: &str) -> Result<Listing, Failure> {
        let what =
            "web servers have no listings; write the names out, with braces: `shard-{000000..000127}.tar`";
        let what = if prefix.is_empty() { what.to_owned() } else { format!("{what}, or give a file") };
        Err(Failure::new(Cause::Missing, what))
    }

    pub(super) async fn put(&self, key: &str, bytes: Bytes) -> Result<(), Failure> {
        let url = format!("{}{key}", self.root);
        good(self.client.put(url).body(bytes).send().await?).await?;
        Ok(())
    }
}

/// Makes a client.
pub(super) fn client(options: &StoreOptions, redirects: Policy) -> Result<Client> {
    let wrong = |what: String| Error::argument(what);
    let mut builder = Client::builder()
        .redirect(redirects)
        .http1_only()
        .connect_timeout(CONNECT)
        .pool_max_idle_per_host(options.requests)
        .user_agent(concat!("infeed/", env!("CARGO_PKG_VERSION")));
    if let Some(proxy) = &options.proxy {
        let proxy =
            Proxy::all(proxy).map_err(|e| wrong(format!("store option `proxy`: {}", e.without_url())))?;
        builder = builder.proxy(proxy);
    }
    if let Some(file) = &options.ca_file {
        let pem = std::fs::read(file).map_err(|e| Error::io("read", file.as_str(), e))?;
        let certificates = Certificate::from_pem_bundle(&pem)
            .map_err(|e| wrong(format!("`{file}` has no certificates in PEM form: {e}")))?;
        for certificate in certificates {
            builder = builder.add_root_certificate(certificate);
        }
    }
    builder.build().map_err(|e| wrong(format!("no HTTP client can be made: {e}")))
}

/// Sends a request for a range and checks the answer, whose tag must be this one.
pub(super) async fn get(
    request: RequestBuilder,
    range: Range<u64>,
    tag: Option<&str>,
) -> Result<Body, Failure> {
    let answer = good(request.header(RANGE, wanted(&range)).send().await?).await?;
    check(answer.status(), answer.headers(), &range, tag)?;
    Ok(Body::pieces(answer.bytes_stream().map_err(Failure::from)))
}

/// A range as headers have it.
fn wanted(range: &Range<u64>) -> String {
    format!("bytes={}-{}", range.start, range.end.saturating_sub(1))
}

/// Checks the head of an answer: it must be for this range of a file with this tag.
fn check(
    status: StatusCode,
    headers: &HeaderMap,
    range: &Range<u64>,
    tag: Option<&str>,
) -> Result<(), Failure> {
    // A server in between that packs answers makes tags weak, and the file stays the same.
    let bare = |tag: &str| tag.trim_start_matches("W/").to_owned();
    if let (Some(listed), Some(now)) = (tag, text(headers, &ETAG))
        && bare(listed) != bare(now)
    {
        return Err(Failure::new(Cause::Changed, "another file has its name now (its ETag is another one)"));
    }
    if status != StatusCode::PARTIAL_CONTENT {
        // Exactly the file that was asked for from its first byte on is as good.
        let whole = text(headers, &CONTENT_LENGTH).and_then(|len| len.parse::<u64>().ok());
        if range.start != 0 || whole != Some(range.end) {
            let what = "the server sends whole files only (it does not know range requests)";
            return Err(Failure::new(Cause::NoRanges, what));
        }
    } else {
        let want = format!("bytes {}-{}/", range.start, range.end.saturating_sub(1));
        let got = text(headers, &CONTENT_RANGE).unwrap_or_default();
        if !got.starts_with(&want) {
            return Err(Failure::new(Cause::Passing, format!("`{want}` was asked for, and `{got}` came")));
        }
    }
    Ok(())
}

/// Turns an answer that is not a success into a failure.
pub(super) async fn good(answer: Response) -> Result<Response, Failure> {
    if answer.status().is_success() {
        return Ok(answer);
    }
    let status = answer.status().as_u16();
    let body = answer.text().await.unwrap_or_default();
    Err(Failure::of_status(status, &body))
}

pub(super) fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

fn meta(key: &str, headers: &HeaderMap) -> Result<Meta, Failure> {
    // `bytes 0-0/SIZE` of an answer to a request for the first byte.
    let total = text(headers, &CONTENT_RANGE).and_then(|range| range.rsplit('/').next()?.parse().ok());
    let size = total.or_else(|| text(headers, &CONTENT_LENGTH)?.parse().ok());
    let size = size.ok_or_else(|| {
        Failure::new(
            Cause::Refused,
            "the server does not tell its size; read it as a stream: `pipe:curl -s URL`",
        )
    })?;
    Ok(Meta {
        key: key.to_owned(),
        size,
        tag: text(headers, &ETAG).map(str::to_owned),
        modified: text(headers, &LAST_MODIFIED).and_then(http_date),
        ranges: total.is_some() || text(headers, &ACCEPT_RANGES).is_some_and(|what| what.contains("bytes")),
    })
}
