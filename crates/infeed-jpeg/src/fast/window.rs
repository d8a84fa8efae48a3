//! Which units of an image a region needs.

use std::ops::Range;

use super::frame::Frame;
use crate::request::Region;

/// The units (MCUs) that have to be decoded for a region.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Window {
    pub(super) columns: Range<usize>,
    pub(super) rows: Range<usize>,
}

/// The units along one axis that hold samples `start..end`.
///
/// With subsampled chroma a pixel also uses the chroma sample next to its own, which may lie in another unit.
fn along(start: usize, end: usize, unit: usize, units: usize, halved: bool) -> Range<usize> {
    if !halved {
        return start / unit..end.div_ceil(unit);
    }
    let first = (start / 2).saturating_sub(1) / (unit / 2);
    let last = ((end - 1) / 2 + 1) / (unit / 2);
    first..(last + 1).min(units)
}

impl Window {
    pub(super) fn new(frame: &Frame, region: &Region, chroma: bool) -> Self {
        let (narrow, low) = frame.halved();
        let (unit_width, unit_height) = frame.unit();
        let (units_across, units_down) = frame.units();
        let (x, y) = (region.x as usize, region.y as usize);
        let (right, bottom) = (x + region.width as usize, y + region.height as usize);
        Window {
            columns: along(x, right, unit_width, units_across, chroma && narrow),
            rows: along(y, bottom, unit_height, units_down, chroma && low),
        }
    }
}
