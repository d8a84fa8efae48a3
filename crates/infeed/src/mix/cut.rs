//! Rectangles that are cut from one sample and pasted into the next.

use infeed_core::{PixelLayout, Rng};

/// A rectangle of pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cut {
    pub(super) x: (usize, usize),
    pub(super) y: (usize, usize),
}

impl Cut {
    /// Draws the rectangle as torchvision does: around a random point, `1 - lambda` of the area, clipped at the border.
    pub(super) fn draw(lambda: f32, height: usize, width: usize, rng: &mut Rng) -> Self {
        let half = 0.5 * (1.0 - f64::from(lambda)).sqrt();
        let mut side = |n: usize| {
            let (at, reach) = (rng.below(n as u64) as usize, (half * n as f64) as usize);
            (at.saturating_sub(reach), (at + reach).min(n))
        };
        // The column is drawn first.
        let x = side(width);
        Cut { x, y: side(height) }
    }

    /// Returns the remaining share of the sample itself.
    pub(super) fn lambda(&self, height: usize, width: usize) -> f32 {
        let area = (self.x.1 - self.x.0) * (self.y.1 - self.y.0);
        (1.0 - area as f64 / (width * height) as f64) as f32
    }
}

/// The pixel layout of one field's samples.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pixels {
    pub(super) layout: PixelLayout,
    pub(super) height: usize,
    pub(super) width: usize,
    pub(super) channels: usize,
    /// Bytes of one element.
    pub(super) element: usize,
}

impl Pixels {
    /// Bytes of one sample.
    fn bytes(&self) -> usize {
        self.height * self.width * self.channels * self.element
    }

    /// Returns the byte ranges of a rectangle's rows.
    fn rows(self, cut: Cut) -> impl Iterator<Item = (usize, usize)> {
        let (planes, pixel) = match self.layout {
            PixelLayout::Hwc => (1, self.channels * self.element),
            PixelLayout::Chw => (self.channels, self.element),
        };
        let row = self.width * pixel;
        (0..planes).flat_map(move |plane| {
            (cut.y.0..cut.y.1).map(move |y| {
                let start = (plane * self.height + y) * row;
                (start + cut.x.0 * pixel, start + cut.x.1 * pixel)
            })
        })
    }
}

/// Pastes the rectangle of the sample before into every sample; the first gets that of the last. `spare` is scratch
/// memory.
pub(super) fn paste(pixels: Pixels, data: &mut [u8], samples: usize, cut: Cut, spare: &mut Vec<u8>) {
    let each = pixels.bytes();
    if samples < 2 || cut.x.0 == cut.x.1 {
        return;
    }
    let last = (samples - 1) * each;
    spare.clear();
    for (start, end) in pixels.rows(cut) {
        spare.extend_from_slice(&data[last + start..last + end]);
    }
    // Backwards, so that the sample before is still unchanged.
    for at in (1..samples).rev() {
        let (before, from) = data.split_at_mut(at * each);
        let before = &before[(at - 1) * each..];
        for (start, end) in pixels.rows(cut) {
            from[start..end].copy_from_slice(&before[start..end]);
        }
    }
    let mut kept = spare.as_slice();
    for (start, end) in pixels.rows(cut) {
        let (row, after) = kept.split_at(end - start);
        data[start..end].copy_from_slice(row);
        kept = after;
    }
}
