//! Announces the pieces that are read next, so that a device has many reads to do at once.
//!
//! A thread reads one piece after the other, and some threads keep a device far from busy. So whoever takes a piece first announces
//! the next ones, as far as a window of bytes reaches: the kernel then asks the device for them, and reading them is a copy. Batches
//! are planned so far ahead that the window is full, whatever their size. Where reads come from memory nothing is announced.

use super::{reader::guarded, state::State, threads::Shared};

/// Bytes of the pieces that are announced before they are read. What a device has under way is its latency times its rate: 4 MiB
/// for 1 ms and 4 GB/s. Twice as much and more, because pieces are announced while others are waited for.
pub(crate) const WINDOW: u64 = 32 << 20;
/// Most pieces that one thread announces before it reads: at the start the others have to read, too.
const AT_ONCE: usize = 4;

impl State {
    /// Takes the rows to announce before a piece is read: those of the next pieces that were not announced yet.
    pub(super) fn take_coming(&mut self) -> Vec<u64> {
        let mut rows = Vec::new();
        if !self.announces() {
            return rows;
        }
        let (mut bytes, mut pieces) = (0u64, 0);
        for piece in self.flights.iter_mut().flat_map(|flight| &mut flight.unread) {
            if bytes >= WINDOW || pieces == AT_ONCE {
                break;
            }
            bytes = bytes.saturating_add(piece.bytes);
            if !std::mem::replace(&mut piece.announced, true) {
                rows.extend_from_slice(&piece.rows);
                pieces += 1;
            }
        }
        rows
    }

    /// Whether there are pieces enough that no batch has to be planned for them: a window full where pieces are announced, else one.
    pub(super) fn has_enough_unread(&self) -> bool {
        let mut unread = self.flights.iter().flat_map(|flight| &flight.unread);
        if !self.announces() {
            return unread.next().is_some();
        }
        let mut bytes = 0u64;
        unread.any(|piece| {
            bytes = bytes.saturating_add(piece.bytes);
            bytes >= WINDOW
        })
    }
}

/// Announces rows that are read soon.
pub(super) fn announce(shared: &Shared, rows: &[u64]) {
    if rows.is_empty() {
        return;
    }
    // A hint: what goes wrong here goes wrong again, and is reported, when the rows are read.
    let _ = guarded(|| {
        let rows = shared.plan.not_kept(rows);
        shared.plan.source.will_fetch(&rows, &shared.plan.fields);
        Ok(())
    });
    shared.trace.pace.count_announced();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        engine::{
            Options,
            state::{Flight, Piece},
        },
        trace::Trace,
    };
    use std::{sync::Arc, time::Duration};

    /// Batches of so many pieces of one row, in a state where reads are slow until they were counted as fast.
    fn state(batches: u64, pieces: u64, bytes: u64, by_piece: bool) -> (State, Arc<Trace>) {
        let trace = Arc::new(Trace::default());
        let settled = Options::default().settle(8, 1, false).unwrap();
        let mut state = State::new(settled, batches, Arc::clone(&trace), by_piece);
        for number in 0..batches {
            let piece = |at: u64| {
                let rows = vec![number * pieces + at];
                Piece { flight: number, epoch: 0, places: vec![at as usize], rows, bytes, announced: false }
            };
            state.flights.push_back(Flight {
                number,
                unread: (0..pieces).map(piece).collect(),
                ..Flight::empty()
            });
            state.next += 1;
        }
        (state, trace)
    }

    #[test]
    fn every_piece_is_announced_once_and_before_it_is_read() {
        let (mut state, _) = state(10, 7, 1 << 20, true);
        let (mut announced, mut read, mut farthest) = (Vec::new(), Vec::new(), 0);
        while let Some((piece, coming)) = state.take_unread() {
            announced.extend(coming);
            assert!(announced.contains(&piece.rows[0]), "{piece:?} was read before it was announced");
            read.extend(piece.rows);
            farthest = farthest.max(announced.len() - read.len());
            state.ahead = 0;
        }
        assert_eq!(announced, (0..70).collect::<Vec<_>>());
        assert_eq!(read, announced);
        // The window counts the piece that is taken, which is read already here.
        assert_eq!(farthest as u64, (WINDOW >> 20) - 1, "the window reaches over the ends of batches");
    }

    #[test]
    fn a_thread_announces_a_few_pieces_at_once() {
        let (mut state, _) = state(1, 100, 1, true);
        assert_eq!(state.take_coming(), [0, 1, 2, 3]);
        assert_eq!(state.take_coming(), [4, 5, 6, 7]);
        // A piece that is larger than the window is announced alone.
        let (mut large, _) = self::state(1, 3, WINDOW * 3, true);
        assert_eq!(large.take_coming(), [0]);
        assert!(large.take_coming().is_empty());
    }

    #[test]
    fn what_is_in_memory_is_not_announced() {
        let (mut state, trace) = state(2, 4, 1000, true);
        assert!(!state.has_enough_unread(), "reads seem slow, and 8 KB are less than the window");
        (0..16).for_each(|_| trace.pace.count(100_000, 1, Duration::from_micros(10)));
        assert!(state.take_coming().is_empty());
        assert!(state.has_enough_unread(), "one piece is enough to do");
        let (mut other, _) = self::state(2, 4, 1000, false);
        assert!(other.take_coming().is_empty(), "this source announces by other means");
        assert!(other.has_enough_unread());
    }
}
