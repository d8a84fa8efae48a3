//! URLs of objects.

use infeed_core::{Error, Result};

/// Which service a URL speaks of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Service {
    /// `s3://BUCKET/KEY`
    S3,
    /// `gs://BUCKET/KEY`
    Google,
    /// `az://CONTAINER/KEY`, `abfs://CONTAINER@ACCOUNT.dfs.core.windows.net/KEY`
    Azure,
    /// `http://HOST/PATH`, `https://HOST/PATH`
    Http,
    /// `hf://datasets/OWNER/NAME[@REVISION]/PATH`
    Hub,
}

/// A URL, taken apart. `root` and `key` joined are the URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Location<'a> {
    pub(crate) service: Service,
    /// What one client is made for: scheme, host, bucket, with a trailing `/`.
    pub(crate) root: &'a str,
    /// The name of the object below it.
    pub(crate) key: &'a str,
}

impl<'a> Location<'a> {
    /// Takes a URL apart. Prefixes of names are URLs, too.
    pub(crate) fn parse(url: &'a str) -> Result<Self> {
        let (scheme, rest) = url.split_once("://").ok_or_else(|| wrong(url, "there is no `://` in it"))?;
        let service = match scheme {
            "s3" | "s3a" => Service::S3,
            "gs" => Service::Google,
            "az" | "azure" | "abfs" | "abfss" => Service::Azure,
            "http" | "https" => Service::Http,
            "hf" => Service::Hub,
            _ => return Err(wrong(url, "its scheme is not one of an object store")),
        };
        // The part of the path that belongs to the root: a data set of the hub has an owner and a name.
        let mut parts = if service == Service::Hub { 3 } else { 1 };
        let mut end = 0;
        while parts > 0 {
            parts -= 1;
            let start = end;
            match rest[end..].find('/') {
                Some(slash) => end += slash + 1,
                None => return Err(wrong(url, missing(service))),
            }
            // Revisions that the hub makes have slashes: `@refs/convert/parquet`, `@refs/pr/1`.
            if service == Service::Hub && rest[start..end].ends_with("@refs/") {
                parts += 2;
            }
        }
        if rest[..end].split_terminator('/').any(str::is_empty) {
            return Err(wrong(url, missing(service)));
        }
        if service == Service::Hub && !rest.starts_with("datasets/") {
            return Err(wrong(url, "only data sets are read: `hf://datasets/OWNER/NAME/PATH`"));
        }
        let (root, key) = url.split_at(scheme.len() + 3 + end);
        Ok(Location { service, root, key })
    }

    /// The part of the root that names the bucket, container, host or data set.
    pub(crate) fn host(&self) -> &'a str {
        let after = self.root.split_once("://").map_or("", |(_, rest)| rest);
        after.trim_end_matches('/')
    }
}

fn missing(service: Service) -> &'static str {
    match service {
        Service::S3 | Service::Google => "a bucket and a `/` must follow `://`",
        Service::Azure => "a container and a `/` must follow `://`",
        Service::Http => "a host and a `/` must follow `://`",
        Service::Hub => "it must have the form `hf://datasets/OWNER/NAME/PATH`",
    }
}

fn wrong(url: &str, what: &str) -> Error {
    Error::argument(format!("`{}` is not a URL that can be read: {what}", shown(url)))
}

/// A URL as it may be shown: signatures, tokens and passwords are left out.
pub(crate) fn shown(url: &str) -> String {
    infeed_core::shown(url).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_taken_apart() {
        let parts = |url| {
            Location::parse(url)
                .map(|l| (l.service, l.root.to_owned(), l.key.to_owned(), l.host().to_owned()))
        };
        let is = |service, root: &str, key: &str, host: &str| {
            (service, root.to_owned(), key.to_owned(), host.to_owned())
        };
        assert_eq!(parts("s3://b/a/x.tar").unwrap(), is(Service::S3, "s3://b/", "a/x.tar", "b"));
        assert_eq!(parts("gs://b/").unwrap(), is(Service::Google, "gs://b/", "", "b"));
        assert_eq!(
            parts("abfs://c@acc.dfs.core.windows.net/x").unwrap(),
            is(Service::Azure, "abfs://c@acc.dfs.core.windows.net/", "x", "c@acc.dfs.core.windows.net")
        );
        assert_eq!(
            parts("hf://datasets/o/n@main/d/x.parquet").unwrap(),
            is(Service::Hub, "hf://datasets/o/n@main/", "d/x.parquet", "datasets/o/n@main")
        );
        let root = "hf://datasets/o/n@refs/convert/parquet/";
        assert_eq!(
            parts("hf://datasets/o/n@refs/convert/parquet/d/x.parquet").unwrap(),
            is(Service::Hub, root, "d/x.parquet", "datasets/o/n@refs/convert/parquet")
        );
        for wrong in ["s3://b", "s3:///x", "hf://datasets/o", "hf://models/o/n/x", "ftp://h/x", "s3:b/x"] {
            assert!(parts(wrong).is_err(), "{wrong}");
        }
    }
}
