//! Arguments that the formats share.

use infeed_annotations::Outside;
use infeed_core::{Args, Param, Result};

pub(super) const EMPTY: Param = Param {
    name: "empty",
    python: "bool",
    default: Some("true"),
    about: "keep images without annotations; without them, formats with one label file per image read all of those at opening",
};

pub(super) const MISSING: Param = Param {
    name: "missing",
    python: "MissingImages",
    default: Some("\"error\""),
    about: "what to do about images that are named but not there: error, or skip (explain() says how many)",
};

pub(super) const OUTSIDE: Param = Param {
    name: "outside",
    python: "OutsideBoxes",
    default: Some("\"error\""),
    about: "a box that is not inside its image: error (the sample is bad), clip (at the border), or keep",
};

pub(super) const FIELDS: Param = Param {
    name: "fields",
    python: "Sequence[str] | None",
    default: Some("null"),
    about: "fields to read; all by default",
};

/// Returns what becomes of boxes outside their image.
pub(super) fn outside(args: &Args) -> Result<Outside> {
    match args.text("outside")? {
        "error" => Ok(Outside::Error),
        "clip" => Ok(Outside::Clip),
        "keep" => Ok(Outside::Keep),
        _ => Err(args.error("outside", "must be error, clip or keep")),
    }
}

/// Whether images that are not there are left out.
pub(super) fn skips_missing(args: &Args) -> Result<bool> {
    match args.text("missing")? {
        "error" => Ok(false),
        "skip" => Ok(true),
        _ => Err(args.error("missing", "must be error or skip")),
    }
}
