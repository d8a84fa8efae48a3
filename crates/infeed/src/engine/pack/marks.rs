//! Marks: where in the documents sequences begin.

use infeed_core::Hold;
use std::{collections::VecDeque, sync::Mutex};

/// Where a sequence begins.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Mark {
    /// The epoch.
    pub(super) epoch: u64,
    /// The number of the sequence.
    pub(super) row: u64,
    /// The place of the first documents to read.
    pub(super) place: u64,
    /// How many pieces from there belong to earlier sequences: documents, or sequences of a group.
    pub(super) skip: u64,
    /// How many tokens of the next piece do.
    pub(super) offset: u64,
}

impl Mark {
    /// Formats the mark for a checkpoint.
    pub(super) fn print(&self) -> String {
        let Mark { epoch, row, place, skip, offset } = self;
        format!("pack {epoch} {row} {place} {skip} {offset}")
    }

    /// Parses a mark. Returns `None` for anything else: the epoch is then read from its start.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut numbers = text.strip_prefix("pack ")?.split(' ').map(|n| n.parse::<u64>().ok());
        let mut next = || numbers.next().flatten();
        Some(Mark { epoch: next()?, row: next()?, place: next()?, skip: next()?, offset: next()? })
    }
}

/// Marks that are kept: more than any consumer lags behind.
const KEPT: usize = 1 << 16;

/// The marks of the most recent sequences.
#[derive(Debug, Default)]
pub(super) struct Marks(Mutex<VecDeque<Mark>>);

impl Marks {
    /// Records where a sequence begins.
    pub(super) fn add(&self, mark: Mark) {
        let mut marks = self.0.hold();
        // A flow that starts again produces the same marks again.
        if marks.back().is_some_and(|last| (last.epoch, last.row) >= (mark.epoch, mark.row)) {
            marks.retain(|m| (m.epoch, m.row) < (mark.epoch, mark.row));
        }
        if marks.len() == KEPT {
            marks.pop_front();
        }
        marks.push_back(mark);
    }

    /// Returns the last mark at or before a sequence.
    pub(super) fn before(&self, epoch: u64, row: u64) -> Option<Mark> {
        let marks = self.0.hold();
        let at = marks.partition_point(|m| (m.epoch, m.row) <= (epoch, row)).checked_sub(1)?;
        marks.get(at).copied().filter(|m| m.epoch == epoch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_come_back() {
        let marks = Marks::default();
        let mark = |epoch, row| Mark { epoch, row, place: 10 * row, skip: 1, offset: 2 };
        (3..9).for_each(|row| marks.add(mark(0, row)));
        marks.add(mark(1, 0));
        assert_eq!(marks.before(0, 5), Some(mark(0, 5)));
        assert_eq!(marks.before(0, 100), Some(mark(0, 8)));
        assert_eq!((marks.before(0, 2), marks.before(2, 0)), (None, None));
        assert_eq!(Mark::parse(&mark(1, 7).print()), Some(mark(1, 7)));
        assert_eq!(Mark::parse("pack 1 2 x"), None);
        marks.add(mark(0, 5));
        assert_eq!((marks.before(0, 9), marks.before(1, 3)), (Some(mark(0, 5)), None));
    }
}
