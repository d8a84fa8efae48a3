//! Describes a corpus.

use crate::{Drift, Read, TokenFile};
use infeed_core::{Dtype, Result, Store};
use serde::Serialize;
use std::sync::Arc;

/// Description of a corpus. In a file without an index, all tokens are one document.
#[derive(Debug, Clone, Serialize)]
pub struct Info {
    /// The prefix.
    pub prefix: String,
    /// `mmididx`, `tntidx` or `raw`.
    pub kind: &'static str,
    /// Element type.
    pub dtype: Dtype,
    /// Number of documents.
    pub documents: u64,
    /// Number of sequences.
    pub sequences: u64,
    /// Number of tokens.
    pub tokens: u64,
    /// Tokens of the shortest document.
    pub shortest: u64,
    /// Tokens of the median document by length.
    pub median: u64,
    /// Tokens of the longest document.
    pub longest: u64,
    /// Size of the `.bin` in bytes.
    pub bin_bytes: u64,
    /// Size of the `.idx` in bytes.
    pub idx_bytes: u64,
    /// Bytes of the `.bin` that the index does not count.
    pub uncounted_bytes: u64,
    /// Whether those are one token per document: `drift="repair"` reads such a corpus.
    pub drifts: bool,
}

/// Describes a corpus. Drift is reported, not rejected.
pub fn info(store: &Arc<dyn Store>, prefix: &str, raw: Option<Dtype>) -> Result<Info> {
    let file = TokenFile::open(store, prefix, raw, Read::Map, Drift::Ignore)?;
    let mut lengths: Vec<u64> = match file.index() {
        None => vec![file.tokens()],
        Some(index) => {
            let start = |document| index.document_start(document);
            (0..index.documents()).map(|d| start(d + 1) - start(d)).collect()
        }
    };
    let middle = lengths.len().saturating_sub(1) / 2;
    let median = if lengths.is_empty() { 0 } else { *lengths.select_nth_unstable(middle).1 };
    let index = file.index();
    let surplus = index.and_then(|index| index.surplus());
    Ok(Info {
        prefix: file.name().to_owned(),
        kind: index.map_or("raw", |index| if index.is_legacy() { "tntidx" } else { "mmididx" }),
        dtype: file.dtype(),
        documents: lengths.len() as u64,
        sequences: index.map_or(1, |index| index.sequences()),
        tokens: file.tokens(),
        shortest: lengths.iter().copied().min().unwrap_or(0),
        median,
        longest: lengths.iter().copied().max().unwrap_or(0),
        bin_bytes: file.bytes(),
        idx_bytes: index.map_or(0, |index| index.bytes()),
        uncounted_bytes: surplus.map_or(0, |s| s.bytes),
        drifts: surplus.is_some_and(|s| s.one_per_document),
    })
}
