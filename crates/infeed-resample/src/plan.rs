//! The taps and coefficients of one axis.

use std::ops::Range;

use crate::axis::{Method, antialiased_bounds, fixed_bounds, nearest};
use crate::filter::{box_kernel, cubic, hamming, lanczos, triangle};
use crate::kernel::Level;
use crate::render::reserve;
use crate::{Axis, Error, Filter};

/// Fractional bits of a coefficient. With 8 bits of pixel and room for overshoot this fills an `i32`, and it
/// is what Pillow uses, which makes results equal instead of close.
pub(crate) const PRECISION: u32 = 32 - 8 - 2;

/// Coefficients per output pixel come in whole groups of this many, zero padded.
pub(crate) const GROUP: usize = 4;

/// Low bits of a coefficient that go to the low half of a [`Split`].
pub(crate) const LOW_BITS: u32 = 12;

/// A group of coefficients, each split so that 16-bit multiplications give the exact 32-bit product:
/// `coefficient = high << LOW_BITS | low`.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C, align(16))]
#[cfg_attr(any(infeed_portable, not(target_arch = "x86_64")), allow(dead_code))]
pub(crate) struct Split {
    pub(crate) high: [i16; GROUP],
    pub(crate) low: [i16; GROUP],
}

/// Up to this many taps [`Split`] takes fewer multiplications than [`Digits`].
pub(crate) const SPLIT_MOST: usize = 2;

/// A group of coefficients as signed bytes, lowest first: `coefficient = d0 + (d1 << 8) + (d2 << 16)`.
///
/// The range is almost up to 2, which no normalised kernel reaches: the worst, a picture two pixels wide enlarged
/// with Lanczos, has 1.3.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C, align(4))]
#[cfg_attr(any(infeed_portable, not(target_arch = "x86_64")), allow(dead_code))]
pub(crate) struct Digits(pub(crate) [[i8; GROUP]; 3]);

impl Digits {
    fn of(group: &[i32; GROUP]) -> Self {
        // With 128 added to each, the digits are the plain bytes of the number.
        const MIDDLE: u32 = 0x80_8080;
        let bytes = group.map(|k| ((k as u32).wrapping_add(MIDDLE) ^ MIDDLE).to_le_bytes());
        Digits(std::array::from_fn(|digit| bytes.map(|bytes| bytes[digit] as i8)))
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Key {
    axis: Axis,
    filter: Filter,
    method: Method,
}

/// Which source pixels make each output pixel of a window, and with which weights.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    key: Option<Key>,
    /// First tap of each output pixel, counted from the first source pixel the window needs. Never falls.
    pub(crate) starts: Vec<u32>,
    /// Taps of each output pixel that have a weight.
    pub(crate) counts: Vec<u32>,
    /// Coefficients kept per output pixel, a multiple of [`GROUP`].
    pub(crate) taps: usize,
    /// `taps` coefficients per output pixel.
    pub(crate) coefficients: Vec<i32>,
    /// The same, split, `taps / GROUP` per output pixel.
    pub(crate) split: Vec<Split>,
    /// The same as bytes, `taps / GROUP` per output pixel, where that is more than [`SPLIT_MOST`] taps and
    /// the kernels of this machine use them.
    pub(crate) digits: Vec<Digits>,
    /// Source pixels, counted like `starts`, below which every tap lies, padded ones included.
    pub(crate) reach: usize,
    /// The largest entry of `counts`.
    pub(crate) most: usize,
    /// Every output pixel is one source pixel, unweighted.
    pub(crate) single: bool,
    weights: Vec<f64>,
}

impl Plan {
    fn build(&mut self, key: Key, level: Level) -> Result<(), Error> {
        let Key { axis, filter, method } = &key;
        self.starts.clear();
        self.counts.clear();
        self.coefficients.clear();
        // Until it is whole again, it is the plan of nothing.
        self.key = None;
        reserve(&mut self.starts, axis.len())?;
        reserve(&mut self.counts, axis.len())?;
        self.single = *method == Method::Nearest;
        match method {
            Method::Nearest => {
                self.starts.extend(nearest(axis));
                self.counts.resize(self.starts.len(), 1);
                self.layout(1)?;
                self.coefficients.iter_mut().step_by(self.taps).for_each(|k| *k = 1 << PRECISION);
            }
            Method::Antialiased => match filter {
                Filter::Nearest | Filter::Bilinear => self.antialiased(axis, *filter, triangle)?,
                Filter::Box => self.antialiased(axis, *filter, box_kernel)?,
                Filter::Hamming => self.antialiased(axis, *filter, hamming)?,
                Filter::Bicubic => self.antialiased(axis, *filter, |x| cubic(x, -0.5))?,
                Filter::Lanczos => self.antialiased(axis, *filter, lanczos)?,
            },
            Method::Linear2 => self.fixed(axis, |t| [1.0 - t, t])?,
            Method::Cubic4 => {
                self.fixed(axis, |t| [t + 1.0, t, 1.0 - t, 2.0 - t].map(|distance| cubic(distance, -0.75)))?;
            }
        }
        let first = self.starts.first().copied().unwrap_or(0);
        self.starts.iter_mut().for_each(|start| *start -= first);
        // The largest start, not the last: the bounds of the kernels' reads depend on this.
        self.reach = self.starts.iter().max().map_or(0, |&start| start as usize) + self.taps;
        self.split.clear();
        reserve(&mut self.split, self.coefficients.len() / GROUP)?;
        self.split.extend(self.coefficients.as_chunks::<GROUP>().0.iter().map(|group| Split {
            high: group.map(|k| (k >> LOW_BITS) as i16),
            low: group.map(|k| (k & ((1 << LOW_BITS) - 1)) as i16),
        }));
        self.digits.clear();
        // Made only if they are used, since a training crop makes its plans every time.
        if self.most > SPLIT_MOST && level.uses_digits() {
            reserve(&mut self.digits, self.coefficients.len() / GROUP)?;
            self.digits.extend(self.coefficients.as_chunks::<GROUP>().0.iter().map(Digits::of));
        }
        self.key = Some(key);
        Ok(())
    }

