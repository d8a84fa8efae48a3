//! The checks made once per render, so that the kernels need none per pixel.

use std::ops::Range;

use crate::{Axis, Error, Filter, Layout, Pixels, Sink, needed};

/// Source columns and rows a checked request reads, relative to the first available pixel.
#[derive(Debug)]
pub(crate) struct Reads {
    pub(crate) columns: Range<u32>,
    pub(crate) rows: Range<u32>,
}

/// Checks a request; `None` means that there is nothing to write.
pub(crate) fn check(
    pixels: &Pixels<'_>,
    x: &Axis,
    y: &Axis,
    filter: Filter,
    antialias: bool,
    sink: &Sink<'_>,
) -> Result<Option<Reads>, Error> {
    if !matches!(pixels.channels, 1 | 3 | 4) {
        return Err(Error::Channels(pixels.channels));
    }
    for axis in [x, y] {
        let Range { start, end } = axis.window;
        if axis.source == 0 || axis.full == 0 || start > end || end > axis.full {
            return Err(Error::Axis { source: axis.source, full: axis.full, start, end });
        }
        if let Some(Range { start, end }) = axis.span
            && !axis.has_good_span()
        {
            return Err(Error::Span { source: axis.source, start, end });
        }
    }
    if x.len() == 0 || y.len() == 0 {
        return Ok(None);
    }
    check_pixels(pixels)?;
    // The sink is checked before the filter's reach: it bounds the window, and so the work of the other checks.
    check_sink(pixels.channels, x.len(), y.len(), sink)?;
    let columns = needed(x, filter, antialias);
    let rows = needed(y, filter, antialias);
    Ok(Some(Reads {
        columns: covered("x", columns, pixels.origin.0, pixels.width)?,
        rows: covered("y", rows, pixels.origin.1, pixels.height)?,
    }))
}

fn check_pixels(pixels: &Pixels<'_>) -> Result<(), Error> {
    let row = (pixels.width as usize).checked_mul(pixels.channels).ok_or(Error::TooLarge)?;
    let last = (pixels.height as usize).saturating_sub(1);
    let needed = last.checked_mul(pixels.stride).and_then(|n| n.checked_add(row)).ok_or(Error::TooLarge)?;
    if needed > pixels.data.len() {
        return Err(Error::PixelsTooShort { needed, len: pixels.data.len() });
    }
    Ok(())
}

fn check_sink(channels: usize, width: usize, height: usize, sink: &Sink<'_>) -> Result<(), Error> {
    let within = match sink.layout {
        Layout::Hwc => width.checked_mul(channels),
        Layout::Chw => (channels - 1).checked_mul(sink.plane_stride).and_then(|n| n.checked_add(width)),
    };
    let needed = (height - 1)
        .checked_mul(sink.row_stride)
        .zip(within)
        .and_then(|(rows, within)| rows.checked_add(within)?.checked_add(sink.offset))
        .and_then(|elements| elements.checked_mul(sink.dtype.size()))
        .ok_or(Error::TooLarge)?;
    if needed > sink.out.len() {
        return Err(Error::SinkTooShort { needed, len: sink.out.len() });
    }
    Ok(())
}

/// `range` of the picture, relative to the first available pixel.
fn covered(axis: &'static str, range: Range<u32>, origin: u32, len: u32) -> Result<Range<u32>, Error> {
    let inside = range.start >= origin && u64::from(range.end) <= u64::from(origin) + u64::from(len);
    if !inside || range.is_empty() {
        return Err(Error::NotCovered { axis, start: range.start, end: range.end });
    }
    Ok(range.start - origin..range.end - origin)
}
