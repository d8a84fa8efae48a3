//! Determines what the post-processor of a tokenizer puts around a text.

use tokenizers::Tokenizer;

/// Tokens before and after a text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Ends {
    pub(super) before: Vec<u32>,
    pub(super) after: Vec<u32>,
}

/// Probe texts: with any vocabulary, one of them has tokens.
const PROBES: [&str; 4] = ["a b", "the 1", "é", "中"];

/// Determines the tokens around a text by encoding probes. Returns `None` if the tokenizer does
/// anything else to the text.
pub(super) fn ends(tokenizer: &Tokenizer) -> Option<Ends> {
    let mut found: Option<Ends> = None;
    for probe in PROBES {
        let bare = tokenizer.encode_fast(probe, false).ok()?;
        let dressed = tokenizer.encode_fast(probe, true).ok()?;
        let (bare, all, mask) = (bare.get_ids(), dressed.get_ids(), dressed.get_special_tokens_mask());
        if bare.is_empty() {
            continue;
        }
        let start = mask.iter().position(|m| *m == 0)?;
        let ends = Ends { before: all[..start].to_vec(), after: all.get(start + bare.len()..)?.to_vec() };
        if all.get(start..start + bare.len())? != bare || found.as_ref().is_some_and(|f| *f != ends) {
            return None;
        }
        found = Some(ends);
    }
    found
}
