//! Slabs: boxes of an array, and how they are read.
//!
//! *Which bytes* is apart from *bytes to arrays*. [`Reader::plan`] says which objects, or which ranges of them, a slab needs and does
//! not read; whoever reads may join ranges, fetch them ahead, or keep them. [`Reader::place`] takes the bytes of one piece, undoes
//! its codecs and writes its elements where they belong, in this machine's byte order. Pieces do not depend on each other, so
//! threads may share them; [`Reader::bands`] cuts a slab so that every part has its own part of the output.
//!
//! Chunks of shards are found by the shard's index. [`Reader::needs`] says which indices a slab needs and nobody has given yet,
//! [`Reader::learn`] takes them; they are kept until [`Reader::forget`].

mod copy;
mod index;
mod plan;
mod reader;

pub(crate) use copy::{Sides, copy_box, fill_box, strides};
pub use index::Need;
pub use plan::{Piece, Plan};
pub use reader::Reader;

/// A box of an array: where it begins, and how many elements it has along each axis.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slab {
    /// Where it begins.
    pub start: Vec<u64>,
    /// How many elements.
    pub count: Vec<u64>,
}

impl Slab {
    /// All of a shape.
    pub fn all(shape: &[u64]) -> Slab {
        Slab { start: vec![0; shape.len()], count: shape.to_vec() }
    }

    /// Some rows along the first axis.
    pub fn rows(shape: &[u64], rows: std::ops::Range<u64>) -> Slab {
        let mut slab = Slab::all(shape);
        if let (Some(start), Some(count)) = (slab.start.first_mut(), slab.count.first_mut()) {
            (*start, *count) = (rows.start, rows.end.saturating_sub(rows.start));
        }
        slab
    }
}

/// The place of coordinates, in elements.
fn linear(coordinates: &[u64], strides: &[u64]) -> u64 {
    coordinates.iter().zip(strides).map(|(&at, &stride)| at * stride).sum()
}

/// The next coordinates between `first` and `end`, the last axis first; `false` behind the last ones.
fn advance(at: &mut [u64], first: &[u64], end: &[u64]) -> bool {
    for axis in (0..at.len()).rev() {
        at[axis] += 1;
        if at[axis] < end[axis] {
            return true;
        }
        at[axis] = first[axis];
    }
    false
}