    /// Source pixels that output `index` is made from, counted like `starts`.
    pub(crate) fn sources(&self, index: usize) -> Range<usize> {
        let start = self.starts[index] as usize;
        start..start + self.counts[index] as usize
    }

    /// Room for `most` coefficients per output pixel, all zero.
    fn layout(&mut self, most: usize) -> Result<(), Error> {
        self.most = most;
        self.taps = most.next_multiple_of(GROUP);
        let len = self.starts.len().checked_mul(self.taps).ok_or(Error::TooLarge)?;
        reserve(&mut self.coefficients, len)?;
        self.coefficients.resize(len, 0);
        Ok(())
    }

    fn antialiased(&mut self, axis: &Axis, filter: Filter, kernel: impl Fn(f64) -> f64) -> Result<(), Error> {
        let grid = axis.grid();
        let mut most = 1;
        for index in axis.window.clone() {
            let Range { start, end } = antialiased_bounds(axis, grid, filter, index);
            self.starts.push(start);
            self.counts.push(end - start);
            most = most.max(end - start);
        }
        self.layout(most as usize)?;
        self.weights.clear();
        reserve(&mut self.weights, most as usize)?;
        let inverse = 1.0 / grid.scale.max(1.0);
        let outputs = axis.window.clone().zip(self.starts.iter().zip(&self.counts));
        for ((index, (&start, &count)), out) in outputs.zip(self.coefficients.chunks_exact_mut(self.taps)) {
            let center = grid.center(index);
            // The usual case without a loop of unknown length; adding zeros changes no sum.
            if let Ok(out) = <&mut [i32; GROUP]>::try_from(&mut *out) {
                let weights: [f64; GROUP] = std::array::from_fn(|tap| {
                    let at = f64::from(start.wrapping_add(tap as u32)) - center + 0.5;
                    if (tap as u32) < count { kernel(at * inverse) } else { 0.0 }
                });
                let sum = weights.iter().fold(0.0, |sum, weight| sum + weight);
                let norm = if sum == 0.0 { 1.0 } else { sum };
                *out = weights.map(|weight| fixed_point(weight / norm));
                continue;
            }
            self.weights.clear();
            let mut sum = 0.0;
            for tap in start..start + count {
                let weight = kernel((f64::from(tap) - center + 0.5) * inverse);
                self.weights.push(weight);
                sum += weight;
            }
            let norm = if sum == 0.0 { 1.0 } else { sum };
            for (out, weight) in out.iter_mut().zip(&self.weights) {
                *out = fixed_point(weight / norm);
            }
        }
        Ok(())
    }

