//! Moving elements: a view of an array by offsets and strides, and its copy.

use super::room;
use infeed_core::{Bytes, Context, Error, Result, Tensor};

/// Elements of an array in another arrangement. Strides and offset count elements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::transform) struct Strided {
    offset: isize,
    axes: Vec<(usize, isize)>,
}

impl Strided {
    /// The array as it lies.
    pub(in crate::transform) fn of(shape: &[usize]) -> Self {
        let mut stride = 1isize;
        let mut axes: Vec<(usize, isize)> = shape
            .iter()
            .rev()
            .map(|n| {
                let here = (*n, stride);
                stride = stride.wrapping_mul(*n as isize);
                here
            })
            .collect();
        axes.reverse();
        Strided { offset: 0, axes }
    }

    /// Mirrors an axis.
    pub(in crate::transform) fn flip(&mut self, axis: usize) {
        let (n, stride) = &mut self.axes[axis];
        if *n > 0 {
            self.offset += (*n as isize - 1) * *stride;
            *stride = -*stride;
        }
    }

    /// Puts the axes into this order.
    pub(in crate::transform) fn permute(&mut self, order: &[usize]) {
        self.axes = order.iter().map(|at| self.axes[*at]).collect();
    }

    /// Turns by 90 degrees as often as it is said, from the first axis towards the second, as `numpy.rot90`.
    pub(in crate::transform) fn turn(&mut self, times: u64, first: usize, second: usize) {
        match times % 4 {
            1 => {
                self.flip(second);
                self.axes.swap(first, second);
            }
            2 => {
                self.flip(first);
                self.flip(second);
            }
            3 => {
                self.axes.swap(first, second);
                self.flip(second);
            }
            _ => {}
        }
    }

    /// Takes `len` elements of an axis from `start` on. The caller has checked that they are there.
    pub(in crate::transform) fn take(&mut self, axis: usize, start: usize, len: usize) {
        let (n, stride) = &mut self.axes[axis];
        self.offset += start as isize * *stride;
        *n = len;
    }

    fn shape(&self) -> Vec<usize> {
        self.axes.iter().map(|(n, _)| *n).collect()
    }

    /// Axes that lie in each other without gaps, as one. Axes of one element are left out.
    fn merged(&self) -> Vec<(usize, isize)> {
        let mut out: Vec<(usize, isize)> = vec![];
        for (n, stride) in self.axes.iter().copied().filter(|(n, _)| *n != 1) {
            match out.last_mut() {
                Some((before, outer)) if *outer == stride * n as isize => {
                    *before *= n;
                    *outer = stride;
                }
                _ => out.push((n, stride)),
            }
        }
        out
    }

    /// Replaces an array by this view of it. Nothing is copied if the elements lie one behind the other.
    pub(in crate::transform) fn apply(self, tensor: &mut Tensor, context: &mut Context<'_>) -> Result<()> {
        let shape = self.shape();
        let axes = self.merged();
        let size = tensor.dtype.size();
        let whole: usize = shape.iter().product();
        if whole == 0 || axes.is_empty() || matches!(axes.as_slice(), [(_, 1)]) {
            let start = if whole == 0 { 0 } else { self.offset as usize * size };
            let end = start + whole * size;
            if end > tensor.data.len() {
                return Err(Error::Internal { what: format!("a view of {shape:?} leaves its array") });
            }
            tensor.data = tensor.data.slice(start..end);
        } else {
            let mut out = room(tensor.dtype, &shape, context)?;
            match size {
                1 => gather::<1>(&tensor.data, &mut out, self.offset, &axes),
                2 => gather::<2>(&tensor.data, &mut out, self.offset, &axes),
                4 => gather::<4>(&tensor.data, &mut out, self.offset, &axes),
                _ => gather::<8>(&tensor.data, &mut out, self.offset, &axes),
            }
            tensor.data = Bytes::from(out);
        }
        tensor.shape = shape;
        Ok(())
    }
}

/// Copies the elements of a view. `axes` are not empty.
fn gather<const N: usize>(from: &[u8], to: &mut [u8], offset: isize, axes: &[(usize, isize)]) {
    let (from, to) = (from.as_chunks::<N>().0, to.as_chunks_mut::<N>().0);
    let Some(((run, stride), outer)) = axes.split_last() else { return };
    let mut counter = vec![0usize; outer.len()];
    let mut start = offset;
    for row in to.chunks_exact_mut(*run) {
        match stride {
            1 => row.copy_from_slice(&from[start as usize..start as usize + run]),
            -1 => {
                let low = (start + 1) as usize - run;
                row.iter_mut().zip(from[low..low + run].iter().rev()).for_each(|(o, i)| *o = *i);
            }
            _ => {
                let mut at = start;
                for one in row {
                    *one = from[at as usize];
                    at += stride;
                }
            }
        }
        for (count, (n, step)) in counter.iter_mut().zip(outer).rev() {
            *count += 1;
            start += step;
            if *count < *n {
                break;
            }
            start -= step * *n as isize;
            *count = 0;
        }
    }
}
