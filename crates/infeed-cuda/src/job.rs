//! Drawings in the kernel's terms. The structures are those of `kernel.cu`.

use infeed_core::{Drawing, Dtype};
use infeed_resample::{Axis as Resize, Filter};

/// Columns and rows of a tile, and rows of threads in its block.
pub(crate) const COLUMNS: u32 = 32;
pub(crate) const ROWS: u32 = 32;
pub(crate) const LINES: u32 = 8;

/// What a job and a tile of its result take of shared memory.
const TILE: u32 = COLUMNS * ROWS * 3 + size_of::<Job>() as u32;

/// The most shared memory that a block can take beside that: every GPU has 48 KiB.
#[cfg(test)]
const ROOM: u32 = (48 << 10) - TILE;

/// What a block takes of that for rows if it needs no more for one: several blocks share a multiprocessor.
const USUAL: u32 = 24 << 10;

/// Bytes that may be read after the last row in shared memory, and after the last pixel of an image.
pub(crate) const SLACK: u32 = 16;

/// Numbers in front of the coefficients of an axis: starts and counts.
fn head(len: u32) -> u64 {
    (u64::from(len) * 2).next_multiple_of(4)
}

/// How the taps of an output pixel are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
enum Method {
    Copy = 0,
    Nearest = 1,
    Box = 2,
    Bilinear = 3,
    Hamming = 4,
    Bicubic = 5,
    Lanczos = 6,
    Linear2 = 7,
    Cubic4 = 8,
}

impl Method {
    fn of(filter: Filter, antialias: bool, resize: &Resize) -> Self {
        if resize.source == resize.full {
            return Method::Copy;
        }
        match (filter, antialias) {
            (Filter::Nearest, _) => Method::Nearest,
            (Filter::Bilinear, false) => Method::Linear2,
            (Filter::Bicubic, false) => Method::Cubic4,
            (Filter::Box, _) => Method::Box,
            (Filter::Bilinear, true) => Method::Bilinear,
            (Filter::Hamming, _) => Method::Hamming,
            (Filter::Bicubic, true) => Method::Bicubic,
            (Filter::Lanczos, _) => Method::Lanczos,
        }
    }

    /// The most source pixels of an output pixel.
    fn taps(self, scale: f64) -> u32 {
        let support = match self {
            Method::Copy | Method::Nearest => return 1,
            Method::Linear2 => return 2,
            Method::Cubic4 => return 4,
            Method::Box => 0.5,
            Method::Bilinear | Method::Hamming => 1.0,
            Method::Bicubic => 2.0,
            Method::Lanczos => 3.0,
        };
        (2.0 * support * scale.max(1.0)).ceil() as u32 + 1
    }

    /// Whether it widens where pixels are lost.
    fn widens(self) -> bool {
        !matches!(self, Method::Copy | Method::Nearest | Method::Linear2 | Method::Cubic4)
    }
}

/// One axis of a job.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Axis {
    scale: f64,
    table: u64,
    source: u32,
    first: u32,
    pub(crate) len: u32,
    from: u32,
    lead: u32,
    pub(crate) out: u32,
    flip: u32,
    method: u32,
    groups: u32,
    unused: u32,
}

/// One image.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Job {
    source: u64,
    target: u64,
    pitch: u32,
    stored: u32,
    channels: u32,
    dtype: u32,
    planar: u32,
    down_first: u32,
    scale: [f32; 4],
    bias: [f32; 4],
    fill: [f32; 4],
    pub(crate) x: Axis,
    pub(crate) y: Axis,
}

#[cfg(test)]
impl Job {
    /// Where its result belongs.
    pub(crate) fn target(&self) -> u64 {
        self.target
    }

    /// Whether columns are filtered before rows.
    pub(crate) fn goes_down_first(&self) -> bool {
        self.down_first == 1
    }
}

/// The jobs of a batch, and what they need.
#[derive(Debug, Default)]
pub(crate) struct Jobs {
    pub(crate) list: Vec<Job>,
    /// Numbers in the tables of all axes.
    pub(crate) table: u64,
    /// Bytes of shared memory of a block, beside the tile.
    pub(crate) room: u32,
    /// The longest window of an axis.
    pub(crate) longest: u32,
}

