//! Turns documents into sequences.

use super::{fit::fit as bins_of, settings::Settings};
use crate::recipe::{Long, PackMode, Rest};
use std::collections::VecDeque;

/// One sequence: its tokens, at most the requested length, and where its documents end.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Sequence {
    /// The tokens. With labels and documents laid end to end, one more than the length.
    pub(super) tokens: Vec<i64>,
    /// The end of each document in it.
    pub(super) ends: Vec<usize>,
}

/// Where a sequence begins within a group of documents: a document and a token in it, or the number of a sequence.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Spot {
    /// The place of the group.
    pub(super) place: u64,
    pub(super) skip: u64,
    pub(super) offset: u64,
}

/// A part of a document in the buffer.
#[derive(Debug)]
struct Span {
    spot: Spot,
    len: usize,
}

/// Documents laid end to end, to be cut into sequences.
#[derive(Debug, Default)]
pub(super) struct Tape {
    tokens: Vec<i64>,
    head: usize,
    spans: VecDeque<Span>,
}

impl Tape {
    /// Appends a document, or the rest of one.
    pub(super) fn push(&mut self, document: &[i64], spot: Spot) {
        if document.is_empty() {
            return;
        }
        // Used tokens are in front; they are dropped when they outnumber the rest.
        if self.head > self.tokens.len() / 2 {
            self.tokens.drain(..self.head);
            self.head = 0;
        }
        self.tokens.extend_from_slice(document);
        self.spans.push_back(Span { spot, len: document.len() });
    }

    /// Returns the next sequence and where it begins, if there are enough tokens; at the end of an epoch the rest, if
    /// that is wanted.
    pub(super) fn pop(&mut self, settings: &Settings, over: bool) -> Option<(Spot, Sequence)> {
        let (reach, stride) = settings.reach();
        let left = self.tokens.len() - self.head;
        let least = if over && settings.rest == Rest::Pad { reach - stride + 1 } else { reach };
        if left < least {
            return None;
        }
        let spot = self.spans.front()?.spot;
        let tokens = self.tokens[self.head..self.head + reach.min(left)].to_vec();
        let inside = stride.min(left);
        let (mut ends, mut at) = (vec![], 0);
        for span in &self.spans {
            at += span.len;
            ends.push(at.min(inside));
            if at >= inside {
                break;
            }
        }
        self.drop_front(inside);
        Some((spot, Sequence { tokens, ends }))
    }

    fn drop_front(&mut self, mut count: usize) {
        self.head += count;
        while let Some(front) = self.spans.front_mut() {
            if front.len > count {
                front.len -= count;
                front.spot.offset += count as u64;
                return;
            }
            count -= front.len;
            self.spans.pop_front();
        }
    }
}

/// Packs whole documents into few sequences, by first fit or best fit. The order of the sequences follows their first
/// document.
pub(super) fn fit(settings: &Settings, documents: &[Vec<i64>]) -> Vec<Sequence> {
    let length = settings.length;
    let mut pieces: Vec<&[i64]> = vec![];
    for document in documents.iter().filter(|d| !d.is_empty()) {
        match settings.long {
            _ if document.len() <= length => pieces.push(document),
            Long::Split => pieces.extend(document.chunks(length)),
            Long::Truncate => pieces.push(&document[..length]),
            Long::Drop => {}
        }
    }
    let lengths: Vec<usize> = pieces.iter().map(|p| p.len()).collect();
    let best = settings.mode == PackMode::BestFit;
    let mut bins = bins_of(&lengths, length, best);
    bins.sort_by_key(|bin| bin.first().copied());
    bins.into_iter()
        .map(|bin| {
            let mut out = Sequence::default();
            for piece in bin {
                out.tokens.extend_from_slice(pieces[piece]);
                out.ends.push(out.tokens.len());
            }
            out
        })
        .collect()
}

/// Returns the windows of one document, from a token on.
pub(super) fn windows(settings: &Settings, document: &[i64], from: usize) -> Vec<(u64, Sequence)> {
    let mut out = vec![];
    let mut at = from;
    while at < document.len() {
        let end = (at + settings.length).min(document.len());
        if end - at == settings.length || settings.rest == Rest::Pad {
            out.push((at as u64, Sequence { tokens: document[at..end].to_vec(), ends: vec![end - at] }));
        }
        if end == document.len() {
            break;
        }
        at += settings.stride;
    }
    out
}
