//! Magnitudes of operations: bins, in 32-bit floats as in torchvision.

use super::Op;

/// The ranges of magnitudes of one method.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::transform) struct Space {
    /// Tangent of shears.
    shear: f64,
    /// Largest translation: a share of the side, or pixels.
    translate: Translate,
    /// Degrees.
    rotate: f64,
    /// Distance of factors from one.
    factor: f64,
    /// Number of bits removed.
    bits: f64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Translate {
    Share(f64),
    Pixels(f64),
}

/// Whether a magnitude may also be negative.
pub(in crate::transform) fn signed(op: Op) -> bool {
    use Op::{Brightness, Color, Contrast, Rotate, Sharpness, ShearX, ShearY, TranslateX, TranslateY};
    matches!(
        op,
        ShearX | ShearY | TranslateX | TranslateY | Rotate | Brightness | Color | Contrast | Sharpness
    )
}

impl Space {
    /// For AutoAugment and RandAugment.
    pub(in crate::transform) const USUAL: Space = Space {
        shear: 0.3,
        translate: Translate::Share(150.0 / 331.0),
        rotate: 30.0,
        factor: 0.9,
        bits: 4.0,
    };

    /// For TrivialAugmentWide.
    pub(in crate::transform) const WIDE: Space =
        Space { shear: 0.99, translate: Translate::Pixels(32.0), rotate: 135.0, factor: 0.99, bits: 6.0 };

    /// Returns the magnitude of `op` in a bin, for images of (width, height); `None` if the operation has none.
    pub(in crate::transform) fn magnitude(
        &self,
        op: Op,
        bin: usize,
        bins: usize,
        size: (u32, u32),
    ) -> Option<f64> {
        let side = |n: u32| match self.translate {
            Translate::Share(share) => share * f64::from(n),
            Translate::Pixels(pixels) => pixels,
        };
        let (start, end) = match op {
            Op::ShearX | Op::ShearY => (0.0, self.shear),
            Op::TranslateX => (0.0, side(size.0)),
            Op::TranslateY => (0.0, side(size.1)),
            Op::Rotate => (0.0, self.rotate),
            Op::Brightness | Op::Color | Op::Contrast | Op::Sharpness => (0.0, self.factor),
            Op::Solarize => (1.0, 0.0),
            Op::Posterize => return Some(self.posterize(bin, bins)),
            Op::Identity | Op::AutoContrast | Op::Equalize | Op::Invert => return None,
        };
        Some(linspace(start, end, bin, bins))
    }

    fn posterize(&self, bin: usize, bins: usize) -> f64 {
        if bin == 0 {
            return 8.0;
        }
        let step = (bins as f64 - 1.0) / self.bits;
        f64::from((8.0 - bin as f32 / step as f32).round_ties_even())
    }
}

/// Returns point `at` of `count` even steps from `start` to `end`, in 32-bit floats. As in torch, the second half
/// counts from the end, and product and sum are rounded once together (in f64 here, where both are exact enough).
fn linspace(start: f64, end: f64, at: usize, count: usize) -> f64 {
    let (start, end) = (start as f32, end as f32);
    if count < 2 {
        return start.into();
    }
    let step = f64::from((end - start) / (count - 1) as f32);
    let value = if at < count / 2 {
        f64::from(start) + step * at as f64
    } else {
        f64::from(end) - step * (count - at - 1) as f64
    };
    f64::from(value as f32)
}
