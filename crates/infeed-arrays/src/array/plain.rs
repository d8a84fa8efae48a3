//! Arrays that are not packed: elements at a stride along each axis. C and Fortran order, members of structures, and data
//! sets of HDF5 that are one run of bytes.

use super::{
    Array, Dense, Element, Pieces, Scratch, Slab,
    copy::{Axis, copy},
    fixed_texts,
};
use bytes::Bytes;
use infeed_core::{Error, Result};
use std::ops::Range;

/// Parts that are this close are read with what is between them.
const GAP: u64 = 64 << 10;
/// Bytes of one read: longer ones are cut.
const MOST: u64 = 16 << 20;

/// The checksum of an array with what stands before its elements.
#[derive(Debug, Clone)]
pub struct Seal {
    /// CRC-32 of all bytes.
    pub(crate) crc: u32,
    /// The bytes before the elements.
    pub(crate) head: Bytes,
}

/// An array with strides.
#[derive(Debug, Clone)]
pub(crate) struct Plain {
    pub(crate) element: Element,
    pub(crate) shape: Vec<u64>,
    /// Bytes from one element to the next along each axis.
    pub(crate) strides: Vec<u64>,
    /// Where the first element begins in the object.
    pub(crate) at: u64,
    /// Whether the bytes of numbers, or of characters, are turned around.
    pub(crate) turned: bool,
    /// Whether characters of texts have four bytes.
    pub(crate) wide: bool,
    /// Rows that are decoded together because they share their bytes: the array is in Fortran order.
    pub(crate) chunk: Option<Vec<u64>>,
    pub(crate) seal: Option<Seal>,
}

impl Plain {
    /// Returns the strides of a shape in C order.
    pub(crate) fn strides(shape: &[u64], item: u64) -> Vec<u64> {
        let mut out = vec![item; shape.len()];
        for axis in (1..shape.len()).rev() {
            out[axis - 1] = out[axis].saturating_mul(shape[axis]);
        }
        out
    }

    /// Bytes that are turned around together.
    fn unit(&self) -> usize {
        if self.wide { 4 } else { self.element.size() }
    }

    /// Bytes from the first to behind the last element of a box.
    fn span(&self, count: &[u64]) -> u64 {
        let last: u64 = count.iter().zip(&self.strides).map(|(n, stride)| (n - 1) * stride).sum();
        last + self.element.size() as u64
    }

    /// Cuts a box where its parts are far apart, or more than is read at once.
    fn cut(&self, start: Vec<u64>, count: Vec<u64>, out: &mut Vec<Part>) {
        // From the axis along which elements are farthest apart.
        let widest = (0..count.len()).filter(|axis| count[*axis] > 1).max_by_key(|axis| self.strides[*axis]);
        if let Some(axis) = widest {
            let mut one = count.clone();
            one[axis] = 1;
            let step = self.strides[axis];
            let rows = if step.saturating_sub(self.span(&one)) > GAP {
                1
            } else if self.seal.is_none() && self.span(&count) > MOST {
                (MOST / step.max(1)).max(1)
            } else {
                count[axis]
            };
            if rows < count[axis] {
                let mut from = 0;
                while from < count[axis] {
                    let (mut start, mut part) = (start.clone(), count.clone());
                    start[axis] += from;
                    part[axis] = rows.min(count[axis] - from);
                    from += part[axis];
                    self.cut(start, part, out);
                }
                return;
            }
        }
        out.push(Part { start, count });
    }
}

impl Array for Plain {
    fn element(&self) -> Element {
        self.element
    }

    fn shape(&self) -> &[u64] {
        &self.shape
    }

    fn chunk(&self) -> Option<&[u64]> {
        self.chunk.as_deref()
    }

    fn packed(&self) -> Option<&[u64]> {
        None
    }

