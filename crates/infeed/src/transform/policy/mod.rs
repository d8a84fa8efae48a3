//! The operations of learned and random policies, as torchvision's auto-augmentations define them.

mod space;

use super::pixels::{colours, fill, redraw_with, sampling, warp};
use super::random_rotation::Rotate;
use infeed_core::{Args, Context, Image, Result};
use infeed_pixels::{Sampling, affine};
pub(super) use space::{Space, signed};

/// One operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Op {
    Identity,
    ShearX,
    ShearY,
    TranslateX,
    TranslateY,
    Rotate,
    Brightness,
    Color,
    Contrast,
    Sharpness,
    Posterize,
    Solarize,
    AutoContrast,
    Equalize,
    Invert,
}

impl Op {
    /// The operations of RandAugment and TrivialAugmentWide, all equally likely.
    pub(super) const COMMON: [Op; 14] = [
        Op::Identity,
        Op::ShearX,
        Op::ShearY,
        Op::TranslateX,
        Op::TranslateY,
        Op::Rotate,
        Op::Brightness,
        Op::Color,
        Op::Contrast,
        Op::Sharpness,
        Op::Posterize,
        Op::Solarize,
        Op::AutoContrast,
        Op::Equalize,
    ];
}

/// Interpolation and fill colour of operations.
#[derive(Debug, Clone, Copy)]
pub(super) struct Style {
    sampling: Sampling,
    fill: [u8; 4],
}

impl Style {
    /// Reads `interpolation` and `fill`.
    pub(super) fn new(args: &Args) -> Result<Self> {
        Ok(Style { sampling: sampling(args)?, fill: fill(args)? })
    }

    #[cfg(test)]
    pub(super) fn of(bilinear: bool, fill: [u8; 4]) -> Self {
        Style { sampling: if bilinear { Sampling::Bilinear } else { Sampling::Nearest }, fill }
    }

    /// Applies one operation.
    pub(super) fn apply(
        &self,
        image: &mut Image,
        op: Op,
        magnitude: f64,
        context: &mut Context<'_>,
    ) -> Result<()> {
        match op {
            Op::Identity => Ok(()),
            Op::ShearX | Op::ShearY | Op::TranslateX | Op::TranslateY => {
                self.warp(image, op, magnitude, context)
            }
            Op::Rotate => {
                let rotate = Rotate { sampling: self.sampling, expand: false, center: None, fill: self.fill };
                rotate.apply(image, magnitude, context)
            }
            Op::Sharpness => {
                let row = u64::from(image.width()) * u64::from(image.channels()) * 2;
                redraw_with(image, context, row, |picture, out| {
                    infeed_pixels::sharpness(picture, 1.0 + magnitude, out)
                })
            }
            _ => colour(image, op, magnitude, context),
        }
    }

    fn warp(&self, image: &mut Image, op: Op, magnitude: f64, context: &mut Context<'_>) -> Result<()> {
        let middle = (f64::from(image.width()) * 0.5, f64::from(image.height()) * 0.5);
        // Magnitudes of shears are tangents, those of translations are whole pixels.
        let angle = magnitude.atan().to_degrees();
        let (center, translate, shear) = match op {
            Op::ShearX => ((0.0, 0.0), (0.0, 0.0), (angle, 0.0)),
            Op::ShearY => ((0.0, 0.0), (0.0, 0.0), (0.0, angle)),
            Op::TranslateX => (middle, (magnitude.trunc(), 0.0), (0.0, 0.0)),
            _ => (middle, (0.0, magnitude.trunc()), (0.0, 0.0)),
        };
        warp(image, &affine(center, 0.0, translate, 1.0, shear), self.sampling, self.fill, context)
    }
}

fn colour(image: &mut Image, op: Op, magnitude: f64, context: &mut Context<'_>) -> Result<()> {
    let (pixels, channels) = colours(image, context)?;
    match op {
        Op::Brightness => infeed_pixels::brightness(pixels, 1.0 + magnitude),
        Op::Contrast => infeed_pixels::contrast(pixels, channels, 1.0 + magnitude),
        Op::Color if channels == 3 => infeed_pixels::saturation(pixels, 1.0 + magnitude),
        Op::Posterize => infeed_pixels::posterize(pixels, magnitude as u32),
        Op::Solarize => infeed_pixels::solarize(pixels, 255.0 * magnitude),
        Op::AutoContrast => infeed_pixels::autocontrast(pixels, channels),
        Op::Equalize => infeed_pixels::equalize(pixels, channels),
        Op::Invert => infeed_pixels::invert(pixels),
        _ => {}
    }
    Ok(())
}
