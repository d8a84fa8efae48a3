//! `CutMix`: every image gets a rectangle of its neighbour.

use super::mixer::{LABEL, Mixer, NUM_CLASSES, alpha};
use infeed_core::{BatchTransform, Entry, Param};

/// The registry entry.
pub(super) const ENTRY: Entry<dyn BatchTransform> = Entry {
    name: "CutMix",
    about: "paste a rectangle of its neighbour into every image of a batch, and mix the labels by area",
    params: &[
        Param {
            name: "alpha",
            python: "float",
            default: Some("1.0"),
            about: "what is left of the image is drawn from Beta(alpha, alpha), once per batch",
        },
        NUM_CLASSES,
        LABEL,
    ],
    build: |args| Ok(Box::new(Mixer { cutmix: Some(alpha(args, "alpha")?), ..Mixer::new("CutMix", args)? })),
};
