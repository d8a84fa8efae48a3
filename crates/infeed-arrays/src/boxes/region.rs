//! Which part of an array a row needs, and where it goes.

use super::{BoxSource, Place};
use crate::{
    array::{Axis, Plain, Slab, copy},
    object::fill,
    source::SCRATCH,
};
use infeed_core::{Error, Result};
use std::ops::Range;

/// A part of an array, and its place in a field.
#[derive(Debug, Clone)]
pub(super) struct Region {
    pub(super) slab: Slab,
    /// Bytes from one element to the next in the field, along each axis of the array.
    pub(super) strides: Vec<u64>,
    /// Where its first element goes.
    pub(super) at: u64,
    /// Bytes that lie behind each other in the field without anything else between: all of a step.
    size: u64,
}

pub(super) fn outside() -> Error {
    Error::Internal { what: "a box of an array outside of its batch".to_owned() }
}

impl BoxSource {
    /// The parts of a variable that a row needs, each with the number of its file; `channel` of `channels` in the field.
    pub(super) fn regions(
        &self,
        place: &Place,
        variable: usize,
        target: bool,
        channel: (usize, usize),
    ) -> Vec<(usize, Region)> {
        let steps = match &self.form.windows {
            Some(windows) => windows.steps(place.begin, target),
            None => place.begin..place.begin + 1,
        };
        let (mut out, mut done) = (Vec::new(), 0);
        for (part, steps) in self.lies(place.part, steps) {
            let count = steps.end - steps.start;
            out.push((part, self.region(part, &place.origin, variable, (steps, done), channel)));
            done += count;
        }
        out
    }

    /// The part of one array: some steps, behind those that are `done`.
    fn region(
        &self,
        part: usize,
        origin: &[u64],
        variable: usize,
        (steps, done): (Range<u64>, u64),
        (channel, channels): (usize, usize),
    ) -> Region {
        let array = &self.parts[part].arrays[variable];
        let own = &self.cuts[part].variables[variable];
        let row = self.row_shape(part, variable);
        let size = array.element().size() as u64;
        let inner = Plain::strides(&row, size);
        let width = row.iter().fold(size, |all, side| all.saturating_mul(*side));
        let (mut slab, mut strides) = (Slab::all(array.shape()), Vec::with_capacity(row.len() + 1));
        let cut_from = row.len().saturating_sub(if own.cut { origin.len() } else { 0 });
        let mut at_row = 0;
        for axis in 0..array.shape().len() {
            if Some(axis) == own.axis {
                (slab.start[axis], slab.count[axis]) = (steps.start, steps.end - steps.start);
                strides.push(width * channels as u64);
                continue;
            }
            if at_row >= cut_from {
                let start = origin[at_row - cut_from];
                slab.start[axis] = start;
                slab.count[axis] = row[at_row].min(array.shape()[axis].saturating_sub(start));
            }
            strides.push(inner[at_row]);
            at_row += 1;
        }
        let at = (done * channels as u64 + channel as u64) * width;
        Region { slab, strides, at, size }
    }

    /// Whether a patch reaches over the end of its array.
    pub(super) fn is_padded(&self, place: &Place) -> bool {
        let Some(patches) = &self.form.patches else { return false };
        let sides = &self.cuts[place.part].sides;
        let over = |((origin, size), side): ((&u64, &u64), &u64)| origin + size > *side;
        place.origin.iter().zip(&patches.size).zip(sides).any(over)
    }

    /// Reads a part of an array to its place, without keeping anything of it.
    pub(super) fn read_region(
        &self,
        part: usize,
        variable: usize,
        region: &Region,
        out: &mut [u8],
    ) -> Result<()> {
        let Region { slab, strides, at, size } = region;
        let close = Plain::strides(&slab.count, *size);
        let lies = |axis: usize| slab.count[axis] <= 1 || strides[axis] == close[axis];
        let bytes = slab.elements().saturating_mul(*size);
        if (0..slab.count.len()).all(lies) {
            let at = usize::try_from(*at).map_err(|_| outside())?;
            let end = usize::try_from(bytes).ok().and_then(|bytes| at.checked_add(bytes));
            let out = end.and_then(|end| out.get_mut(at..end)).ok_or_else(outside)?;
            return self.read_slab(part, variable, slab, out);
        }
        // Step by step, if the steps are what is apart.
        let axis = self.cuts[part].variables[variable].axis;
        if let Some(axis) = axis.filter(|axis| slab.count[*axis] > 1) {
            let mut one = region.clone();
            one.slab.count[axis] = 1;
            for step in 0..slab.count[axis] {
                one.slab.start[axis] = slab.start[axis] + step;
                one.at = at + step * strides[axis];
                self.read_region(part, variable, &one, out)?;
            }
            return Ok(());
        }
        let bytes = usize::try_from(bytes).map_err(|_| outside())?;
        let mut read = self.cache.spares().take(bytes)?;
        self.read_slab(part, variable, slab, &mut read)?;
        let axes: Vec<Axis> = (0..slab.count.len())
            .map(|axis| Axis { count: slab.count[axis], from: close[axis], to: strides[axis] })
            .collect();
        let to = usize::try_from(*at).ok().and_then(|at| out.get_mut(at..)).ok_or_else(outside)?;
        let done = copy(&axes, *size as usize, false, &read, to);
        self.cache.spares().give(read);
        done.ok_or_else(outside)
    }

    /// Reads a part of an array.
    pub(super) fn read_slab(&self, part: usize, variable: usize, slab: &Slab, out: &mut [u8]) -> Result<()> {
        let objects = &self.objects[self.parts[part].object..];
        let array = &*self.parts[part].arrays[variable];
        SCRATCH
            .with_borrow_mut(|scratch| fill(objects, array, slab, out, scratch))
            .map_err(|e| e.in_field(&self.names[variable]))
    }
}
