//! Shard names with a number.

use infeed_core::{Error, Result};

/// `head<number>tail`, with the number zero-padded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pattern {
    head: String,
    width: usize,
    tail: String,
}

impl Pattern {
    /// Parses `train-%06d.tar`, `train-{:06}.tar`, `train-%d.tar` or `train-{}.tar`.
    pub(super) fn parse(text: &str) -> Result<Self> {
        let mut found = places(text);
        match (found.next(), found.next()) {
            (Some((start, end, width)), None) => {
                Ok(Pattern { head: text[..start].to_owned(), width, tail: text[end..].to_owned() })
            }
            (first, _) => {
                let count = if first.is_none() { "no" } else { "more than one" };
                Err(Error::argument(format!(
                    "the pattern `{text}` has {count} place for the shard's number; write one, like `train-%06d.tar`"
                )))
            }
        }
    }

    /// Returns the name of a shard.
    pub(super) fn name(&self, number: u64) -> String {
        format!("{}{number:0width$}{}", self.head, self.tail, width = self.width)
    }
}

/// Returns start, end and width of each placeholder.
fn places(text: &str) -> impl Iterator<Item = (usize, usize, usize)> + '_ {
    text.match_indices(['%', '{']).filter_map(|(start, mark)| {
        let (mark_end, close) = if mark == "%" { ("%", 'd') } else { ("{", '}') };
        let inside = text[start..].strip_prefix(mark_end)?;
        let end = inside.find(close)?;
        let spec = &inside[..end];
        let digits = if mark == "{" && !spec.is_empty() { spec.strip_prefix(':')? } else { spec };
        // The usual ways to write a width: none, or with a leading zero.
        let width = match digits {
            "" => 0,
            _ => digits.strip_prefix('0')?.parse().ok().filter(|w| *w <= 20)?,
        };
        Some((start, start + 1 + end + 1, width))
    })
}
