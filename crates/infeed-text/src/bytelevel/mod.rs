//! A fast implementation of byte-level BPE, which most language models use.
//!
//! The library converts every word to a string of stand-in characters with alignments, looks up merges in nested
//! maps, and builds strings for each token. Here text stays bytes: a hand-written [`split`] finds the words, a
//! per-thread table caches known words ([`words`]), and the rest are merged as numbers ([`merge`]). The tokens are
//! identical to the library's. Anything this module does not support is left to the library.

mod added;
mod class;
mod file;
mod merge;
mod split;
mod words;

#[cfg(test)]
mod tests;

use added::{Added, Piece};
use class::Classes;
use merge::{Merger, Merges};
use split::Pattern;
use std::collections::HashMap;
use words::Words;

/// A byte-level BPE tokenizer, shared by all threads. Each thread has its own [`Memory`].
#[derive(Debug)]
pub(crate) struct ByteLevel {
    classes: Classes,
    pattern: Pattern,
    /// Whether a piece of text that does not start with a space gets one.
    prefix_space: bool,
    /// Whether there is a normaliser, which leaves ASCII unchanged.
    ascii_only: bool,
    /// The token of each byte.
    bytes: [u32; 256],
    merges: Merges,
    /// Words that are tokens by themselves, regardless of merges; empty unless the tokenizer ignores merges.
    whole: HashMap<Box<[u8]>, u32>,
    added: Added,
}

/// What a thread keeps between texts.
#[derive(Debug)]
pub(crate) struct Memory {
    words: Words,
    merger: Merger,
    prefixed: Vec<u8>,
    pieces: Vec<Piece>,
}

impl Memory {
    pub(crate) fn new() -> Self {
        Memory { words: Words::new(), merger: Merger::default(), prefixed: vec![], pieces: vec![] }
    }
}

impl ByteLevel {
    /// Appends the tokens of a text; returns `false` if only the library can handle it. May stop once
    /// there are `enough` tokens.
    pub(crate) fn encode(&self, text: &str, memory: &mut Memory, enough: usize, out: &mut Vec<u32>) -> bool {
        if self.ascii_only && !text.is_ascii() {
            return false;
        }
        let mut pieces = std::mem::take(&mut memory.pieces);
        let known = self.added.cut(text, &mut pieces);
        if known {
            for piece in &pieces {
                match piece {
                    Piece::Token(token) => out.push(*token),
                    Piece::Text(range) => {
                        self.piece(text[range.clone()].as_bytes(), memory, enough, out);
                    }
                }
                if out.len() >= enough {
                    break;
                }
            }
        }
        memory.pieces = pieces;
        known
    }

    fn piece(&self, text: &[u8], memory: &mut Memory, enough: usize, out: &mut Vec<u32>) {
        if !self.prefix_space || text.first() == Some(&b' ') {
            return self.words(text, memory, enough, out);
        }
        let mut prefixed = std::mem::take(&mut memory.prefixed);
        prefixed.clear();
        prefixed.push(b' ');
        prefixed.extend_from_slice(text);
        self.words(&prefixed, memory, enough, out);
        memory.prefixed = prefixed;
    }

    fn words(&self, text: &[u8], memory: &mut Memory, enough: usize, out: &mut Vec<u32>) {
        match self.pattern {
            Pattern::Gpt2 => self.each(text, memory, enough, out, |at| split::gpt2(&self.classes, text, at)),
            Pattern::Cl100k { digits } => {
                self.each(text, memory, enough, out, |at| split::cl100k(&self.classes, text, at, digits))
            }
        }
    }

    #[inline(always)]
    fn each(
        &self,
        text: &[u8],
        memory: &mut Memory,
        enough: usize,
        out: &mut Vec<u32>,
        next: impl Fn(usize) -> usize,
    ) {
        let mut at = 0;
        while at < text.len() && out.len() < enough {
            let end = next(at);
            if !memory.words.look(text, at, end, out) {
                self.word(text, at, end, memory, out);
            }
            at = end;
        }
    }

    /// Tokenises and caches a word that is not in the cache.
    #[inline(never)]
    fn word(&self, text: &[u8], from: usize, to: usize, memory: &mut Memory, out: &mut Vec<u32>) {
        let whole = self.whole.get(&text[from..to]).map(|token| [*token]);
        let tokens = match &whole {
            Some(token) => token.as_slice(),
            None => {
                memory.merger.merge(&self.merges, text[from..to].iter().map(|b| self.bytes[usize::from(*b)]))
            }
        };
        memory.words.keep(text, from, to, tokens);
        out.extend_from_slice(tokens);
    }
}
