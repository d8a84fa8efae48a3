//! Checks of what a device has drawn, against the same arithmetic on the processor.

use crate::{Decoded, Result, Row, Target};
use infeed_core::{Drawing, Dtype, Scratch};
use infeed_resample::needed;

/// How far the rows of a batch differ from those drawn here from the same decoded pixels.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Differences {
    /// Values that were compared.
    pub values: u64,
    /// Values that differ at all.
    pub different: u64,
    /// The largest difference, in 255ths of the range of pixels.
    pub largest: f64,
    /// Bytes that drawing must read and write: decoded pixels under the views, once, and results.
    pub bytes: u64,
}

impl Decoded {
    /// Compares the batch after it was drawn. Waits for it, and takes long.
    pub fn audit(&mut self, rows: &[Row<'_>], target: Target) -> Result<Differences> {
        let (work, drawn) = self.parts(rows)?;
        let mut out = Differences::default();
        let mut scratch = Scratch::new();
        for (number, row, image) in drawn {
            let over = image.over(work.pixels(number, image)?)?;
            let mut wanted = vec![0; over.bytes()];
            over.render(&mut scratch, &mut wanted)?;
            let found = work.row(target, row)?;
            out.bytes += image.drawing().map_or(0, |drawing| moved(&drawing));
            let finish = over.finish;
            let step = finish.scale[..usize::from(over.channels())]
                .iter()
                .fold(f64::INFINITY, |least, scale| least.min(f64::from(scale.abs())))
                .max(f64::MIN_POSITIVE);
            for (a, b) in values(finish.dtype, &wanted).zip(values(finish.dtype, &found)) {
                out.values += 1;
                if a != b {
                    out.different += 1;
                    out.largest = out.largest.max((a - b).abs() / step);
                }
            }
        }
        Ok(out)
    }
}

/// Bytes that are read and written for an image at least.
fn moved(drawing: &Drawing<'_>) -> u64 {
    let used = |axis| {
        let range = needed(axis, drawing.filter, drawing.antialias);
        u64::from(range.end - range.start)
    };
    let stored = if drawing.gray { 1 } else { 3 };
    used(&drawing.axes.0) * used(&drawing.axes.1) * stored + drawing.result_bytes() as u64
}

fn values(dtype: Dtype, bytes: &[u8]) -> impl Iterator<Item = f64> {
    bytes.chunks_exact(dtype.size()).map(move |raw| match (dtype, raw) {
        (Dtype::U8, [value]) => f64::from(*value),
        (Dtype::F16, [a, b]) => f64::from(half::f16::from_ne_bytes([*a, *b])),
        (Dtype::Bf16, [a, b]) => f64::from(half::bf16::from_ne_bytes([*a, *b])),
        (Dtype::F32, [a, b, c, d]) => f64::from(f32::from_ne_bytes([*a, *b, *c, *d])),
        _ => f64::NAN,
    })
}
