//! Reads every token of a corpus and says what is wrong.

use super::Ahead;
use crate::{Drift, Read, TokenFile, element, sys};
use bytes::Bytes;
use infeed_core::{Dtype, Error, Result, Store};
use serde::Serialize;
use std::sync::Arc;

/// What reading everything found.
#[derive(Debug, Clone, Serialize)]
pub struct Verified {
    /// The prefix.
    pub prefix: String,
    /// Documents that were read.
    pub documents: u64,
    /// Tokens that were read.
    pub tokens: u64,
    /// The smallest and the largest id, where there are tokens.
    pub ids: Option<(i64, i64)>,
    /// Tokens that are not in the vocabulary, or negative.
    pub wrong_tokens: u64,
    /// What is wrong, in words; empty when all is well. Of wrong tokens the first few.
    pub faults: Vec<String>,
}

/// Wrong tokens that are named one by one.
const NAMED: usize = 10;
/// Bytes that are looked at in one go: they stay in the cache from one look to the next.
const BLOCK: usize = 1 << 17;

/// Checks an index entry by entry and every token against the vocabulary. Damage is told in the result; only what keeps
/// the files from being read at all is an error.
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
        // The index is at fault: there is nothing to go by.
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
