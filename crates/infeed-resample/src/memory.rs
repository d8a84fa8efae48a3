//! How much memory a render takes besides the pixels that it reads and writes.

use crate::axis::Method;
use crate::kernel::{BATCH, PAD};
use crate::plan::GROUP;
use crate::{Axis, Filter};

/// Bytes per coefficient: whole, split and as digits.
const COEFFICIENT: u64 = 4 + 4 + 3;

/// About how many bytes [`Resampler::render`](crate::Resampler::render) takes at most for coefficients and rows. Usually that is
/// little, but a picture of one row and millions of columns has a coefficient for almost each of them in every output pixel.
pub fn working_memory(x: &Axis, y: &Axis, channels: usize, filter: Filter, antialias: bool) -> u64 {
    let taps = |axis: &Axis| {
        let reach = match Method::of(filter, antialias) {
            Method::Nearest => 1.0,
            Method::Linear2 => 2.0,
            Method::Cubic4 => 4.0,
            Method::Antialiased => 2.0 * filter.support() * axis.grid().scale.max(1.0) + 2.0,
        };
        (reach as u64).min(u64::from(axis.source)).next_multiple_of(GROUP as u64)
    };
    let plan = |axis: &Axis| (axis.len() as u64).saturating_mul(taps(axis) * COEFFICIENT + 8);
    let row = (x.len() as u64).max(u64::from(x.source)) * channels as u64 + 2 * PAD as u64;
    let rows = row.saturating_mul(taps(y) + 4 * BATCH as u64);
    plan(x).saturating_add(plan(y)).saturating_add(rows).saturating_add(16 * (taps(x) + taps(y)))
}
