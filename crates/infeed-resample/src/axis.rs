//! One axis of a resize, and which source pixels it reads.

use std::hash::{Hash, Hasher};
use std::ops::Range;

use crate::filter::Filter;

/// One axis of a resize: `source` pixels become `full`, of which only `window` is produced.
///
/// A window is exactly the crop of the whole resize, at the cost of the window alone.
#[derive(Debug, Clone)]
pub struct Axis {
    /// Pixels of the picture along this axis.
    pub source: u32,
    /// Pixels of the whole picture after the resize.
    pub full: u32,
    /// The pixels of `0..full` that are wanted.
    pub window: Range<u32>,
    /// The part of `0..source` that becomes `full` pixels; `None` is all of it.
    ///
    /// Neither end need be a whole pixel, but the range must not be empty. The filter still sees the pixels
    /// next to the span, up to the ends of the picture: this is `box` of Pillow's `resize`, not a crop before
    /// it. As there, the ends are taken in single precision.
    pub span: Option<Range<f64>>,
}

impl Axis {
    /// An axis resized and kept whole.
    pub fn whole(source: u32, full: u32) -> Self {
        Axis { source, full, window: 0..full, span: None }
    }

    /// Pixels produced along this axis.
    pub(crate) fn len(&self) -> usize {
        self.window.end.saturating_sub(self.window.start) as usize
    }

    /// Whether the span is a non-empty range of the picture, even after rounding.
    pub(crate) fn has_good_span(&self) -> bool {
        self.span.as_ref().is_none_or(|span| {
            // Written so that any NaN gives false.
            0.0 <= span.start && span.end <= f64::from(self.source) && (span.start as f32) < span.end as f32
        })
    }

    /// The mapping from output pixels to source pixels.
    pub(crate) fn grid(&self) -> Grid {
        let (start, len) = match &self.span {
            None => (0.0, f64::from(self.source)),
            Some(span) => {
                // Pillow keeps the box in single precision and subtracts in it too.
                let (start, end) = (span.start as f32, span.end as f32);
                (f64::from(start), f64::from(end - start))
            }
        };
        Grid { start, scale: len / f64::from(self.full) }
    }

    /// Whether the axis only copies: as in Pillow, an axis that keeps its size is not filtered.
    pub(crate) fn is_copy(&self) -> bool {
        self.source == self.full && self.grid() == Grid { start: 0.0, scale: 1.0 }
    }

    /// The parts for comparison. The span is compared by its bits, so that equality is reflexive: a request equals
    /// itself even when its span is NaN.
    fn parts(&self) -> (u32, u32, &Range<u32>, Option<[u64; 2]>) {
        let span = self.span.as_ref().map(|span| [span.start.to_bits(), span.end.to_bits()]);
        (self.source, self.full, &self.window, span)
    }
}

impl PartialEq for Axis {
    fn eq(&self, other: &Self) -> bool {
        self.parts() == other.parts()
    }
}

impl Eq for Axis {}

impl Hash for Axis {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.parts().hash(state);
    }
}

/// The positions of output pixels, in source pixels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Grid {
    /// Left end of the first output pixel.
    pub(crate) start: f64,
    /// Source pixels per output pixel.
    pub(crate) scale: f64,
}

impl Grid {
    pub(crate) fn center(self, index: u32) -> f64 {
        self.start + (f64::from(index) + 0.5) * self.scale
    }
}

