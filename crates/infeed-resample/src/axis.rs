//! One axis of a resize, and which source pixels it reads.

use std::ops::Range;

use crate::filter::Filter;

/// One axis of a resize: `source` pixels become `full`, of which only `window` is produced.
///
/// A window is exactly the crop of the whole resize, at the price of the window alone.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Axis {
    /// Pixels of the picture along this axis.
    pub source: u32,
    /// Pixels of the whole picture after the resize.
    pub full: u32,
    /// The pixels of `0..full` that are wanted.
    pub window: Range<u32>,
}

impl Axis {
    /// An axis resized and kept whole.
    pub fn whole(source: u32, full: u32) -> Self {
        Axis { source, full, window: 0..full }
    }

    /// Pixels produced along this axis.
    pub(crate) fn len(&self) -> usize {
        self.window.end.saturating_sub(self.window.start) as usize
    }

    /// Source pixels per produced pixel.
    pub(crate) fn scale(&self) -> f64 {
        f64::from(self.source) / f64::from(self.full)
    }

    /// Whether the axis only copies: as in Pillow, an axis that keeps its size is not filtered.
    pub(crate) fn is_copy(&self) -> bool {
        self.source == self.full
    }
}

/// How the taps of an output pixel are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Method {
    /// Each output pixel is one source pixel.
    Nearest,
    /// Kernel widened when shrinking, cut at the edges and normalised to one.
    Antialiased,
    /// Two taps around the centre, edge repeated.
    Linear2,
    /// Four taps around the centre, edge repeated.
    Cubic4,
}

impl Method {
    pub(crate) fn of(filter: Filter, antialias: bool) -> Self {
        match (filter, antialias) {
            (Filter::Nearest, _) => Method::Nearest,
            (Filter::Bilinear, false) => Method::Linear2,
            (Filter::Bicubic, false) => Method::Cubic4,
            _ => Method::Antialiased,
        }
    }
}

/// The source pixel under the centre of each output pixel of the window, in order.
///
/// The position is summed up step by step instead of multiplied out, because that is how Pillow gets it and
/// the two round differently now and then.
pub(crate) fn nearest(axis: &Axis) -> impl Iterator<Item = u32> {
    let (scale, last) = (axis.scale(), axis.source.saturating_sub(1));
    let mut at = scale * 0.5;
    for _ in 0..axis.window.start {
        at += scale;
    }
    axis.window.clone().map(move |_| {
        let here = (at as u32).min(last);
        at += scale;
        here
    })
}

/// Source pixels that output pixel `index` reads with a widened kernel, with its centre.
pub(crate) fn antialiased_bounds(axis: &Axis, filter: Filter, index: u32) -> (f64, Range<u32>) {
    let scale = axis.scale();
    let support = filter.support() * scale.max(1.0);
    let center = (f64::from(index) + 0.5) * scale;
    // Float to integer conversion saturates, which is the clamp at zero.
    let start = (center - support + 0.5) as u32;
    let end = ((center + support + 0.5) as u32).min(axis.source);
    (center, start..end)
}

/// Source pixels that output pixel `index` reads with a fixed kernel of `taps` taps, and the position between
/// the two middle ones. The first may be negative and the last beyond the picture: the edge is repeated.
pub(crate) fn fixed_bounds(axis: &Axis, taps: i64, index: u32) -> (f64, Range<i64>) {
    let mut at = (f64::from(index) + 0.5) * axis.scale() - 0.5;
    if taps == 2 {
        at = at.max(0.0);
    }
    let low = at.floor();
    let start = low as i64 - (taps / 2 - 1);
    (at - low, start..start + taps)
}

/// Source pixels an axis needs, so that a decoder need not produce more than those.
///
/// Empty when the axis or its window is.
pub fn needed(axis: &Axis, filter: Filter, antialias: bool) -> Range<u32> {
    if axis.source == 0 || axis.full == 0 || axis.len() == 0 {
        return 0..0;
    }
    if axis.is_copy() {
        return axis.window.clone();
    }
    let (first, last) = (axis.window.start, axis.window.end - 1);
    let clamp = |r: Range<i64>| {
        let top = i64::from(axis.source) - 1;
        (r.start.clamp(0, top) as u32, (r.end - 1).clamp(0, top) as u32 + 1)
    };
    match Method::of(filter, antialias) {
        Method::Nearest => {
            let mut places = nearest(axis);
            let start = places.next().unwrap_or(0);
            start..places.last().unwrap_or(start) + 1
        }
        Method::Antialiased => {
            let start = antialiased_bounds(axis, filter, first).1.start;
            start..antialiased_bounds(axis, filter, last).1.end
        }
        Method::Linear2 => clamp(fixed_bounds(axis, 2, first).1).0..clamp(fixed_bounds(axis, 2, last).1).1,
        Method::Cubic4 => clamp(fixed_bounds(axis, 4, first).1).0..clamp(fixed_bounds(axis, 4, last).1).1,
    }
}
