//! Sample to sample. One folder per transform; names and parameters are those of `torchvision.transforms.v2`.
//!
//! A transform on an image changes numbers, not pixels: see [`infeed_core::Image`]. To add one, follow CONTRIBUTING.md:
//! a folder, its `mod` line and its `ENTRY` here.

mod chain;
mod common;

mod center_crop;
mod normalize;
mod pad;
mod random_crop;
mod random_horizontal_flip;
mod random_resized_crop;
mod random_vertical_flip;
mod resize;
mod to_chw;
mod to_dtype;
mod to_hwc;

#[cfg(test)]
mod tests;

pub use chain::Chain;

use infeed_core::{Entry, Transform};

/// Every transform, in the order in which `infeed list transforms` shows them.
pub const ENTRIES: &[&Entry<dyn Transform>] = &[
    &resize::ENTRY,
    &center_crop::ENTRY,
    &random_crop::ENTRY,
    &random_resized_crop::ENTRY,
    &random_horizontal_flip::ENTRY,
    &random_vertical_flip::ENTRY,
    &pad::ENTRY,
    &normalize::ENTRY,
    &to_dtype::ENTRY,
    &to_chw::ENTRY,
    &to_hwc::ENTRY,
];
