//! Splits a corpus by documents.

use super::{Merged, copy};
use crate::{Drift, Read, TokenFile, TokenWriter};
use infeed_core::{Error, Result, Store};
use std::sync::Arc;

/// The sizes of the parts.
#[derive(Debug, Clone, PartialEq)]
pub enum Shares {
    /// This many parts with the same number of documents, to within one.
    Equal(u64),
    /// Parts in proportion to these numbers.
    By(Vec<f64>),
}

impl Shares {
    /// Returns the number of documents before the end of each part.
    fn ends(&self, documents: u64) -> Result<Vec<u64>> {
        match self {
            Shares::Equal(0) => Err(Error::argument("a corpus cannot be split into 0 parts")),
            Shares::Equal(n) if *n > documents => {
                Err(Error::argument(format!("{documents} documents cannot be split into {n} parts")))
            }
            Shares::Equal(n) => {
                let end = |part: u64| (u128::from(documents) * u128::from(part) / u128::from(*n)) as u64;
                Ok((1..=*n).map(end).collect())
            }
            Shares::By(shares) => {
                let sum: f64 = shares.iter().sum();
                if !(sum > 0.0 && sum.is_finite() && shares.iter().all(|s| *s >= 0.0)) {
                    return Err(Error::argument(
                        "shares must be numbers of at least 0 that add up to more than 0",
                    ));
                }
                let mut before = 0.0;
                let mut end = |share: &f64| {
                    before += share;
                    ((before / sum * documents as f64).round() as u64).min(documents)
                };
                let mut ends: Vec<u64> = shares.iter().map(&mut end).collect();
                // Whatever the rounding, every document is in a part.
                if let Some(last) = ends.last_mut() {
                    *last = documents;
                }
                Ok(ends)
            }
        }
    }
}

/// Writes the documents of a corpus, in order, as parts `OUT_00`, `OUT_01`, ..., which are local paths.
pub fn split(
    store: &Arc<dyn Store>,
    prefix: &str,
    out: &str,
    shares: &Shares,
    drift: Drift,
) -> Result<Vec<Merged>> {
    let file = TokenFile::open(store, prefix, None, Read::Map, drift)?;
    file.need_tokens()?;
    let Some(index) = file.index() else {
        return Err(Error::argument(format!(
            "`{prefix}` has no index, so there are no documents to split by"
        )));
    };
    let ends = shares.ends(index.documents())?;
    let digits = (ends.len() - 1).to_string().len().max(2);
    let mut parts = Vec::with_capacity(ends.len());
    let mut from = 0;
    for (part, to) in ends.into_iter().enumerate() {
        let name = format!("{out}_{part:0digits$}");
        let mut writer = TokenWriter::create(&name, file.dtype())?;
        copy(&file, from..to, file.dtype(), &mut writer)?;
        let (documents, tokens) = writer.finish()?;
        parts.push(Merged { prefix: name, dtype: file.dtype(), documents, tokens });
        from = to;
    }
    Ok(parts)
}
