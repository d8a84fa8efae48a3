//! Determines which tokens continue the word of the previous token.

use std::collections::HashMap;

/// Returns one flag per token number. The convention depends on the vocabulary: `##ing` in WordPiece continues a
/// word; `Ġthe` in byte-level and `▁the` in SentencePiece vocabularies begin one.
pub(super) fn continues(vocab: &HashMap<String, u32>) -> Vec<bool> {
    let any = |prefix: &str| vocab.keys().any(|t| t.len() > prefix.len() && t.starts_with(prefix));
    let goes_on: fn(&str) -> bool = if any("##") {
        |token| token.starts_with("##")
    } else if any("Ġ") {
        byte_level
    } else if any("▁") {
        |token| token.chars().next().is_some_and(|c| c != '▁' && c.is_alphanumeric())
    } else {
        |_| false
    };
    let mut out = vec![false; vocab.values().max().map_or(0, |id| *id as usize + 1)];
    for (token, id) in vocab {
        out[*id as usize] = goes_on(token);
    }
    out
}

/// In a byte-level vocabulary, spaces and control characters are U+0100 to U+0120, and bytes of non-ASCII characters
/// are other non-ASCII characters.
fn byte_level(token: &str) -> bool {
    match token.chars().next() {
        Some('\u{100}'..='\u{120}') | None => false,
        Some(c) if c.is_ascii() => c.is_ascii_alphanumeric(),
        Some(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beginnings_are_told_apart() {
        let ask = |tokens: &[&str]| {
            continues(&tokens.iter().enumerate().map(|(n, t)| ((*t).to_owned(), n as u32)).collect())
        };
        assert_eq!(ask(&["the", "##ing", ",", "##"]), [false, true, false, true]);
        assert_eq!(ask(&["Ġthe", "ing", ",", "Ċ", "Ã©", "Ġ"]), [false, true, false, false, true, false]);
        assert_eq!(ask(&["▁the", "ing", ",", "▁"]), [false, true, false, false]);
        assert_eq!(ask(&["a", "b"]), [false, false]);
    }
}
