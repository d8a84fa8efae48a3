//! Merges corpora.

use super::{copy, wider};
use crate::{Drift, Read, TokenFile, TokenWriter};
use infeed_core::{Dtype, Error, Result, Store};
use serde::Serialize;
use std::sync::Arc;

/// The result of a merge.
#[derive(Debug, Clone, Serialize)]
pub struct Merged {
    /// The prefix that was written.
    pub prefix: String,
    /// Element type that was written.
    pub dtype: Dtype,
    /// Number of documents.
    pub documents: u64,
    /// Number of tokens.
    pub tokens: u64,
}

/// Writes all documents of several corpora, in order, as one. Elements get the narrowest type that holds those of all
/// corpora, or `dtype`, which must hold them too. Corpora are read from the store; `out` is a local path.
pub fn merge(
    store: &Arc<dyn Store>,
    prefixes: &[String],
    out: &str,
    raw: Option<Dtype>,
    dtype: Option<Dtype>,
    drift: Drift,
) -> Result<Merged> {
    let mut files = Vec::with_capacity(prefixes.len());
    for prefix in prefixes {
        let file = TokenFile::open(store, prefix, raw, Read::Map, drift)?;
        file.need_tokens()?;
        if crate::prefix_of(out) == file.name() {
            return Err(Error::argument(format!("`{out}` is one of the corpora to merge")));
        }
        files.push(file);
    }
    let Some(first) = files.first() else {
        return Err(Error::argument("there is nothing to merge"));
    };
    let mut needed = wider(first.dtype(), first.dtype());
    for file in &files {
        needed = needed.and_then(|needed| wider(needed, file.dtype()));
    }
    let types = || files.iter().map(|file| file.dtype().name()).collect::<Vec<_>>().join(", ");
    let Some(needed) = needed else {
        return Err(Error::argument(format!("no type of an index holds the tokens of all: {}", types())));
    };
    let dtype = dtype.unwrap_or(needed);
    if wider(dtype, needed) != Some(dtype) {
        return Err(Error::argument(format!("{dtype} does not hold the tokens of all: {}", types())));
    }
    let mut writer = TokenWriter::create(out, dtype)?;
    for file in &files {
        copy(file, 0..file.index().map_or(1, |index| index.documents()), dtype, &mut writer)?;
    }
    let (documents, tokens) = writer.finish()?;
    Ok(Merged { prefix: crate::prefix_of(out).to_owned(), dtype, documents, tokens })
}