/// Whether the vertical filter goes first, by the rule of Pillow from version 13 on: when more than twice as
/// many rows are lost as columns. Counted in pixels, not ratios, and of the whole picture, whatever part of it is
/// resized or produced, so a window is filtered in the order of the whole.
pub(crate) fn down_goes_first(x: &Axis, y: &Axis) -> bool {
    let lost = |axis: &Axis| i64::from(axis.source) - i64::from(axis.full);
    lost(y) > 0 && lost(y) > 2 * lost(x)
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
/// The position is accumulated step by step instead of multiplied, because Pillow does so and the two
/// occasionally round differently.
pub(crate) fn nearest(axis: &Axis) -> impl Iterator<Item = u32> {
    let (Grid { start, scale }, last) = (axis.grid(), axis.source.saturating_sub(1));
    let mut at = start + scale * 0.5;
    for _ in 0..axis.window.start {
        at += scale;
    }
    axis.window.clone().map(move |_| {
        let here = (at as u32).min(last);
        at += scale;
        here
    })
}

/// Source pixels that output pixel `index` reads with a widened kernel.
pub(crate) fn antialiased_bounds(axis: &Axis, grid: Grid, filter: Filter, index: u32) -> Range<u32> {
    let support = filter.support() * grid.scale.max(1.0);
    let center = grid.center(index);
    // Float to integer conversion saturates, which is the clamp at zero. At the other end a centre can round up
    // to the edge of the picture; the last pixel is then included with zero weight.
    let start = ((center - support + 0.5) as u32).min(axis.source.saturating_sub(1));
    let end = ((center + support + 0.5) as u32).min(axis.source);
    start..end
}

/// Source pixels that output pixel `index` reads with a fixed kernel of `taps` taps, and the position between
/// the two middle ones. The first may be negative and the last beyond the picture: the edge is repeated.
pub(crate) fn fixed_bounds(axis: &Axis, taps: i64, index: u32) -> (f64, Range<i64>) {
    let mut at = axis.grid().center(index) - 0.5;
    if taps == 2 {
        at = at.max(0.0);
    }
    let low = at.floor();
    let start = low as i64 - (taps / 2 - 1);
    (at - low, start..start + taps)
}

/// The source pixels an axis needs, so that a decoder need not produce more.
///
/// Empty when the axis or its window is empty, or when the span is not a range of the picture.
pub fn needed(axis: &Axis, filter: Filter, antialias: bool) -> Range<u32> {
    if axis.source == 0 || axis.full == 0 || axis.len() == 0 || !axis.has_good_span() {
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
            let bounds = |index| antialiased_bounds(axis, axis.grid(), filter, index);
            bounds(first).start..bounds(last).end
        }
        Method::Linear2 => clamp(fixed_bounds(axis, 2, first).1).0..clamp(fixed_bounds(axis, 2, last).1).1,
        Method::Cubic4 => clamp(fixed_bounds(axis, 4, first).1).0..clamp(fixed_bounds(axis, 4, last).1).1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_goes_by_lost_pixels() {
        for (source, full, down_first) in [
            ((21, 30), (16, 20), false),
            ((21, 30), (16, 19), true),
            ((10, 10), (20, 10), false),
            ((10, 10), (20, 9), true),
            ((100, 10), (100, 9), true),
            ((1000, 1000), (900, 1), true),
            ((1000, 1000), (500, 1), false),
            ((u32::MAX, u32::MAX), (1, 1), false),
        ] {
            let (x, y) = (Axis::whole(source.0, full.0), Axis::whole(source.1, full.1));
            assert_eq!(down_goes_first(&x, &y), down_first, "{source:?} {full:?}");
        }
    }

    #[test]
    fn a_span_reads_beside_itself_but_not_beside_the_picture() {
        let axis = |span| Axis { span: Some(span), ..Axis::whole(20, 4) };
        assert_eq!(needed(&axis(6.5..14.5), Filter::Bilinear, true), 6..16);
        assert_eq!(needed(&axis(0.25..8.25), Filter::Bilinear, true), 0..9);
        assert_eq!(needed(&axis(11.75..19.75), Filter::Lanczos, true), 7..20);
        assert_eq!(needed(&axis(6.5..14.5), Filter::Nearest, true), 7..14);
        assert_eq!(needed(&axis(6.5..14.5), Filter::Bilinear, false), 7..15);
        assert_eq!(needed(&axis(5.0..5.0), Filter::Bilinear, true), 0..0);
    }

    #[test]
    fn only_the_whole_span_copies() {
        let axis = |span| Axis { span, ..Axis::whole(20, 20) };
        for (span, copies) in
            [(None, true), (Some(0.0..20.0), true), (Some(0.0..19.5), false), (Some(0.5..20.0), false)]
        {
            assert_eq!(axis(span.clone()).is_copy(), copies, "{span:?}");
        }
    }
}
