//! The table of stores, by URL scheme.

use infeed_core::{Error, Result, Store, registry::nearest};
use serde_json::{Map, Value as Json};
use std::sync::Arc;

/// One store.
#[derive(Debug)]
pub struct StoreEntry {
    /// Its name.
    pub name: &'static str,
    /// A one-line description.
    pub about: &'static str,
    /// The schemes of its names, without the colon, the usual one first; local files also have a form without a scheme.
    pub schemes: &'static [&'static str],
    /// Creates it with the store options of a recipe.
    pub open: OpenStore,
}

/// Creates a store.
pub type OpenStore = fn(&Map<String, Json>) -> Result<Arc<dyn Store>>;

impl StoreEntry {
    /// Whether it is reached over a network.
    pub fn is_remote(&self) -> bool {
        REMOTE.contains(&self.schemes[0])
    }
}

/// All stores.
#[rustfmt::skip] // one line each
pub const STORES: &[&StoreEntry] = &[
    &super::local::ENTRY,
    &super::memory::ENTRY,
    #[cfg(feature = "remote")]
    &super::remote::S3,
    #[cfg(feature = "remote")]
    &super::remote::GOOGLE,
    #[cfg(feature = "remote")]
    &super::remote::AZURE,
    #[cfg(feature = "remote")]
    &super::remote::HTTP,
    #[cfg(feature = "remote")]
    &super::remote::HUB,
];

/// Schemes of stores that are only there with the feature `remote`.
const REMOTE: [&str; 10] = ["s3", "s3a", "gs", "az", "azure", "abfs", "abfss", "http", "https", "hf"];

/// Returns the store of a name; `None` for a plain path.
///
/// A scheme that is not in the table counts only if `//` follows: file names may contain colons.
pub(super) fn entry_of(name: &str) -> Result<Option<&'static StoreEntry>> {
    let Some(scheme) = scheme(name) else { return Ok(None) };
    if let Some(entry) = STORES.iter().find(|entry| entry.schemes.contains(&scheme)) {
        return Ok(Some(entry));
    }
    if !name[scheme.len()..].starts_with("://") && scheme != "pipe" {
        return Ok(None);
    }
    let known: Vec<&str> = STORES.iter().map(|entry| entry.schemes[0]).collect();
    let near = nearest(scheme, &known).map(|near| format!("; did you mean `{near}:`?")).unwrap_or_default();
    let known: Vec<String> = known.iter().map(|scheme| format!("{scheme}:")).collect();
    let cure = match scheme {
        "pipe" => "a command can only be read as a stream: give it as the whole path",
        _ if REMOTE.contains(&scheme) => {
            "this build has no remote stores: build it with the feature `remote`"
        }
        _ => "copy or mount the data and give a local path, or read tars as a stream: `pipe:curl -s URL`",
    };
    Err(Error::argument(format!(
        "`{name}`: there is no store for `{scheme}:`{near} (there are: {}, and plain paths); {cure}",
        known.join(", ")
    )))
}

/// Returns the text before the first colon, if it can be a scheme.
fn scheme(name: &str) -> Option<&str> {
    let end = name.find([':', '/'])?;
    let scheme = &name[..end];
    let first = scheme.bytes().next()?;
    let fits = |b: u8| b.is_ascii_alphanumeric() || b"+-.".contains(&b);
    (name.as_bytes()[end] == b':' && first.is_ascii_alphabetic() && scheme.bytes().all(fits))
        .then_some(scheme)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemes_find_their_store() {
        let name = |path: &str| entry_of(path).unwrap().map(|entry| entry.name);
        assert_eq!(name("/data/a:b.tar"), None);
        assert_eq!(name("a:b.tar"), None);
        assert_eq!(name("dir/mem:x"), None);
        assert_eq!(name("file:///x"), Some("local"));
        assert_eq!(name("mem:x"), Some("memory"));
        assert!(REMOTE.iter().all(|scheme| name(&format!("{scheme}://x/y")).is_some()));
        assert_eq!(name("mem://x"), Some("memory"));
        let message = entry_of("s4://bucket/x").unwrap_err().to_string();
        assert!(message.contains("no store for `s4:`") && message.contains("file:, mem:, s3:"), "{message}");
        assert!(entry_of("filo://x").unwrap_err().to_string().contains("did you mean `file:`?"));
    }
}
