//! Character classes as used by the patterns of byte-level tokenizers.

use regex_syntax::hir::{Class, HirKind};
use std::sync::LazyLock;

/// None of the others: punctuation, symbols, marks, unassigned.
pub(super) const OTHER: u8 = 0;
/// `\p{L}`.
pub(super) const LETTER: u8 = 1;
/// `\p{N}`.
pub(super) const NUMBER: u8 = 2;
/// `\s`.
pub(super) const SPACE: u8 = 3;

/// The classes of all characters, by code point. Built from the tables that the tokenizers library matches with, so
/// that both agree on every character in any version of Unicode.
static CLASSES: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let mut table = vec![OTHER; 0x11_0000];
    for (pattern, class) in [(r"\p{L}", LETTER), (r"\p{N}", NUMBER), (r"\s", SPACE)] {
        let parsed = regex_syntax::parse(pattern).map(regex_syntax::hir::Hir::into_kind);
        if let Ok(HirKind::Class(Class::Unicode(set))) = parsed {
            for range in set.ranges() {
                table[range.start() as usize..=range.end() as usize].fill(class);
            }
        }
    }
    table
});

/// Classifies characters.
#[derive(Debug, Clone, Copy)]
pub(super) struct Classes {
    ascii: [u8; 128],
    all: &'static [u8],
}

impl Classes {
    pub(super) fn new() -> Self {
        let all: &'static [u8] = &CLASSES;
        let mut ascii = [OTHER; 128];
        ascii.copy_from_slice(&all[..128]);
        Classes { ascii, all }
    }

    /// Returns class and length of the character whose first byte is at `at`, or `None` at the end.
    #[inline(always)]
    pub(super) fn at(&self, text: &[u8], at: usize) -> Option<(u8, usize)> {
        let first = *text.get(at)?;
        if first < 128 {
            return Some((self.ascii[first as usize & 127], 1));
        }
        let (code, len) = decode(text, at, first);
        Some((self.all.get(code).copied().unwrap_or(OTHER), len))
    }

    /// Returns the end of the run of characters of this class.
    #[inline(always)]
    pub(super) fn run(&self, text: &[u8], mut at: usize, class: u8) -> usize {
        while let Some((found, len)) = self.at(text, at) {
            if found != class {
                break;
            }
            at += len;
        }
        at
    }
}

/// Decodes code point and length of a multi-byte character. The text must be valid UTF-8.
fn decode(text: &[u8], at: usize, first: u8) -> (usize, usize) {
    let next = |n: usize| usize::from(text.get(at + n).copied().unwrap_or(0) & 0x3f);
    let first = usize::from(first);
    match first {
        0xf0.. => ((first & 7) << 18 | next(1) << 12 | next(2) << 6 | next(3), 4),
        0xe0.. => ((first & 15) << 12 | next(1) << 6 | next(2), 3),
        _ => ((first & 31) << 6 | next(1), 2),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_character_is_read_back() {
        let classes = Classes::new();
        let mut buffer = [0; 4];
        for c in (0..=0x10_ffff).filter_map(char::from_u32) {
            let text = c.encode_utf8(&mut buffer).as_bytes();
            let (class, len) = classes.at(text, 0).unwrap();
            assert_eq!((len, class), (c.len_utf8(), CLASSES[c as usize]), "{c:?}");
            assert_eq!(class == SPACE, c.is_whitespace(), "{c:?}");
            assert!(class != LETTER || c.is_alphabetic(), "{c:?}");
        }
        assert_eq!(classes.at(b"", 0), None);
        let kinds: Vec<u8> = "aé中5½ \u{a0}\u{301}!".chars().map(|c| CLASSES[c as usize]).collect();
        assert_eq!(kinds, [LETTER, LETTER, LETTER, NUMBER, NUMBER, SPACE, SPACE, OTHER, OTHER]);
    }
}
