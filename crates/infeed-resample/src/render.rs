//! A render: checks and prepares a request, and runs it in one of two orders.

use crate::axis::{Method, down_goes_first};
use crate::check::check;
use crate::kernel::{Finish, Level};
use crate::plan::{Plan, Plans};
use crate::source::Source;
use crate::{Axis, Error, Filter, Pixels, Sink};

/// Renders pictures. Keeps its scratch memory and recent coefficients, so keep one per thread.
#[derive(Debug)]
pub struct Resampler {
    level: Level,
    plans: Plans,
    scratch: Scratch,
}

#[derive(Debug, Default)]
pub(crate) struct Scratch {
    /// Rows that have passed the first filter.
    pub(crate) ring: Vec<u8>,
    /// The row being finished, or a batch of them.
    pub(crate) row: Vec<u8>,
    /// The same, flipped.
    pub(crate) spare: Vec<u8>,
    /// Copies of source rows that end too close to the end of the pixels.
    pub(crate) edge: Vec<u8>,
    /// Offsets of the rows under the vertical filter.
    pub(crate) taps: Vec<usize>,
}

impl Default for Resampler {
    fn default() -> Self {
        Self::new()
    }
}

impl Resampler {
    /// A resampler that uses the fastest instructions of this machine.
    pub fn new() -> Self {
        Self::with_level(Level::best())
    }

    pub(crate) fn with_level(level: Level) -> Self {
        Resampler { level, plans: Plans::default(), scratch: Scratch::default() }
    }

    /// Resizes `pixels` along both axes and stores the windows of the result in `sink`.
    ///
    /// `antialias: false` changes [`Filter::Bilinear`] and [`Filter::Bicubic`] to a fixed number of taps, as
    /// in `torch.nn.functional.interpolate`; the other filters ignore it.
    ///
    /// # Errors
    ///
    /// When the picture, the axes, the available pixels and the sink do not fit each other. Nothing has been
    /// written then.
    pub fn render(
        &mut self,
        pixels: &Pixels<'_>,
        x: &Axis,
        y: &Axis,
        filter: Filter,
        antialias: bool,
        sink: &mut Sink<'_>,
    ) -> Result<(), Error> {
        let Some(reads) = check(pixels, x, y, filter, antialias, sink)? else {
            return Ok(());
        };
        let mut plan = |axis: &Axis| {
            (!axis.is_copy()).then(|| self.plans.find(axis, filter, antialias, self.level)).transpose()
        };
        let (across, down) = (plan(x)?, plan(y)?);
        let finish = Finish::new(sink, pixels.channels, x.len());
        let pass = Pass {
            level: self.level,
            source: Source { pixels, reads: &reads },
            across: across.map(|place| self.plans.get(place)),
            down: down.map(|place| self.plans.get(place)),
            row_len: x.len() * pixels.channels,
            finish,
        };
        // Fixed taps are not Pillow's but torch's, which filters horizontally first whatever the sizes.
        let by_size = Method::of(filter, antialias) == Method::Antialiased && down_goes_first(x, y);
        match pass.down {
            // With one filter the order does not matter, but this one needs no copy of the source.
            Some(plan) if !plan.single && (by_size || pass.across.is_none()) => {
                pass.down_first(plan, y.len(), &mut self.scratch, sink)
            }
            _ => pass.across_first(y.len(), &mut self.scratch, sink),
        }
    }
}

/// The parameters of a render, for either order. A missing filter copies.
pub(crate) struct Pass<'a> {
    pub(crate) level: Level,
    pub(crate) source: Source<'a>,
    pub(crate) across: Option<&'a Plan>,
    pub(crate) down: Option<&'a Plan>,
    /// Bytes of a row of the window.
    pub(crate) row_len: usize,
    pub(crate) finish: Finish,
}

impl Pass<'_> {
    /// Stores row `index` of the `height` rows of the window.
    pub(crate) fn store(
        &self,
        row: &[u8],
        spare: &mut [u8],
        (index, height): (usize, usize),
        sink: &mut Sink<'_>,
    ) {
        let place = if sink.flip_v { height - 1 - index } else { index };
        let base = sink.offset + place * sink.row_stride;
        self.level.finish(&self.finish, row, spare, sink.out, base);
    }
}

pub(crate) fn grow(bytes: &mut Vec<u8>, len: usize) -> Result<(), Error> {
    if bytes.len() < len {
        bytes.try_reserve(len - bytes.len()).map_err(|_| Error::NoMemory)?;
        bytes.resize(len, 0);
    }
    Ok(())
}

/// Room for `len` elements in all, so that filling it allocates nothing.
pub(crate) fn reserve<T>(list: &mut Vec<T>, len: usize) -> Result<(), Error> {
    list.try_reserve(len.saturating_sub(list.len())).map_err(|_| Error::NoMemory)
}
