//! Coalesces many small ranges into few large reads.

use bytes::Bytes;
use infeed_core::{Error, Result};
use std::ops::Range;

/// Limits of coalescing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Ranges with at most this many bytes between them are read together; the bytes between are discarded.
    pub gap: u64,
    /// Joining ranges makes no read larger than this. Its memory lives as long as any slice of it.
    pub most: u64,
}

impl Limits {
    /// For network file systems: a round trip takes as long as some hundred kilobytes, and their servers read large pieces best.
    pub const NETWORK: Limits = Limits { gap: 256 << 10, most: 4 << 20 };
}

impl Default for Limits {
    fn default() -> Self {
        // A read costs about as much as copying 10 KB from the page cache, and far more on a disk. Joined reads of 1
        // MiB are large enough for any disk and small enough for the CPU cache.
        Limits { gap: 16 << 10, most: 1 << 20 }
    }
}

/// The location of a requested range in the reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Which read.
    pub read: usize,
    /// The first byte inside it.
    pub start: usize,
    /// How many bytes.
    pub len: usize,
}

/// What to read, and where the requested ranges are in it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan {
    /// The reads, in the order of their first byte.
    pub reads: Vec<Range<u64>>,
    /// One place per requested range, in the same order; `None` for an empty range.
    pub places: Vec<Option<Place>>,
}

impl Plan {
    /// Slices the bytes of [`Plan::reads`] into the requested ranges, without copying.
    pub fn cut(&self, read: &[Bytes]) -> Result<Vec<Bytes>> {
        let piece = |place: &Option<Place>| match place {
            None => Some(Bytes::new()),
            Some(Place { read: which, start, len }) => {
                let bytes = read.get(*which)?;
                (start + len <= bytes.len()).then(|| bytes.slice(*start..start + len))
            }
        };
        self.places.iter().map(piece).collect::<Option<_>>().ok_or_else(|| Error::Internal {
            what: "a store gave fewer bytes than were asked for".to_owned(),
        })
    }
}

/// Plans the reads for these ranges. They may be in any order, overlap, repeat or be empty.
pub fn coalesce(ranges: &[Range<u64>], limits: Limits) -> Plan {
    let mut order: Vec<usize> = (0..ranges.len()).filter(|i| !ranges[*i].is_empty()).collect();
    // Sorted rows are the common case, and checking is cheaper than sorting.
    if !order.is_sorted_by_key(|i| ranges[*i].start) {
        order.sort_unstable_by_key(|i| (ranges[*i].start, *i));
    }
    let mut plan = Plan { reads: Vec::new(), places: vec![None; ranges.len()] };
    for i in order {
        let range = &ranges[i];
        let read = match plan.reads.last_mut() {
            Some(last) if joins(last, range, limits) => {
                last.end = last.end.max(range.end);
                last.start
            }
            _ => {
                plan.reads.push(range.clone());
                range.start
            }
        };
        plan.places[i] = Some(Place {
            read: plan.reads.len() - 1,
            start: (range.start - read) as usize,
            len: (range.end - range.start) as usize,
        });
    }
    plan
}

/// Whether `range`, which starts no earlier than `read`, is joined to it.
fn joins(read: &Range<u64>, range: &Range<u64>, limits: Limits) -> bool {
    let inside = range.end <= read.end;
    let near = range.start.saturating_sub(read.end) <= limits.gap;
    inside || (near && range.end - read.start <= limits.most)
}

#[cfg(test)]
mod tests;
