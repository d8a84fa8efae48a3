//! Slabs: boxes of a data set, and how they are read.
//!
//! *Which bytes* is apart from *bytes to arrays*. [`Reader::plan`] says which ranges of the file a slab needs and does not
//! read; whoever reads may join ranges, fetch them ahead, or keep them. [`Reader::place`] takes the bytes of one piece,
//! undoes its filters and writes its elements where they belong, in this machine's byte order. Pieces do not depend on
//! each other, so threads may share them; [`Reader::bands`] cuts a slab so that every part has its own part of the output.

mod copy;
mod plan;
mod reader;

pub(crate) use crate::filter::Scratch;
pub use plan::{Piece, Plan};
pub use reader::Reader;

/// A box of a data set: where it begins, and how many elements it has along each axis.
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
