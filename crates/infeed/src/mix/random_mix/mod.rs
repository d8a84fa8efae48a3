//! `RandomMix`: MixUp or CutMix, chosen at random for every batch.

use super::mixer::{LABEL, Mixer, NUM_CLASSES, alpha};
use infeed_core::{Args, BatchTransform, Entry, Param, Result};

/// The registry entry.
pub(super) const ENTRY: Entry<dyn BatchTransform> = Entry {
    name: "RandomMix",
    about: "MixUp or CutMix, chosen anew for every batch",
    params: &[
        Param {
            name: "mixup_alpha",
            python: "float",
            default: Some("1.0"),
            about: "alpha of MixUp; 0 leaves it out",
        },
        Param {
            name: "cutmix_alpha",
            python: "float",
            default: Some("1.0"),
            about: "alpha of CutMix; 0 leaves it out",
        },
        NUM_CLASSES,
        Param {
            name: "switch",
            python: "float",
            default: Some("0.5"),
            about: "probability of CutMix where both are there",
        },
        Param {
            name: "p",
            python: "float",
            default: Some("1.0"),
            about: "probability of mixing a batch at all",
        },
        LABEL,
    ],
    build,
};

fn build(args: &Args) -> Result<Box<dyn BatchTransform>> {
    let some = |name| if args.float(name)? == 0.0 { Ok(None) } else { alpha(args, name).map(Some) };
    let (mixup, cutmix) = (some("mixup_alpha")?, some("cutmix_alpha")?);
    if mixup.is_none() && cutmix.is_none() {
        return Err(args.error("mixup_alpha", "and cutmix_alpha cannot both be 0: nothing would be mixed"));
    }
    let (switch, p) = (args.probability("switch")?, args.probability("p")?);
    Ok(Box::new(Mixer { mixup, cutmix, switch, p, ..Mixer::new("RandomMix", args)? }))
}
