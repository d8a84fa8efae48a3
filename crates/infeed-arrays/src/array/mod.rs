//! What an array of a file is to the source.

mod copy;
mod labels;
mod plain;
mod scaled;
mod text;

pub(crate) use copy::{Axis, copy};
pub(crate) use labels::Dimensions;
pub(crate) use plain::{Plain, Seal};
pub(crate) use scaled::{NAMES as SCALING_NAMES, Scaled, Scaling, number};
pub(crate) use text::fixed_texts;

use infeed_core::{Dtype, Result};
use std::{fmt::Debug, ops::Range, sync::Arc};

/// What an element is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Element {
    /// A number.
    Number(Dtype),
    /// A text that takes so many bytes in the output of [`Pieces::place`]; [`Array::texts`] knows how to read them.
    Text(usize),
}

impl Element {
    /// Returns its bytes in the output of [`Pieces::place`].
    pub fn size(self) -> usize {
        match self {
            Element::Number(dtype) => dtype.size(),
            Element::Text(bytes) => bytes,
        }
    }
}

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

    /// Some steps along an axis.
    pub fn along(shape: &[u64], axis: usize, rows: Range<u64>) -> Slab {
        let mut slab = Slab::all(shape);
        if let (Some(start), Some(count)) = (slab.start.get_mut(axis), slab.count.get_mut(axis)) {
            (*start, *count) = (rows.start, rows.end.saturating_sub(rows.start));
        }
        slab
    }

    /// Returns how many elements it has.
    pub fn elements(&self) -> u64 {
        self.count.iter().fold(1, |all, n| all.saturating_mul(*n))
    }
}

/// Rows that lie one after the other, as they are in batches: row `n` is `bytes` bytes from `at + n * bytes` on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dense {
    /// Where row 0 begins.
    pub at: u64,
    /// Bytes of a row.
    pub bytes: u64,
}

/// An array that lies in objects of a store: in one, or with a chunk in each of many. Shape, type and where its elements are were
/// read when it was opened: nothing here reads.
pub trait Array: Debug + Send + Sync {
    /// Returns what an element is.
    fn element(&self) -> Element;

    /// Returns its shape.
    fn shape(&self) -> &[u64];

    /// Returns the shape of the parts that are decoded as a whole, if there are such parts.
    fn chunk(&self) -> Option<&[u64]> {
        None
    }

    /// Returns the shape of its chunks, if elements can only be had by decoding all of one. Others are read where they lie.
    fn packed(&self) -> Option<&[u64]> {
        self.chunk()
    }

    /// Says which bytes a box needs.
    fn plan<'a>(&'a self, slab: &'a Slab) -> Result<Box<dyn Pieces + 'a>>;

    /// Returns what was done to these parts, in the order in which it was done.
    fn filters(&self) -> Vec<String> {
        Vec::new()
    }

    /// Returns how its rows along an axis lie, if no element has to be moved or changed.
    fn dense(&self, _axis: usize) -> Option<Dense> {
        None
    }

    /// Returns the array with its attributes, if they change its values: then [`Pieces::place`] writes elements as they are stored.
    #[doc(hidden)]
    #[allow(private_interfaces)]
    fn scaled(&self) -> Option<&Scaled> {
        None
    }

    /// Returns the texts of elements that [`Pieces::place`] gave.
    fn texts(&self, elements: &[u8]) -> Result<Vec<String>>;
}

/// Arrays by the names of the fields that they are.
pub(crate) type NamedArrays = Vec<(Arc<str>, Arc<dyn Array>)>;

/// The pieces of a box: parts of it that are read and placed at once, in any order.
pub trait Pieces {
    /// Returns how many there are.
    fn len(&self) -> usize;

    /// Whether there is none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the object that a piece lies in, counted from the first one of the array. Arrays in a file have one.
    fn object(&self, _piece: usize) -> usize {
        0
    }

    /// Returns the bytes of the object that a piece needs; `None` if it needs none (elements that were never written).
    fn range(&self, piece: usize) -> Option<Range<u64>>;

    /// Returns where the bytes of a piece belong in the output, if they are its elements as they are: then they can be read
    /// there, and nothing has to be placed.
    fn straight(&self, _piece: usize) -> Option<Range<usize>> {
        None
    }

    /// Returns the checksum of a piece that is straight, if it has one.
    fn seal(&self, _piece: usize) -> Option<Seal> {
        None
    }

    /// Writes the elements of a piece into the output, in this machine's byte order. `stored` is what [`Pieces::range`] names,
    /// `out` is all of the box in C order.
    fn place(&self, piece: usize, stored: &[u8], out: &mut [u8], scratch: &mut Scratch) -> Result<()>;
}

/// Memory for decoding that a thread keeps.
#[derive(Debug, Default)]
pub struct Scratch {
    /// For chunks of HDF5.
    pub(crate) hdf5: infeed_hdf5::Scratch,
    /// For chunks of Zarr.
    pub(crate) zarr: infeed_zarr::Scratch,
    /// For members of archives.
    pub(crate) inflated: Vec<u8>,
    /// For elements as they are stored, where attributes change them.
    pub(crate) stored: Vec<u8>,
    pub(crate) inflate: crate::zip::Inflate,
}

impl Scratch {
    /// Keeps a buffer for the next member of an archive, unless it is so large that not every thread should have one.
    pub(crate) fn keep_inflated(&mut self, buffer: Vec<u8>) {
        if buffer.capacity() <= 256 << 20 {
            self.inflated = buffer;
        }
    }
}