impl Jobs {
    /// Adds an image whose pixels lie at `source`, and whose result belongs at `target`.
    pub(crate) fn add(&mut self, drawing: &Drawing<'_>, source: u64, target: u64) {
        let stored = if drawing.gray { 1 } else { 3 };
        let (filter, antialias) = (drawing.filter, drawing.antialias);
        let methods = (&drawing.axes.0, &drawing.axes.1);
        let methods = (Method::of(filter, antialias, methods.0), Method::of(filter, antialias, methods.1));
        let (x, across) = self.axis(&drawing.axes.0, methods.0);
        let (y, down) = self.axis(&drawing.axes.1, methods.1);
        let x = Axis {
            from: drawing.from.0,
            lead: drawing.lead.0,
            flip: drawing.flip.0.into(),
            out: drawing.out.0,
            ..x
        };
        let y = Axis {
            from: drawing.from.1,
            lead: drawing.lead.1,
            flip: drawing.flip.1.into(),
            out: drawing.out.1,
            ..y
        };
        let lost = |resize: &Resize| i64::from(resize.source) - i64::from(resize.full);
        let (lost_x, lost_y) = (lost(&drawing.axes.0), lost(&drawing.axes.1));
        let down_first = methods.0.widens() && methods.1.widens() && lost_y > 0 && lost_y > 2 * lost_x;
        let reach = |axis: &Axis, tile: u32, taps: u32| {
            (f64::from(tile.min(axis.len)) * axis.scale.max(1.0)).ceil() as u32 + taps
        };
        // At least what one row needs; more lets rows share what was filtered first.
        let (least, all) = if down_first {
            let line = ((reach(&x, COLUMNS, across) + 1) * stored).next_multiple_of(4);
            (line + SLACK, line * ROWS.min(y.len) + SLACK)
        } else {
            (down * COLUMNS * stored, (reach(&y, ROWS, down) + 1) * COLUMNS * stored)
        };
        self.room = self.room.max(all.min(USUAL).max(least));
        let number = |dtype: Dtype| match dtype {
            Dtype::U8 => 0,
            Dtype::F16 => 1,
            Dtype::Bf16 => 2,
            _ => 3,
        };
        self.list.push(Job {
            source,
            target,
            pitch: drawing.size.0 * stored,
            stored,
            channels: drawing.channels.into(),
            dtype: number(drawing.finish.dtype),
            planar: drawing.planar().into(),
            down_first: down_first.into(),
            scale: drawing.finish.scale,
            bias: drawing.finish.bias,
            fill: drawing.fill.map(f32::from),
            x,
            y,
        });
    }

    /// Reserves the table of an axis. Returns it, and the most taps of a pixel.
    fn axis(&mut self, resize: &Resize, method: Method) -> (Axis, u32) {
        let scale = f64::from(resize.source) / f64::from(resize.full);
        let len = resize.window.end - resize.window.start;
        let taps = method.taps(scale).min(resize.source);
        let axis = Axis {
            scale,
            table: self.table,
            source: resize.source,
            first: resize.window.start,
            len,
            method: method as u32,
            groups: taps.div_ceil(4),
            ..Axis::default()
        };
        self.table += head(len) + u64::from(len) * u64::from(taps.next_multiple_of(4));
        self.longest = self.longest.max(len);
        (axis, taps)
    }

    /// Bytes of shared memory of a block.
    pub(crate) fn shared(&self) -> u32 {
        self.room + TILE
    }

    /// Tiles of each image: all have the same size.
    pub(crate) fn tiles(&self) -> u32 {
        self.list.first().map_or(0, |job| job.x.out.div_ceil(COLUMNS) * job.y.out.div_ceil(ROWS))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const FILTERS: [Filter; 6] =
        [Filter::Nearest, Filter::Box, Filter::Bilinear, Filter::Hamming, Filter::Bicubic, Filter::Lanczos];

    fn drawing(x: Resize, y: Resize, filter: Filter, antialias: bool) -> Drawing<'static> {
        let out = (x.window.end - x.window.start, y.window.end - y.window.start);
        Drawing {
            bytes: &[],
            size: (x.source, y.source),
            gray: false,
            channels: 3,
            axes: (x, y),
            from: (0, 0),
            lead: (0, 0),
            flip: (false, false),
            out,
            filter,
            antialias,
            fill: [0; 4],
            finish: infeed_core::Finish::PLAIN,
        }
    }

    #[test]
    fn structures_have_no_gaps() {
        assert_eq!((size_of::<Axis>(), size_of::<Job>()), (56, 200));
    }

    proptest! {
        /// The tables must have room for all taps, and a block for one row of the result at least.
        #[test]
        fn there_is_room(
            source in (1u32..5000, 1u32..5000), full in (1u32..600, 1u32..600),
            filter in 0usize..6, antialias: bool,
        ) {
            prop_assume!(source.0 <= full.0 * 64 && source.1 <= full.1 * 64);
            let filter = FILTERS[filter];
            let mut jobs = Jobs::default();
            let (x, y) = (Resize::whole(source.0, full.0), Resize::whole(source.1, full.1));
            jobs.add(&drawing(x.clone(), y.clone(), filter, antialias), 0, 0);
            prop_assert!(jobs.room <= ROOM);
            let one = |axis: &Resize, at: u32| {
                let window = Resize { window: at..at + 1, ..axis.clone() };
                let needed = infeed_resample::needed(&window, filter, antialias);
                needed.end - needed.start
            };
            let taps = |axis: &Resize| {
                (0..axis.full).step_by(7).map(|at| one(axis, at)).max().unwrap_or(0)
            };
            let room = u64::from(full.0) * (2 + u64::from(taps(&x)))
                + u64::from(full.1) * (2 + u64::from(taps(&y)));
            prop_assert!(jobs.table >= room, "{} numbers for {room}", jobs.table);
            let job = jobs.list[0];
            if job.down_first == 1 {
                let tile = Resize { window: 0..COLUMNS.min(full.0), ..x };
                let needed = infeed_resample::needed(&tile, filter, antialias);
                prop_assert!(jobs.room >= (needed.end - needed.start) * 3 + SLACK);
            } else {
                prop_assert!(jobs.room >= taps(&y) * COLUMNS * 3);
            }
        }
    }
}
