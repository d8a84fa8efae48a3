//! Whole documents put together so that rows are nearly full.
//!
//! A group of documents is packed at a time: the longest first, each into a row with room for it. Finding that row costs
//! the logarithm of their number, so a group may be large: the larger, the fuller the rows.

use super::Packed;
use std::collections::BTreeSet;

/// Which row a document goes into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FitKind {
    /// The oldest that has room.
    First,
    /// The fullest that has room.
    Best,
}

/// What is done with documents that are longer than a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Long {
    /// Cut into rows; what is left over goes on as a document.
    Split,
    /// Cut off.
    Truncate,
    /// Left out.
    Drop,
}

/// Packs groups of documents.
#[derive(Debug, Clone)]
pub struct Fit<T> {
    length: usize,
    kind: FitKind,
    long: Long,
    eod: Option<T>,
    pad: T,
    group: usize,
    /// The documents of the group, end to end, and where each ends.
    tokens: Vec<T>,
    ends: Vec<usize>,
    /// Number of the first document of the group.
    first: u64,
    dropped: u64,
}

/// A document or a part of one: its number in the group and its tokens.
#[derive(Debug, Clone, Copy)]
struct Item {
    document: usize,
    from: usize,
    len: usize,
}

impl<T: Copy> Fit<T> {
    /// Rows of `length` tokens, filled up with `pad`. `eod` is put behind every document. `group` documents are packed
    /// at a time.
    pub fn new(length: usize, kind: FitKind, long: Long, eod: Option<T>, pad: T, group: usize) -> Self {
        Fit {
            length: length.max(1),
            kind,
            long,
            eod,
            pad,
            group: group.max(1),
            tokens: vec![],
            ends: vec![],
            first: 0,
            dropped: 0,
        }
    }

    /// Number of the document that the next group begins with. A resumed packer is given the documents from there on.
    pub fn state(&self) -> u64 {
        self.first
    }

    /// Goes on from a group's beginning.
    pub fn resume(&mut self, first: u64) {
        self.tokens.clear();
        self.ends.clear();
        self.first = first;
    }

    /// How many documents were left out because they were too long.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Takes a document; when it completes a group, the rows of the group go to `out`.
    pub fn push(&mut self, document: &[T], out: &mut Vec<Packed<T>>) {
        self.tokens.extend_from_slice(document);
        self.tokens.extend(self.eod);
        self.ends.push(self.tokens.len());
        if self.ends.len() == self.group {
            self.finish(out);
        }
    }

    /// Packs what there is.
    pub fn finish(&mut self, out: &mut Vec<Packed<T>>) {
        let items = self.items();
        let lengths: Vec<usize> = items.iter().map(|i| i.len).collect();
        let places = match self.kind {
            FitKind::First => first_fit(&lengths, self.length),
            FitKind::Best => best_fit(&lengths, self.length),
        };
        let start = out.len();
        for (item, row) in items.iter().zip(places) {
            if out.len() <= start + row {
                out.push(Packed::new(self.length));
            }
            let tokens = self.tokens[item.from..item.from + item.len].iter().copied();
            out[start + row].add(self.first + item.document as u64, tokens);
        }
        for row in &mut out[start..] {
            row.pad(self.length, self.pad);
        }
        self.first += self.ends.len() as u64;
        self.tokens.clear();
        self.ends.clear();
    }

    /// What there is to pack, the longest first; of equals the first.
    fn items(&mut self) -> Vec<Item> {
        let mut items = Vec::with_capacity(self.ends.len());
        let mut from = 0;
        for (document, end) in self.ends.iter().enumerate() {
            let len = end - from;
            if len > self.length {
                match self.long {
                    Long::Split => {
                        let parts = (from..*end).step_by(self.length);
                        items.extend(parts.map(|at| Item {
                            document,
                            from: at,
                            len: self.length.min(end - at),
                        }));
                    }
                    Long::Truncate => items.push(Item { document, from, len: self.length }),
                    Long::Drop => self.dropped += 1,
                }
            } else if len > 0 {
                items.push(Item { document, from, len });
            }
            from = *end;
        }
        items.sort_by_key(|i| std::cmp::Reverse(i.len));
        items
    }
}

/// The row of each item: the first with room for it. A tree over the rows knows the most room below each of its nodes.
fn first_fit(lengths: &[usize], room: usize) -> Vec<usize> {
    let leaves = lengths.len().next_power_of_two();
    let mut tree = vec![room; 2 * leaves];
    let place = |len: &usize| {
        let mut at = 1;
        while at < leaves {
            at *= 2;
            at += usize::from(tree[at] < *len);
        }
        tree[at] -= *len;
        let row = at - leaves;
        while at > 1 {
            at /= 2;
            tree[at] = tree[2 * at].max(tree[2 * at + 1]);
        }
        row
    };
    lengths.iter().map(place).collect()
}

/// The row of each item: the one that has the least room left afterwards, the oldest of equals.
fn best_fit(lengths: &[usize], room: usize) -> Vec<usize> {
    let mut open: BTreeSet<(usize, usize)> = BTreeSet::new();
    let mut rows = 0;
    let place = |len: &usize| {
        let (left, row) = match open.range((*len, 0)..).next().copied() {
            Some(found) => {
                open.remove(&found);
                found
            }
            None => {
                rows += 1;
                (room, rows - 1)
            }
        };
        if left > *len {
            open.insert((left - len, row));
        }
        row
    };
    lengths.iter().map(place).collect()
}
