//! Added tokens: they are found in the text before it is split into words.

use aho_corasick::{AhoCorasick, MatchKind};
use std::ops::Range;
use tokenizers::AddedToken;

/// A part of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece {
    /// An added token.
    Token(u32),
    /// Text between them.
    Text(Range<usize>),
}

/// The added tokens of a tokenizer.
#[derive(Debug)]
pub(super) struct Added {
    /// First the tokens that are searched for in the raw text, then those searched for in the text between them.
    rounds: Vec<(AhoCorasick, Vec<AddedKind>)>,
}

#[derive(Debug, Clone, Copy)]
enum AddedKind {
    Plain(u32),
    /// Strips adjacent whitespace, or must be a single word: left to the library.
    Odd,
}

impl Added {
    /// Returns `None` if the patterns cannot be compiled.
    pub(super) fn new(mut tokens: Vec<(u32, AddedToken)>) -> Option<Self> {
        tokens.sort_by_key(|(id, _)| *id);
        let mut rounds = vec![];
        for normalized in [false, true] {
            let (mut texts, mut kinds) = (vec![], vec![]);
            for (id, token) in tokens.iter().filter(|(_, t)| t.normalized == normalized) {
                let odd = token.single_word || token.lstrip || token.rstrip;
                texts.push(token.content.as_str());
                kinds.push(if odd { AddedKind::Odd } else { AddedKind::Plain(*id) });
            }
            if !texts.is_empty() {
                let search =
                    AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(&texts).ok()?;
                rounds.push((search, kinds));
            }
        }
        Some(Added { rounds })
    }

    /// Cuts a text at the added tokens; returns `false` if there is one that only the library can handle.
    pub(super) fn cut(&self, text: &str, out: &mut Vec<Piece>) -> bool {
        out.clear();
        if !text.is_empty() {
            out.push(Piece::Text(0..text.len()));
        }
        for (search, kinds) in &self.rounds {
            // Nearly all texts have none, so nothing is moved.
            if !out.iter().any(|p| matches!(p, Piece::Text(range) if search.is_match(&text[range.clone()]))) {
                continue;
            }
            for piece in std::mem::take(out) {
                let Piece::Text(range) = piece else {
                    out.push(piece);
                    continue;
                };
                let mut from = range.start;
                for found in search.find_iter(&text[range.clone()]) {
                    let Some(AddedKind::Plain(id)) = kinds.get(found.pattern().as_usize()) else {
                        return false;
                    };
                    let start = range.start + found.start();
                    if from < start {
                        out.push(Piece::Text(from..start));
                    }
                    out.push(Piece::Token(*id));
                    from = range.start + found.end();
                }
                if from < range.end {
                    out.push(Piece::Text(from..range.end));
                }
            }
        }
        true
    }
}
