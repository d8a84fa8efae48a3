//! Data sets of the Hugging Face hub: `hf://datasets/OWNER/NAME[@REVISION]/PATH`.
//!
//! A file's address at the hub leads to that of a content server, signed for some time. The second address is kept, so that a
//! range is one request and not two, and asked for again when it is refused.

use super::{
    Body, Cause, Failure, Listing, Meta,
    http::{client, get, good, text},
};
use crate::{location::Location, options::StoreOptions};
use infeed_core::{Hold, Result};
use reqwest::{
    Client, RequestBuilder, Url,
    header::{AUTHORIZATION, CONTENT_LENGTH, ETAG, HeaderName, LINK, LOCATION},
    redirect::Policy,
};
use serde::Deserialize;
use std::{collections::HashMap, ops::Range, sync::Mutex};

/// The hub's own address; `HF_ENDPOINT` names another.
const HUB: &str = "https://huggingface.co";
/// The tag and size of the content, told with the address of the content server.
const LINKED_TAG: HeaderName = HeaderName::from_static("x-linked-etag");
const LINKED_SIZE: HeaderName = HeaderName::from_static("x-linked-size");

/// Redirections from the hub to itself that are followed.
const HOPS: usize = 5;

/// One data set at one revision.
pub(crate) struct HubBackend {
    hub: String,
    /// `OWNER/NAME`
    dataset: String,
    revision: String,
    token: Option<String>,
    client: Client,
    /// For the hub's own answers, whose redirections are looked at.
    asking: Client,
    /// Where the content of files lies; `None` for those that the hub has itself.
    places: Mutex<HashMap<String, Option<Url>>>,
}

impl std::fmt::Debug for HubBackend {
    // Not derived: there is a token in it, and signed addresses.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "HubBackend({}@{})", self.dataset, self.revision)
    }
}

#[derive(Deserialize)]
struct TreeEntry {
    #[serde(rename = "type")]
    kind: String,
    path: String,
    #[serde(default)]
    size: u64,
    #[serde(default)]
    oid: Option<String>,
    #[serde(default)]
    lfs: Option<LargeFile>,
}

#[derive(Deserialize)]
struct LargeFile {
    oid: String,
}

impl HubBackend {
    pub(super) fn open(at: &Location<'_>, options: &StoreOptions) -> Result<Self> {
        let name = at.host().strip_prefix("datasets/").unwrap_or(at.host());
        let (dataset, revision) = name.split_once('@').unwrap_or((name, "main"));
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let hub =
            options.endpoint.clone().or_else(|| variable("HF_ENDPOINT")).unwrap_or_else(|| HUB.to_owned());
        let token = if options.anonymous { None } else { variable("HF_TOKEN").or_else(token_file) };
        let asking = client(options, Policy::none())?;
        Ok(HubBackend {
            hub: hub.trim_end_matches('/').to_owned(),
            dataset: dataset.to_owned(),
            // `refs/convert/parquet` is written with its slashes encoded in a path.
            revision: revision.replace('/', "%2F"),
            token,
            client: client(options, Policy::default())?,
            asking,
            places: Mutex::default(),
        })
    }

    fn signed(&self, request: RequestBuilder) -> RequestBuilder {
        match &self.token {
            Some(token) => request.header(AUTHORIZATION, format!("Bearer {token}")),
            None => request,
        }
    }

    fn address(&self, key: &str) -> String {
        format!("{}/datasets/{}/resolve/{}/{key}", self.hub, self.dataset, self.revision)
    }

