//! Batch to batch: samples are mixed with their neighbours. Names and parameters are those of `torchvision.transforms.v2`.
//!
//! The thread that finishes a batch mixes it in place. The partner of a sample is the one before it, as if the batch
//! were rolled by one; going backwards, only the last sample must be set aside. To add a batch transform: a folder,
//! its `mod` line and its `ENTRY` here.

mod beta;
mod blend;
mod cut;
mod fields;
mod labels;
mod mixer;

mod cut_mix;
mod mix_up;
mod random_mix;

#[cfg(test)]
mod tests;

use infeed_core::{BatchTransform, Entry};

/// Every batch transform, in the order in which `infeed list batch_transforms` shows them.
pub const ENTRIES: &[&Entry<dyn BatchTransform>] = &[&mix_up::ENTRY, &cut_mix::ENTRY, &random_mix::ENTRY];
