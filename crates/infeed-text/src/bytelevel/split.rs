//! Splits text into words: hand-written matchers for the patterns of byte-level tokenizers.
//!
//! A pattern is a list of alternatives that are tried in order at every position. Comments name the alternative that
//! a branch implements. Together they cover any text, so words follow each other without gaps.

use super::class::{Classes, LETTER, NUMBER, OTHER, SPACE};

/// A supported pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pattern {
    /// The pattern of GPT-2; also used by RoBERTa, BART, Falcon, OPT, GPT-NeoX, Pythia, OLMo.
    Gpt2,
    /// The pattern of cl100k: Llama 3 (numbers of up to three digits), Qwen 2 (single digits).
    Cl100k {
        /// Maximum digits per word.
        digits: usize,
    },
}

/// Regular expressions and their patterns.
const SPELLINGS: [(&str, Pattern); 3] = [
    (r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+", Pattern::Gpt2),
    (
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
        Pattern::Cl100k { digits: 3 },
    ),
    (
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
        Pattern::Cl100k { digits: 1 },
    ),
];

impl Pattern {
    /// Returns the pattern for this regular expression, if supported.
    pub(super) fn spelled(regex: &str) -> Option<Pattern> {
        SPELLINGS.iter().find(|(text, _)| *text == regex).map(|(_, pattern)| *pattern)
    }
}

/// Returns the end of the word that starts at `at`, in GPT-2's pattern. `at` must be before the end of the text.
#[inline(always)]
pub(super) fn gpt2(classes: &Classes, text: &[u8], at: usize) -> usize {
    let first = text[at];
    if first == b'\''
        && let Some(len) = contraction(text, at, false)
    {
        return at + len;
    }
    let Some((class, len)) = classes.at(text, at) else { return text.len() };
    if class != SPACE {
        return classes.run(text, at + len, class);
    }
    if first == b' '
        && let Some((next, len)) = classes.at(text, at + 1)
        && next != SPACE
    {
        return classes.run(text, at + 1 + len, next);
    }
    blank(classes, text, at, len).1
}

/// Like [`gpt2`], for the pattern of cl100k.
#[inline(always)]
pub(super) fn cl100k(classes: &Classes, text: &[u8], at: usize, digits: usize) -> usize {
    let first = text[at];
    if first == b'\''
        && let Some(len) = contraction(text, at, true)
    {
        return at + len;
    }
    let Some((class, len)) = classes.at(text, at) else { return text.len() };
    let is_break = |byte: u8| byte == b'\r' || byte == b'\n';
    match class {
        LETTER => return classes.run(text, at + len, LETTER),
        // \p{N}{1,n}
        NUMBER => {
            let mut end = at + len;
            for _ in 1..digits {
                match classes.at(text, end) {
                    Some((NUMBER, len)) => end += len,
                    _ => break,
                }
            }
            return end;
        }
        _ => {}
    }
    let next = classes.at(text, at + len);
    // [^\r\n\p{L}\p{N}]?\p{L}+
    if !is_break(first)
        && let Some((LETTER, more)) = next
    {
        return classes.run(text, at + len + more, LETTER);
    }
    //  ?[^\s\p{L}\p{N}]+[\r\n]*
    if class == OTHER || (first == b' ' && matches!(next, Some((OTHER, _)))) {
        let mut end = classes.run(text, at + len, OTHER);
        while text.get(end).is_some_and(|b| is_break(*b)) {
            end += 1;
        }
        return end;
    }
    // \s*[\r\n]+ takes whitespace up to and including its last line break.
    let (end, kept) = blank(classes, text, at, len);
    match text[at..end].iter().rposition(|b| is_break(*b)) {
        Some(last) => at + last + 1,
        None => kept,
    }
}

/// Scans whitespace from `at` on, its first character of `len` bytes. Returns where it ends, and where the word ends
/// that it forms by `\s+(?!\S)|\s+`. Of several whitespace characters the last is left for the following word.
fn blank(classes: &Classes, text: &[u8], at: usize, len: usize) -> (usize, usize) {
    let (mut end, mut last) = (at + len, at);
    while let Some((SPACE, len)) = classes.at(text, end) {
        last = end;
        end += len;
    }
    (end, if end == text.len() || last == at { end } else { last })
}

/// Returns the length of `'s`, `'t`, `'re`, `'ve`, `'m`, `'ll` or `'d`.
fn contraction(text: &[u8], at: usize, any_case: bool) -> Option<usize> {
    let letter = |n: usize| {
        let byte = text.get(at + n).copied().unwrap_or(0);
        if any_case { byte.to_ascii_lowercase() } else { byte }
    };
    match (letter(1), letter(2)) {
        (b's' | b't' | b'm' | b'd', _) => Some(2),
        (b'r' | b'v', b'e') | (b'l', b'l') => Some(3),
        // The long s (U+017F) matches s case-insensitively.
        (0xc5, 0xbf) if any_case => Some(3),
        _ => None,
    }
}
