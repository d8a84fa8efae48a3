//! How the rows of a batch are cut into pieces.

use super::{
    reader::guarded,
    state::{Piece, Ready},
    threads::Shared,
};
use crate::read::Limits;
use std::collections::VecDeque;

/// Maximum bytes per piece: enough to make locks and wake-ups negligible, small enough to stay in a core's cache.
/// Batches that are small for the number of threads are cut finer, so that the threads share them evenly.
const PIECE_BYTES: u64 = 512 << 10;
/// On a network file system, rows that are far from each other are only read one after the other up to this size: each is a round
/// trip.
const APART_BYTES: u64 = 64 << 10;

/// Returns how many rows of a batch one worker gets at once.
pub(super) fn share(rows: usize, threads: usize) -> usize {
    (rows / (2 * threads)).clamp(1, 64)
}

/// What goes into one piece.
#[derive(Debug, Clone, Copy)]
struct Cut {
    /// Most rows for one worker.
    share: usize,
    network: bool,
}

impl Cut {
    /// Whether a row of so many bytes, the next that is wanted, is read with a piece.
    fn joins(self, piece: &Piece, row: u64, bytes: u64) -> bool {
        let all = piece.bytes.saturating_add(bytes);
        let small = all <= PIECE_BYTES && piece.rows.len() < self.share;
        if !self.network {
            return small;
        }
        // Rows between that nobody wants are about as large.
        let between = piece.rows.last().map_or(0, |last| row.saturating_sub(last.saturating_add(1)));
        if between.saturating_mul(bytes) <= Limits::NETWORK.gap {
            // One read for all of them. It is cut into shares afterwards.
            all <= Limits::NETWORK.most
        } else {
            small && all <= APART_BYTES
        }
    }
}

/// Cuts rows into pieces for reading, in ascending order so that neighbours are read together.
pub(super) fn pieces(shared: &Shared, rows: &[u64], flight: u64, epoch: u64) -> VecDeque<Piece> {
    let (plan, settled) = (&shared.plan, &shared.settled);
    let cut = Cut { share: share(rows.len(), settled.threads), network: settled.network };
    // A source that fails here fails again, with a name, when the row is read.
    let stored = |row| guarded(|| Ok(plan.source.row_bytes(row, &plan.fields))).unwrap_or(0);
    // Kept pixels can be larger than what they were decoded from.
    let kept = |row| plan.branch(row).kept.as_ref().map_or(0, |kept| kept.shelf.average());
    let bytes = |row| stored(row).max(kept(row));
    pieces_of(rows, cut, bytes, flight, epoch)
}

fn pieces_of(rows: &[u64], cut: Cut, bytes: impl Fn(u64) -> u64, flight: u64, epoch: u64) -> VecDeque<Piece> {
    let mut sorted: Vec<usize> = (0..rows.len()).collect();
    sorted.sort_unstable_by_key(|i| (rows[*i], *i));
    let mut unread: VecDeque<Piece> = VecDeque::new();
    for at in sorted {
        let bytes = bytes(rows[at]);
        match unread.back_mut() {
            Some(piece) if cut.joins(piece, rows[at], bytes) => {
                piece.places.push(at);
                piece.rows.push(rows[at]);
                piece.bytes += bytes;
            }
            _ => {
                let (places, rows) = (vec![at], vec![rows[at]]);
                unread.push_back(Piece { flight, epoch, places, rows, bytes, announced: false });
            }
        }
    }
    unread
}

/// Cuts rows into pieces for sources that write batches themselves, in batch order.
pub(super) fn spans(rows: &[u64], bytes: usize, flight: u64, epoch: u64) -> VecDeque<Piece> {
    let most = (PIECE_BYTES as usize / bytes).max(1);
    let span = |(number, rows): (usize, &[u64])| {
        let first = number * most;
        let places = (first..first + rows.len()).collect();
        let bytes = (rows.len() * bytes) as u64;
        Piece { flight, epoch, places, rows: rows.to_vec(), bytes, announced: false }
    };
    rows.chunks(most).enumerate().map(span).collect()
}

impl Ready {
    /// Cuts a piece that was read at once into shares of workers.
    pub(super) fn split(self, share: usize) -> Vec<Ready> {
        let Ready { mut piece, mut records } = self;
        let mut shares = Vec::new();
        while piece.rows.len() > share {
            let at = piece.rows.len() - share;
            let bytes = piece.bytes / piece.rows.len() as u64 * share as u64;
            piece.bytes -= bytes;
            let (places, rows) = (piece.places.split_off(at), piece.rows.split_off(at));
            let tail = Piece { places, rows, bytes, ..piece };
            shares.push(Ready { piece: tail, records: records.split_off(at) });
        }
        shares.push(Ready { piece, records });
        shares.reverse();
        shares
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::state::Fetched;
    use infeed_core::Record;

    fn cut(rows: &[u64], bytes: u64, network: bool) -> Vec<Vec<u64>> {
        let pieces = pieces_of(rows, Cut { share: 16, network }, |_| bytes, 0, 0);
        assert!(pieces.iter().all(|p| p.bytes == bytes * p.rows.len() as u64));
        pieces.into_iter().map(|piece| piece.rows).collect()
    }

    #[test]
    fn pieces_are_small_enough_to_be_shared() {
        assert_eq!(cut(&[3, 1, 900, 2], 200_000, false), [vec![1, 2], vec![3, 900]]);
        let many: Vec<u64> = (0..40).collect();
        assert_eq!(cut(&many, 10, false).iter().map(Vec::len).collect::<Vec<_>>(), [16, 16, 8]);
    }

    #[test]
    fn neighbours_on_a_network_file_system_are_one_read() {
        let many: Vec<u64> = (0..50).collect();
        assert_eq!(cut(&many, 100_000, true).iter().map(Vec::len).collect::<Vec<_>>(), [41, 9]);
        // Two rows between are less than what a round trip is worth, three are not.
        assert_eq!(cut(&[0, 3, 7], 100_000, true), [vec![0, 3], vec![7]]);
        // Small rows that are far away still share the cost of a piece.
        assert_eq!(cut(&[0, 10_000, 20_000], 1_000, true), [[0, 10_000, 20_000]]);
    }

    #[test]
    fn a_row_that_is_larger_than_any_piece_is_one() {
        for network in [false, true] {
            assert_eq!(cut(&[7, 8], u64::MAX / 2, network), [[7], [8]]);
        }
    }

    #[test]
    fn shares_are_the_piece() {
        let piece =
            pieces_of(&[5, 6, 7, 8, 9], Cut { share: 64, network: true }, |_| 11, 3, 1).pop_front().unwrap();
        let records = piece.rows.iter().map(|_| Ok(Fetched::Stored(Record::default(), None))).collect();
        let shares = Ready { piece, records }.split(2);
        let rows: Vec<&[u64]> = shares.iter().map(|ready| &*ready.piece.rows).collect();
        assert_eq!(rows, [&[5][..], &[6, 7], &[8, 9]]);
        assert_eq!(shares.iter().map(|ready| ready.piece.bytes).sum::<u64>(), 55);
        for Ready { piece, records } in &shares {
            assert_eq!((piece.flight, piece.epoch, piece.places.len()), (3, 1, records.len()));
            assert_eq!(piece.places.iter().map(|p| *p as u64 + 5).collect::<Vec<_>>(), piece.rows);
        }
    }
}
