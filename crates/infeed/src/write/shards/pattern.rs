//! Shard names with a number in them.

use infeed_core::{Error, Result};

/// `head<number>tail`, the number padded with zeros.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pattern {
    head: String,
    width: usize,
    tail: String,
}

impl Pattern {
    /// Reads `train-%06d.tar`, `train-{:06}.tar`, `train-%d.tar` or `train-{}.tar`.
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

    /// The name of a shard.
    pub(super) fn name(&self, number: u64) -> String {
        format!("{}{number:0width$}{}", self.head, self.tail, width = self.width)
    }
}

/// Start, end and width of each place for a number.
fn places(text: &str) -> impl Iterator<Item = (usize, usize, usize)> + '_ {
    text.match_indices(['%', '{']).filter_map(|(start, mark)| {
        let (mark_end, close) = if mark == "%" { ("%", 'd') } else { ("{", '}') };
        let inside = text[start..].strip_prefix(mark_end)?;
        let end = inside.find(close)?;
        let spec = &inside[..end];
        let digits = if mark == "{" && !spec.is_empty() { spec.strip_prefix(':')? } else { spec };
        // Widths as anybody would write them: none, or with a zero in front.
        let width = match digits {
            "" => 0,
            _ => digits.strip_prefix('0')?.parse().ok().filter(|w| *w <= 20)?,
        };
        Some((start, start + 1 + end + 1, width))
    })
}
