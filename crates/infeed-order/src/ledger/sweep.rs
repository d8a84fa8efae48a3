//! Sweeps once over all places, in order, and reports how often each stretch was delivered.

use super::cover::Band;
use std::{cmp::Reverse, collections::BinaryHeap, ops::Range};

/// Calls `found` for every stretch of `0..end` with the number of times it was delivered, in order. Adjacent
/// stretches have different counts. Holds one interval per band in memory.
pub(super) fn sweep(bands: Vec<Band>, end: u64, mut found: impl FnMut(Range<u64>, usize)) {
    let mut streams: Vec<Band> = bands;
    // The next interval of every band, and the ends of the current intervals.
    let mut coming: BinaryHeap<Reverse<(u64, u64, usize)>> = BinaryHeap::new();
    let mut inside: BinaryHeap<Reverse<u64>> = BinaryHeap::new();
    for (n, stream) in streams.iter_mut().enumerate() {
        coming.extend(stream.next().map(|i| Reverse((i.start, i.end, n))));
    }
    let mut stretch = (0..0, 0);
    let mut tell = |places: Range<u64>, times: usize| {
        let places = places.start.min(end)..places.end.min(end);
        if places.is_empty() {
            return;
        }
        if stretch.1 == times && stretch.0.end == places.start && !stretch.0.is_empty() {
            stretch.0.end = places.end;
        } else {
            let done = std::mem::replace(&mut stretch, (places, times));
            if !done.0.is_empty() {
                found(done.0, done.1);
            }
        }
    };
    let mut at = 0;
    loop {
        let begins = coming.peek().map(|Reverse((start, ..))| *start);
        let ends = inside.peek().map(|Reverse(end)| *end);
        let Some(next) = begins.into_iter().chain(ends).min() else { break };
        tell(at..next, inside.len());
        at = next;
        while inside.peek().is_some_and(|Reverse(end)| *end == next) {
            inside.pop();
        }
        while let Some(Reverse((start, end, n))) = coming.peek().copied()
            && start == next
        {
            coming.pop();
            inside.push(Reverse(end));
            coming.extend(streams[n].next().map(|i| Reverse((i.start, i.end, n))));
        }
    }
    tell(at..end.max(at), 0);
    if !stretch.0.is_empty() {
        found(stretch.0, stretch.1);
    }
}
