//! Sample to sample. One folder per transform; names and parameters of those on images are those of
//! `torchvision.transforms.v2`.
//!
//! A transform on an image changes numbers, not pixels, where it can: see [`infeed_core::Image`]. Those that need pixels
//! use [`infeed_pixels`]. To add one, follow CONTRIBUTING.md:
//! a folder, its `mod` line and its `ENTRY` here.

mod chain;
mod common;
mod pixels;
mod policy;
mod tokens;

mod auto_augment;
mod center_crop;
mod color_jitter;
mod corrupt_spans;
mod gaussian_blur;
mod grayscale;
mod length;
mod mask_tokens;
mod normalize;
mod pad;
mod pad_to;
mod rand_augment;
mod random_adjust_sharpness;
mod random_affine;
mod random_autocontrast;
mod random_crop;
mod random_equalize;
mod random_erasing;
mod random_grayscale;
mod random_horizontal_flip;
mod random_perspective;
mod random_posterize;
mod random_resized_crop;
mod random_rotation;
mod random_solarize;
mod random_vertical_flip;
mod resize;
mod to_chw;
mod to_dtype;
mod to_hwc;
mod tokenize;
mod trivial_augment_wide;
mod truncate;

#[cfg(test)]
mod golden;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod text_tests;

pub use chain::Chain;

use infeed_core::{Entry, Transform};

/// Every transform of images, in the order in which `infeed list transforms` shows them.
pub const ENTRIES: &[&Entry<dyn Transform>] = &[
    &resize::ENTRY,
    &center_crop::ENTRY,
    &random_crop::ENTRY,
    &random_resized_crop::ENTRY,
    &random_horizontal_flip::ENTRY,
    &random_vertical_flip::ENTRY,
    &pad::ENTRY,
    &color_jitter::ENTRY,
    &grayscale::ENTRY,
    &random_grayscale::ENTRY,
    &gaussian_blur::ENTRY,
    &random_rotation::ENTRY,
    &random_affine::ENTRY,
    &random_perspective::ENTRY,
    &rand_augment::ENTRY,
    &trivial_augment_wide::ENTRY,
    &auto_augment::ENTRY,
    &random_posterize::ENTRY,
    &random_solarize::ENTRY,
    &random_adjust_sharpness::ENTRY,
    &random_autocontrast::ENTRY,
    &random_equalize::ENTRY,
    &normalize::ENTRY,
    &random_erasing::ENTRY,
    &to_dtype::ENTRY,
    &to_chw::ENTRY,
    &to_hwc::ENTRY,
];

/// Every transform of texts and tokens.
pub const SEQUENCES: &[&Entry<dyn Transform>] = &[
    &tokenize::ENTRY,
    &truncate::ENTRY,
    &pad_to::ENTRY,
    &mask_tokens::ENTRY,
    &corrupt_spans::ENTRY,
    &length::ENTRY,
];

/// All of them.
pub fn entries() -> Vec<&'static Entry<dyn Transform>> {
    ENTRIES.iter().chain(SEQUENCES).copied().collect()
}