    fn plan<'a>(&'a self, slab: &'a Slab) -> Result<Box<dyn Pieces + 'a>> {
        let inside = |((start, count), n): ((&u64, &u64), &u64)| {
            start.checked_add(*count).is_some_and(|end| end <= *n)
        };
        let same = slab.start.len() == self.shape.len() && slab.count.len() == self.shape.len();
        if !same || !slab.start.iter().zip(&slab.count).zip(&self.shape).all(inside) {
            let what = format!("a box {:?} at {:?} of an array {:?}", slab.count, slab.start, self.shape);
            return Err(Error::Internal { what });
        }
        let mut parts = Vec::new();
        if !slab.count.contains(&0) {
            self.cut(vec![0; slab.count.len()], slab.count.clone(), &mut parts);
        }
        Ok(Box::new(Parts { array: self, slab, parts }))
    }

    fn dense(&self, axis: usize) -> Option<Dense> {
        let bytes = *self.strides.get(axis)?;
        let mut row = self.shape.clone();
        row.remove(axis);
        let mut strides = self.strides.clone();
        strides.remove(axis);
        let close = strides == Plain::strides(&row, self.element.size() as u64);
        let elements = row.iter().product::<u64>();
        let whole = close && elements * self.element.size() as u64 == bytes;
        let number = matches!(self.element, Element::Number(_));
        (whole && number && !self.turned && self.chunk.is_none()).then_some(Dense { at: self.at, bytes })
    }

    fn texts(&self, elements: &[u8]) -> Result<Vec<String>> {
        fixed_texts(elements, self.element.size(), self.wide)
    }
}

/// A part of a box: where it begins in the box, and how many elements it has.
#[derive(Debug)]
struct Part {
    start: Vec<u64>,
    count: Vec<u64>,
}

#[derive(Debug)]
struct Parts<'a> {
    array: &'a Plain,
    slab: &'a Slab,
    parts: Vec<Part>,
}

impl Parts<'_> {
    fn target(&self) -> Vec<u64> {
        Plain::strides(&self.slab.count, self.array.element.size() as u64)
    }

    /// Where a part begins in the output.
    fn to(&self, part: &Part, target: &[u64]) -> u64 {
        part.start.iter().zip(target).map(|(at, stride)| at * stride).sum()
    }
}

impl Pieces for Parts<'_> {
    fn len(&self) -> usize {
        self.parts.len()
    }

    fn range(&self, piece: usize) -> Option<Range<u64>> {
        let part = &self.parts[piece];
        let at = part.start.iter().zip(&self.slab.start).map(|(a, b)| a + b);
        let start = self.array.at + at.zip(&self.array.strides).map(|(at, stride)| at * stride).sum::<u64>();
        Some(start..start + self.array.span(&part.count))
    }

    fn straight(&self, piece: usize) -> Option<Range<usize>> {
        let part = &self.parts[piece];
        let size = self.array.element.size() as u64;
        let target = self.target();
        // Axes along which there is more than one element must lie in both as in C order, without anything between.
        let mut next = size;
        for axis in (0..part.count.len()).rev().filter(|axis| part.count[*axis] > 1) {
            if self.array.strides[axis] != next || target[axis] != next {
                return None;
            }
            next = next.checked_mul(part.count[axis])?;
        }
        let to = usize::try_from(self.to(part, &target)).ok()?;
        (!self.array.turned).then_some(to..to + usize::try_from(next).ok()?)
    }

    fn seal(&self, piece: usize) -> Option<Seal> {
        let whole = self.parts[piece].count == self.array.shape;
        self.array.seal.clone().filter(|_| whole)
    }

    fn place(&self, piece: usize, stored: &[u8], out: &mut [u8], _: &mut Scratch) -> Result<()> {
        let (part, array) = (&self.parts[piece], self.array);
        let target = self.target();
        let to = usize::try_from(self.to(part, &target)).ok();
        let unit = array.unit();
        let mut axes: Vec<Axis> = (0..part.count.len())
            .map(|axis| Axis { count: part.count[axis], from: array.strides[axis], to: target[axis] })
            .collect();
        if unit < array.element.size() {
            // The characters of a text are turned one by one.
            let count = (array.element.size() / unit) as u64;
            axes.push(Axis { count, from: unit as u64, to: unit as u64 });
        }
        let done =
            to.and_then(|to| out.get_mut(to..)).and_then(|out| copy(&axes, unit, array.turned, stored, out));
        done.ok_or_else(|| Error::Internal { what: "a part of an array outside of its box".to_owned() })
    }
}
