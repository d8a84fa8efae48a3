//! Reads every token of a corpus and reports what is wrong.

use super::Ahead;
use crate::{Drift, Read, TokenFile, element, sys};
use bytes::Bytes;
use infeed_core::{Dtype, Error, Result, Store};
use serde::Serialize;
use std::sync::Arc;

/// The result of a verification.
#[derive(Debug, Clone, Serialize)]
pub struct Verified {
    /// The prefix.
    pub prefix: String,
    /// Number of documents read.
    pub documents: u64,
    /// Number of tokens read.
    pub tokens: u64,
    /// The smallest and largest id, if there are tokens.
    pub ids: Option<(i64, i64)>,
    /// Number of tokens that are negative or not in the vocabulary.
    pub wrong_tokens: u64,
    /// Descriptions of the faults; empty if there are none. Only the first few wrong tokens are listed.
    pub faults: Vec<String>,
}

/// How many wrong tokens are listed individually.
const NAMED: usize = 10;
/// Bytes examined at a time, so that they stay in the cache between passes.
const BLOCK: usize = 1 << 17;

/// Checks every entry of an index, and every token against the vocabulary. Damage is reported in the result; only
/// unreadable files are an error.
pub fn verify(
    store: &Arc<dyn Store>,
    prefix: &str,
    raw: Option<Dtype>,
    vocab: Option<u64>,
    drift: Drift,
) -> Result<Verified> {
    let mut found = Verified {
        prefix: prefix.to_owned(),
        documents: 0,
        tokens: 0,
        ids: None,
        wrong_tokens: 0,
        faults: vec![],
    };
    let file = match TokenFile::open(store, prefix, raw, Read::Map, drift) {
        Ok(file) => file,
        // The index is invalid: nothing else can be checked.
        Err(e @ Error::Format { .. }) => {
            found.faults.push(e.to_string());
            return Ok(found);
        }
        Err(e) => return Err(e),
    };
    found.prefix = file.name().to_owned();
    found.documents = file.index().map_or(1, |index| index.documents());
    if let Err(e) = file.need_tokens() {
        found.faults.push(e.to_string());
        return Ok(found);
    }
    let mut runs = Vec::new();
    file.runs(0, 0..file.tokens(), &mut runs);
    let (_, most) = element::range(file.dtype());
    let limit = vocab.map_or(most, |vocab| most.min(i128::from(vocab) - 1)) as u64;
    let size = file.dtype().size();
    let (mut scratch, mut ahead) = (Bytes::new(), Ahead::default());
    for run in runs {
        let bytes = run.tokens * size as u64;
        let mut at = 0;
        while at < bytes {
            let len = (bytes - at).min(BLOCK as u64) as usize;
            ahead.reach(file.data(), run.byte + at);
            let block = file.data().get(run.byte + at, len, &mut scratch)?;
            look(&file, block, run.byte + at, limit, &mut found);
            at += len as u64;
        }
    }
    Ok(found)
}

fn look(file: &TokenFile, block: &[u8], byte: u64, limit: u64, found: &mut Verified) {
    let (dtype, size) = (file.dtype(), file.dtype().size());
    found.tokens += (block.len() / size) as u64;
    let ids = block.chunks_exact(size).map(|b| element::read(dtype, b));
    let range = ids.fold(found.ids, |range, id| {
        let (least, most) = range.unwrap_or((id, id));
        Some((id.min(least), id.max(most)))
    });
    found.ids = range;
    if sys::largest(dtype, block) <= limit {
        return;
    }
    for (place, bytes) in block.chunks_exact(size).enumerate() {
        if sys::largest(dtype, bytes) > limit {
            found.wrong_tokens += 1;
            if found.faults.len() < NAMED {
                let (token, id) = (file.token_at(byte) + place as u64, element::read(dtype, bytes));
                found.faults.push(format!("token {token} has the id {id}; ids go from 0 to {limit}"));
            }
        }
    }
}
