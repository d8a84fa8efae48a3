//! `MixUp`: every sample becomes a weighted sum of itself and its neighbour.

use super::mixer::{LABEL, Mixer, NUM_CLASSES, alpha};
use infeed_core::{BatchTransform, Entry, Param};

/// The registry entry.
pub(super) const ENTRY: Entry<dyn BatchTransform> = Entry {
    name: "MixUp",
    about: "mix every sample of a batch, and its label, with its neighbour: a weighted sum",
    params: &[
        Param {
            name: "alpha",
            python: "float",
            default: Some("1.0"),
            about: "the weight is drawn from Beta(alpha, alpha), once per batch",
        },
        NUM_CLASSES,
        LABEL,
    ],
    build: |args| Ok(Box::new(Mixer { mixup: Some(alpha(args, "alpha")?), ..Mixer::new("MixUp", args)? })),
};
