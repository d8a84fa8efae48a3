//! Sample to sample. One folder per transform; image transforms have the names and parameters of
//! `torchvision.transforms.v2`.
//!
//! An image transform changes the view of an image, not its pixels, where it can: see [`infeed_core::Image`]. Those
//! that need pixels use the crate `infeed-pixels` and the feature `images`. Transforms of arrays share `array`; some work on
//! both. To add one, follow CONTRIBUTING.md: a folder, its `mod` line and its `ENTRY` here.

mod array;
mod chain;
mod common;
mod patches;
#[cfg(feature = "images")]
mod pixels;
#[cfg(feature = "images")]
mod policy;
mod sequence;
#[cfg(feature = "text")]
mod tokens;

#[cfg(feature = "images")]
mod auto_augment;
mod block_mask;
mod center_crop;
mod clip;
#[cfg(feature = "images")]
mod color_jitter;
#[cfg(feature = "text")]
mod corrupt_spans;
mod fill_nan;
#[cfg(feature = "images")]
mod gaussian_blur;
#[cfg(feature = "images")]
mod grayscale;
mod length;
mod log1p;
#[cfg(feature = "text")]
mod mask_tokens;
mod moments;
mod normalize;
mod one_hot;
mod pad;
mod pad_to;
#[cfg(feature = "images")]
mod rand_augment;
#[cfg(feature = "images")]
mod random_adjust_sharpness;
#[cfg(feature = "images")]
mod random_affine;
mod random_apply;
#[cfg(feature = "images")]
mod random_autocontrast;
mod random_crop;
#[cfg(feature = "images")]
mod random_equalize;
mod random_erasing;
mod random_flip;
mod random_gamma;
#[cfg(feature = "images")]
mod random_grayscale;
mod random_horizontal_flip;
mod random_iou_crop;
mod random_noise;
mod random_patch_mask;
#[cfg(feature = "images")]
mod random_perspective;
#[cfg(feature = "images")]
mod random_posterize;
mod random_resized_crop;
mod random_rot90;
#[cfg(feature = "images")]
mod random_rotation;
mod random_shortest_size;
#[cfg(feature = "images")]
mod random_solarize;
mod random_vertical_flip;
mod random_zoom_out;
mod reject_nan;
mod resize;
mod scale;
mod scale_jitter;
mod to_chw;
mod to_dtype;
mod to_hwc;
#[cfg(feature = "text")]
mod tokenize;
mod transpose;
#[cfg(feature = "images")]
mod trivial_augment_wide;
mod truncate;

#[cfg(test)]
mod array_tests;
#[cfg(test)]
mod golden;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod text_tests;

pub use chain::Chain;
pub(crate) use moments::{HEAD, NAME as MOMENTS, Tally};

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
    &random_iou_crop::ENTRY,
    &random_zoom_out::ENTRY,
    &random_shortest_size::ENTRY,
    &scale_jitter::ENTRY,
    #[cfg(feature = "images")]
    &color_jitter::ENTRY,
    #[cfg(feature = "images")]
    &grayscale::ENTRY,
    #[cfg(feature = "images")]
    &random_grayscale::ENTRY,
    #[cfg(feature = "images")]
    &gaussian_blur::ENTRY,
    #[cfg(feature = "images")]
    &random_rotation::ENTRY,
    #[cfg(feature = "images")]
    &random_affine::ENTRY,
    #[cfg(feature = "images")]
    &random_perspective::ENTRY,
    #[cfg(feature = "images")]
    &rand_augment::ENTRY,
    #[cfg(feature = "images")]
    &trivial_augment_wide::ENTRY,
    #[cfg(feature = "images")]
    &auto_augment::ENTRY,
    #[cfg(feature = "images")]
    &random_posterize::ENTRY,
    #[cfg(feature = "images")]
    &random_solarize::ENTRY,
    #[cfg(feature = "images")]
    &random_adjust_sharpness::ENTRY,
    #[cfg(feature = "images")]
    &random_autocontrast::ENTRY,
    #[cfg(feature = "images")]
    &random_equalize::ENTRY,
    &random_apply::ENTRY,
    &normalize::ENTRY,
    &random_erasing::ENTRY,
    &random_patch_mask::ENTRY,
    &block_mask::ENTRY,
    &to_dtype::ENTRY,
    &to_chw::ENTRY,
    &to_hwc::ENTRY,
];

/// Every transform of texts and tokens.
pub const SEQUENCES: &[&Entry<dyn Transform>] = &[
    #[cfg(feature = "text")]
    &tokenize::ENTRY,
    &truncate::ENTRY,
    &pad_to::ENTRY,
    #[cfg(feature = "text")]
    &mask_tokens::ENTRY,
    #[cfg(feature = "text")]
    &corrupt_spans::ENTRY,
    &length::ENTRY,
];

/// Every transform that works on arrays of numbers alone. Several of [`ENTRIES`] take arrays too.
pub const ARRAYS: &[&Entry<dyn Transform>] = &[
    &random_flip::ENTRY,
    &random_rot90::ENTRY,
    &transpose::ENTRY,
    &scale::ENTRY,
    &clip::ENTRY,
    &log1p::ENTRY,
    &random_gamma::ENTRY,
    &random_noise::ENTRY,
    &fill_nan::ENTRY,
    &reject_nan::ENTRY,
    &one_hot::ENTRY,
];

/// Returns all transforms that users choose from.
pub fn entries() -> Vec<&'static Entry<dyn Transform>> {
    ENTRIES.iter().chain(ARRAYS).chain(SEQUENCES).copied().collect()
}

/// Returns all transforms that a recipe may name: also those that the engine puts there itself.
pub(crate) fn all() -> Vec<&'static Entry<dyn Transform>> {
    let mut all = entries();
    all.push(&moments::ENTRY);
    all
}