    fn fixed<const N: usize>(&mut self, axis: &Axis, weights: impl Fn(f64) -> [f64; N]) -> Result<(), Error> {
        let last = i64::from(axis.source) - 1;
        let bounds = |index| {
            let (between, taps) = fixed_bounds(axis, N as i64, index);
            (between, taps.map(move |tap| tap.clamp(0, last) as u32))
        };
        for index in axis.window.clone() {
            let mut taps = bounds(index).1;
            let start = taps.next().unwrap_or(0);
            self.starts.push(start);
            self.counts.push(taps.next_back().unwrap_or(start) - start + 1);
        }
        self.layout(N)?;
        let outputs = axis.window.clone().zip(&self.starts);
        for ((index, &start), out) in outputs.zip(self.coefficients.chunks_exact_mut(self.taps)) {
            let (between, taps) = bounds(index);
            // Taps beyond the edge are added to the edge pixel.
            for (tap, weight) in taps.zip(weights(between)) {
                out[(tap - start) as usize] += fixed_point(weight);
            }
        }
        Ok(())
    }
}

/// Rounds half away from zero, as Pillow does.
fn fixed_point(weight: f64) -> i32 {
    let scaled = weight * f64::from(1u32 << PRECISION);
    (scaled + if scaled < 0.0 { -0.5 } else { 0.5 }) as i32
}

/// A cache of the last few plans. Validation uses one size repeatedly; a training crop rarely repeats, but then
/// at least the buffers are reused.
#[derive(Debug, Default)]
pub(crate) struct Plans {
    kept: Vec<Plan>,
    next: usize,
}

/// Plans kept at a time; both axes of one render must fit.
const KEPT: usize = 8;

impl Plans {
    /// The index of the plan for an axis, which is made if it is not cached. The next call does not evict it.
    pub(crate) fn find(
        &mut self,
        axis: &Axis,
        filter: Filter,
        antialias: bool,
        level: Level,
    ) -> Result<usize, Error> {
        let key = Key { axis: axis.clone(), filter, method: Method::of(filter, antialias) };
        if let Some(place) = self.kept.iter().position(|plan| plan.key.as_ref() == Some(&key)) {
            // Make sure that the next replacement does not evict this plan.
            if place == self.next {
                self.next = (place + 1) % KEPT;
            }
            return Ok(place);
        }
        if self.kept.len() < KEPT {
            self.kept.resize_with(KEPT, Plan::default);
        }
        let place = self.next;
        self.next = (place + 1) % KEPT;
        self.kept[place].build(key, level)?;
        Ok(place)
    }

    pub(crate) fn get(&self, place: usize) -> &Plan {
        &self.kept[place]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The vector code multiplies the parts; they must add up to the coefficient, however large the coefficients of
    /// a kernel cut at the edge are.
    #[test]
    fn parts_make_up_the_coefficients() {
        let filters = [Filter::Box, Filter::Bilinear, Filter::Hamming, Filter::Bicubic, Filter::Lanczos];
        let mut plan = Plan::default();
        let mut largest = 0;
        for (filter, antialias) in filters.iter().flat_map(|f| [(*f, true), (*f, false)]) {
            for (source, full) in (1..30).flat_map(|s| [1, 2, 3, 5, 8, 13, 29, 64, 1000].map(|f| (s, f))) {
                let method = Method::of(filter, antialias);
                // The ends of the picture are where kernels are cut and the rest weighs more.
                let (end, part) = (f64::from(source), f64::from(full) * f64::from(source) / 1000.0);
                let span =
                    [None, Some(0.0..part), Some(end - part..end)][(source + full) as usize % 3].clone();
                let axis = Axis { span, ..Axis::whole(source, full) };
                plan.build(Key { axis, filter, method }, Level::best()).unwrap();
                for (group, split) in plan.coefficients.as_chunks().0.iter().zip(&plan.split) {
                    let Digits([low, middle, high]) = Digits::of(group);
                    for i in 0..GROUP {
                        let digits = [low[i], middle[i], high[i]].map(i32::from);
                        assert_eq!(digits[0] + (digits[1] << 8) + (digits[2] << 16), group[i]);
                        let [high, low] = [split.high[i], split.low[i]].map(i32::from);
                        assert_eq!((high << LOW_BITS) + low, group[i]);
                        largest = largest.max(group[i].abs());
                    }
                }
            }
        }
        assert!(f64::from(largest) < 1.35 * f64::from(1 << PRECISION), "{largest}");
    }
}