    pub(super) async fn head(&self, key: &str) -> Result<Meta, Failure> {
        let mut address = self.address(key);
        for _ in 0..HOPS {
            let answer = self.signed(self.asking.head(&address)).send().await?;
            let to = answer.headers().get(LOCATION).and_then(|to| to.to_str().ok());
            let to = to.filter(|_| answer.status().is_redirection());
            let to = to.and_then(|to| Url::parse(&address).ok()?.join(to).ok());
            let headers = answer.headers();
            match &to {
                // A data set with a new name: the hub sends to itself.
                Some(to) if text(headers, &LINKED_SIZE).is_none() && to.as_str().starts_with(&self.hub) => {
                    address = to.to_string();
                    continue;
                }
                _ => {}
            }
            let answer = if to.is_some() { answer } else { good(answer).await? };
            let headers = answer.headers();
            // The length of a redirection is that of its own text.
            let length = || if to.is_some() { None } else { text(headers, &CONTENT_LENGTH) };
            let size = text(headers, &LINKED_SIZE).or_else(length).and_then(|size| size.parse().ok());
            let size = size.ok_or_else(|| Failure::new(Cause::Refused, "the hub does not tell its size"))?;
            // Whether a tag is weak depends on the server in between, not on the file.
            let tag = text(headers, &LINKED_TAG).or_else(|| text(headers, &ETAG));
            let tag = tag.map(|tag| tag.trim_start_matches("W/").to_owned());
            self.places.hold().insert(key.to_owned(), to);
            return Ok(Meta { key: key.to_owned(), size, tag, modified: None, ranges: true });
        }
        Err(Failure::new(Cause::Refused, format!("the hub redirects more than {HOPS} times")))
    }

    pub(super) async fn get(&self, key: &str, range: Range<u64>, tag: Option<&str>) -> Result<Body, Failure> {
        let known = self.places.hold().get(key).cloned();
        let place = match known {
            Some(place) => place,
            None => {
                let now = self.head(key).await?;
                if let (Some(listed), Some(now)) = (tag, &now.tag)
                    && listed != now
                {
                    return Err(Failure::new(Cause::Changed, "another file has its name now"));
                }
                self.places.hold().get(key).cloned().flatten()
            }
        };
        let body = match place {
            // The tag was compared with the hub's; content servers have others. The token is for the hub alone.
            Some(place) => get(self.client.get(place), range, None).await,
            None => get(self.signed(self.client.get(self.address(key))), range, tag).await,
        };
        match body {
            Err(e)
                if matches!(e.cause, Cause::Denied | Cause::Keys)
                    && self.places.hold().remove(key).flatten().is_some() =>
            {
                // The signature has expired: the next try asks the hub again.
                Err(Failure::new(Cause::Passing, e.what))
            }
            other => other,
        }
    }

    pub(super) async fn list(&self, prefix: &str) -> Result<Listing, Failure> {
        let folder = prefix.rfind('/').map_or("", |slash| &prefix[..slash]);
        let base = format!("{}/api/datasets/{}/tree/{}/{folder}", self.hub, self.dataset, self.revision);
        let mut next = Some(format!("{}?recursive=true", base.trim_end_matches('/')));
        let mut found = Vec::new();
        while let Some(page) = next {
            let request = self.client.get(&page);
            // A mirror may name pages of the hub that it stands for: they get no token.
            let request = if page.starts_with(&self.hub) { self.signed(request) } else { request };
            let answer = good(request.send().await?).await?;
            next = answer.headers().get(LINK).and_then(|link| next_page(link.to_str().ok()?));
            let bytes = answer.bytes().await?;
            let entries: Vec<TreeEntry> = serde_json::from_slice(&bytes).map_err(|e| {
                Failure::new(Cause::Refused, format!("the hub's listing cannot be read: {e}"))
            })?;
            let files =
                entries.into_iter().filter(|entry| entry.kind == "file" && entry.path.starts_with(prefix));
            found.extend(files.map(|entry| {
                let tag = entry.lfs.map(|large| large.oid).or(entry.oid).map(|oid| format!("\"{oid}\""));
                Meta { key: entry.path, size: entry.size, tag, modified: None, ranges: true }
            }));
        }
        Ok(Listing { found, whole: true })
    }
}

/// The address of the next page: `<URL>; rel="next"`.
fn next_page(link: &str) -> Option<String> {
    let (url, rest) = link.strip_prefix('<')?.split_once('>')?;
    rest.contains("rel=\"next\"").then(|| url.to_owned())
}

/// The token that `huggingface-cli login` keeps.
fn token_file() -> Option<String> {
    let folder = std::env::var_os("HF_HOME").map(std::path::PathBuf::from);
    let folder = folder
        .or_else(|| Some(std::path::PathBuf::from(std::env::var_os("HOME")?).join(".cache/huggingface")))?;
    let token = std::fs::read_to_string(folder.join("token")).ok()?;
    Some(token.trim().to_owned()).filter(|token| !token.is_empty())
}
