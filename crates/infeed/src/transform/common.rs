//! Helpers for several transforms.

use infeed_core::{Args, Dim, Error, FieldKind, FieldSpec, Param, Result};
use infeed_resample::Filter;

/// The `interpolation` parameter.
pub(super) const INTERPOLATION: Param = Param {
    name: "interpolation",
    python: "str",
    default: Some("\"bilinear\""),
    about: "nearest, box, bilinear, hamming, bicubic or lanczos",
};

/// The `antialias` parameter.
pub(super) const ANTIALIAS: Param = Param {
    name: "antialias",
    python: "bool",
    default: Some("true"),
    about: "filter over all source pixels when shrinking, as Pillow does; False is plain interpolation",
};

/// The `fill` parameter.
pub(super) const FILL: Param = Param {
    name: "fill",
    python: "int | Sequence[int]",
    default: Some("0"),
    about: "colour of pixels outside the image, one number or one per channel",
};

/// The `fill` parameter of images and arrays.
pub(super) const ANY_FILL: Param = Param {
    name: "fill",
    python: "float | Sequence[float]",
    default: Some("0"),
    about: "colour of pixels outside the image, one number or one per channel; for arrays the value outside",
};

/// Reads [`INTERPOLATION`].
pub(super) fn filter(args: &Args) -> Result<Filter> {
    Ok(match args.text("interpolation")?.to_ascii_lowercase().as_str() {
        "nearest" | "nearest-exact" => Filter::Nearest,
        "box" => Filter::Box,
        "bilinear" => Filter::Bilinear,
        "hamming" => Filter::Hamming,
        "bicubic" => Filter::Bicubic,
        "lanczos" => Filter::Lanczos,
        _ => {
            return Err(
                args.error("interpolation", "must be nearest, box, bilinear, hamming, bicubic or lanczos")
            );
        }
    })
}

/// Reads [`FILL`].
pub(super) fn fill(args: &Args) -> Result<[u8; 4]> {
    let values = args.ints("fill", 0)?;
    let byte = |n: &i64| u8::try_from(*n).map_err(|_| args.error("fill", "must be 0 to 255"));
    match values.as_slice() {
        [one] => Ok([byte(one)?; 4]),
        many if many.len() <= 4 => {
            let mut out = [0; 4];
            for (o, n) in out.iter_mut().zip(many) {
                *o = byte(n)?;
            }
            Ok(out)
        }
        _ => Err(args.error("fill", "must be one number or one per channel")),
    }
}

/// Refuses anything but an image.
pub(super) fn need_image(name: &str, input: &FieldSpec) -> Result<()> {
    if matches!(input.kind, FieldKind::Image(_)) {
        return Ok(());
    }
    let cure = match input.kind {
        FieldKind::Encoded => "; decode it first, for example .decode(jpg=\"rgb\")",
        kind if kind.is_target() => {
            "; it changes colours, which only images have: leave the field out of on="
        }
        _ => "",
    };
    Err(Error::plan(name, format!("works on images, but the field is {input}{cure}")))
}

/// Refuses anything but images and what lies in them: masks, boxes, points.
pub(super) fn need_place(name: &str, input: &FieldSpec) -> Result<()> {
    if input.kind.is_target() { Ok(()) } else { need_image(name, input) }
}

/// Returns a dimension if it is fixed.
pub(super) fn known(dim: Dim) -> Option<u32> {
    match dim {
        Dim::Fixed(n) => u32::try_from(n).ok(),
        Dim::Any => None,
    }
}

/// A fixed dimension.
pub(super) fn fixed(n: u32) -> Dim {
    Dim::Fixed(n as usize)
}

/// Rounds half to even, as Python's `round` does: torchvision computes crop offsets with it.
pub(super) fn round_even(x: f64) -> i64 {
    x.round_ties_even() as i64
}
