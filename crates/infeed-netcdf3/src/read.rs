//! Boxes of variables: which bytes they need, and bytes to arrays.
//!
//! *Which bytes* is apart from *bytes to arrays*: [`File::plan`] reads nothing, [`Plan::place`] is a pure function over memory that
//! the caller owns.

use crate::{
    File,
    error::{Error, Result},
    header::Variable,
};
use std::ops::Range;

/// Neighbouring runs are read together with what is between them, if that is not more than this.
const GAP: u64 = 64 << 10;

/// A box of a variable: where it begins, and how many elements it has along each axis.
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
}

/// A part of a slab that is read and placed at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    range: Range<u64>,
    start: Vec<u64>,
    count: Vec<u64>,
}

impl Piece {
    /// The range of the file that it needs.
    pub fn range(&self) -> Range<u64> {
        self.range.clone()
    }
}

/// The pieces of a slab.
#[derive(Debug, Clone)]
pub struct Plan {
    pieces: Vec<Piece>,
    size: usize,
    source: Vec<u64>,
    target: Vec<u64>,
    bytes: usize,
}

impl File {
    /// Says which bytes a slab needs. Nothing is read.
    pub fn plan(&self, variable: &Variable, slab: &Slab) -> Result<Plan> {
        let shape = &variable.shape;
        let inside = |((&start, &count), &n): ((&u64, &u64), &u64)| {
            start.checked_add(count).is_some_and(|end| end <= n)
        };
        let same = slab.start.len() == shape.len() && slab.count.len() == shape.len();
        if !same || !slab.start.iter().zip(&slab.count).zip(shape).all(inside) {
            return Err(Error::Request(format!(
                "{}: a slab of {:?} at {:?} is not inside of the shape {shape:?}",
                variable.name, slab.count, slab.start
            )));
        }
        let size = variable.kind.size();
        let bytes = slab.count.iter().try_fold(size as u64, |all, &n| all.checked_mul(n));
        let bytes = bytes.and_then(|bytes| usize::try_from(bytes).ok());
        let bytes = bytes.ok_or_else(|| Error::Request("more bytes than can be counted".to_owned()))?;
        let mut target = vec![size as u64; shape.len()];
        for axis in (1..shape.len()).rev() {
            target[axis - 1] = target[axis].saturating_mul(slab.count[axis]);
        }
        let mut plan = Plan { pieces: Vec::new(), size, source: variable.strides.clone(), target, bytes };
        if bytes > 0 {
            let from =
                slab.start.iter().zip(&variable.strides).map(|(&at, &stride)| at * stride).sum::<u64>();
            let all = Piece {
                range: variable.begin + from..variable.begin + from,
                start: vec![0; shape.len()],
                count: slab.count.clone(),
            };
            let last =
                slab.count.iter().zip(&variable.strides).map(|(&n, &stride)| (n - 1) * stride).sum::<u64>();
            let needs = all.range.start + last + size as u64;
            if needs > self.size() {
                return Err(Error::Truncated { needs, has: self.size() });
            }
            self.cut(all, 0, &mut plan)?;
        }
        Ok(plan)
    }

    /// Cuts a box along its axes until what is left is one run that is short enough.
    fn cut(&self, mut piece: Piece, axis: usize, plan: &mut Plan) -> Result<()> {
        let span = |count: &[u64]| {
            let last: u64 = count.iter().zip(&plan.source).map(|(&n, &stride)| (n - 1) * stride).sum();
            last + plan.size as u64
        };
        if let Some(axis) = (axis..piece.count.len()).find(|&axis| piece.count[axis] > 1) {
            let mut one = piece.count.clone();
            one[axis] = 1;
            let (step, count) = (plan.source[axis], piece.count[axis]);
            let rows = if step.saturating_sub(span(&one)) > GAP {
                1
            } else if span(&piece.count) > self.limits.max_run {
                (self.limits.max_run / step.max(1)).clamp(1, count)
            } else {
                count
            };
            if rows < count {
                let mut from = 0;
                while from < count {
                    let mut part = piece.clone();
                    part.range.start += from * step;
                    part.start[axis] += from;
                    part.count[axis] = rows.min(count - from);
                    // Rows of several are one run; a row alone may have to be cut along its other axes.
                    self.cut(part, axis + 1, plan)?;
                    from += rows;
                }
                return Ok(());
            }
        }
        if plan.pieces.len() as u64 >= self.limits.max_pieces {
            let limit = self.limits.max_pieces;
            return Err(Error::TooLarge { what: "a number of pieces", size: limit + 1, limit });
        }
        piece.range.end = piece.range.start + span(&piece.count);
        plan.pieces.push(piece);
        Ok(())
    }

    /// Reads a slab on this thread: for tests, and for variables that are small.
    pub fn read_slab(&self, variable: &Variable, slab: &Slab, out: &mut [u8]) -> Result<()> {
        let plan = self.plan(variable, slab)?;
        for piece in plan.pieces() {
            let stored = self.source().read(piece.range()).map_err(Error::Read)?;
            plan.place(piece, &stored, out)?;
        }
        Ok(())
    }
}

impl Plan {
    /// The pieces.
    pub fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// Bytes of the slab.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Writes the elements of a piece into the output of its slab, in this machine's byte order. `stored` is what
    /// [`Piece::range`] names.
    pub fn place(&self, piece: &Piece, stored: &[u8], out: &mut [u8]) -> Result<()> {
        if out.len() != self.bytes || stored.len() as u64 != piece.range.end - piece.range.start {
            return Err(Error::Request(format!(
                "a piece of {:?} was given {} bytes, and {} for the slab of {}",
                piece.range,
                stored.len(),
                out.len(),
                self.bytes
            )));
        }
        // Inner axes that lie behind each other on both sides are one run.
        let (mut len, mut outer) = (self.size as u64, piece.count.len());
        while outer > 0 {
            let axis = outer - 1;
            if piece.count[axis] > 1 && (self.source[axis] != len || self.target[axis] != len) {
                break;
            }
            len *= piece.count[axis];
            outer = axis;
        }
        let mut at = vec![0u64; outer];
        loop {
            let from: u64 = at.iter().zip(&self.source).map(|(a, stride)| a * stride).sum();
            let places = piece.start.iter().zip(&self.target).enumerate();
            let to: u64 = places
                .map(|(axis, (start, stride))| (start + at.get(axis).copied().unwrap_or(0)) * stride)
                .sum();
            let input = stored.get(from as usize..(from + len) as usize);
            let (Some(input), Some(output)) = (input, out.get_mut(to as usize..(to + len) as usize)) else {
                return Err(Error::Request("a piece does not fit its bytes".to_owned()));
            };
            output.copy_from_slice(input);
            native(self.size, output);
            let mut axis = outer;
            loop {
                let Some(before) = axis.checked_sub(1) else { return Ok(()) };
                axis = before;
                at[axis] += 1;
                if at[axis] < piece.count[axis] {
                    break;
                }
                at[axis] = 0;
            }
        }
    }
}

/// Big-endian numbers as numbers of this machine.
fn native(size: usize, numbers: &mut [u8]) {
    match size {
        _ if cfg!(target_endian = "big") => {}
        2 => numbers.as_chunks_mut::<2>().0.iter_mut().for_each(|n| n.reverse()),
        4 => numbers.as_chunks_mut::<4>().0.iter_mut().for_each(|n| n.reverse()),
        8 => numbers.as_chunks_mut::<8>().0.iter_mut().for_each(|n| n.reverse()),
        _ => {}
    }
}
