//! Helpers for transforms that need pixels: they render the image, so they need u8 pixels and come before Normalize.

use infeed_core::{Args, Context, Dim, Dtype, Error, FieldSpec, Image, Param, Result};
use infeed_pixels::{Affine, NoMemory, Picture, Sampling, warp_affine};

use super::common::need_image;

/// The `p` parameter.
pub(super) const P: Param =
    Param { name: "p", python: "float", default: Some("0.5"), about: "probability of doing it" };

/// The `interpolation` parameter of warps.
pub(super) const SAMPLING: Param = Param {
    name: "interpolation",
    python: "str",
    default: Some("\"nearest\""),
    about: "nearest or bilinear",
};

/// The `fill` parameter of warps.
pub(super) const FILL: Param = Param {
    name: "fill",
    python: "float | Sequence[float] | None",
    default: Some("0"),
    about: "colour of pixels outside the image in levels of 0..255, one number or one per channel",
};

/// Reads [`SAMPLING`].
pub(super) fn sampling(args: &Args) -> Result<Sampling> {
    match args.text("interpolation")?.to_ascii_lowercase().as_str() {
        "nearest" | "nearest-exact" => Ok(Sampling::Nearest),
        "bilinear" => Ok(Sampling::Bilinear),
        _ => Err(args.error("interpolation", "must be nearest or bilinear")),
    }
}

/// Reads [`FILL`].
pub(super) fn fill(args: &Args) -> Result<[u8; 4]> {
    let values = if args.is_none("fill") { vec![0.0] } else { args.floats("fill")? };
    if values.is_empty() || values.len() > 4 || values.iter().any(|v| !(0.0..=255.0).contains(v)) {
        return Err(args.error("fill", "must be one number or one per channel, each 0 to 255"));
    }
    Ok(std::array::from_fn(|c| values[if values.len() == 1 { 0 } else { c.min(values.len() - 1) }] as u8))
}

/// Reads degrees as torchvision does: one number is a range around zero; `counts` are the other allowed lengths.
pub(super) fn degrees(args: &Args, name: &str, counts: &[usize]) -> Result<Vec<f64>> {
    let values = args.floats(name)?;
    match values.as_slice() {
        [one] if *one >= 0.0 => Ok(vec![-one, *one]),
        [_] => Err(args.error(name, "must not be negative when it is one number")),
        many if counts.contains(&many.len()) => Ok(values),
        _ => Err(args.error(name, "must be a number or a range (low, high)")),
    }
}

/// Refuses anything but images whose values are still u8.
pub(super) fn need_pixels(name: &str, input: &FieldSpec) -> Result<()> {
    need_image(name, input)?;
    if input.dtype == Dtype::U8 {
        return Ok(());
    }
    Err(Error::plan(
        name,
        format!("works on u8 images, but the field is {input}; put it before Normalize and ToDtype"),
    ))
}

/// Refuses anything but images whose values are still u8, and what lies in them.
pub(super) fn need_place_pixels(name: &str, input: &FieldSpec) -> Result<()> {
    if input.kind.is_target() { Ok(()) } else { need_pixels(name, input) }
}

/// Returns how an image is sampled and what is outside of it: classes of a mask are never mixed.
pub(super) fn style(image: &Image, sampling: Sampling, fill: [u8; 4]) -> (Sampling, [u8; 4]) {
    image.mask_fill().map_or((sampling, fill), |class| (Sampling::Nearest, class))
}

/// Refuses anything but gray and RGB images whose values are still u8.
pub(super) fn need_colours(name: &str, input: &FieldSpec) -> Result<()> {
    need_pixels(name, input)?;
    match input.image_dims() {
        Some((_, _, Dim::Fixed(c))) if c != 1 && c != 3 => Err(Error::plan(
            name,
            format!(
                "works on images of 1 or 3 channels, but the field is {input}; decode it as \"rgb\" or \"gray\""
            ),
        )),
        _ => Ok(()),
    }
}

/// Returns the pixels of a gray or RGB image for changing, and its channels.
pub(super) fn colours<'a>(
    image: &'a mut Image,
    context: &mut Context<'_>,
) -> Result<(&'a mut Vec<u8>, usize)> {
    let channels = usize::from(image.channels());
    if channels != 1 && channels != 3 {
        return Err(Error::sample(format!(
            "this image has {channels} channels, and colours need 1 or 3; decode it as \"rgb\" or \"gray\""
        )));
    }
    Ok((image.pixels_mut(context.scratch)?, channels))
}

/// Replaces the pixels by others of the same size, computed from them.
pub(super) fn redraw(
    image: &mut Image,
    context: &mut Context<'_>,
    draw: impl FnOnce(&Picture<'_>, &mut [u8]),
) -> Result<()> {
    let size = (image.width(), image.height());
    resized(image, size, context, draw)
}

/// [`redraw`] with a function that takes memory for itself, so much at most.
pub(super) fn redraw_with(
    image: &mut Image,
    context: &mut Context<'_>,
    memory: u64,
    draw: impl FnOnce(&Picture<'_>, &mut [u8]) -> Result<(), NoMemory>,
) -> Result<()> {
    context.scratch.claim(memory.saturating_add(image.bytes() as u64 * 2))?;
    let mut drawn = Ok(());
    redraw(image, context, |picture, out| drawn = draw(picture, out))?;
    drawn.map_err(|e| Error::sample(e.to_string()))
}

/// Replaces the pixels by others of (width, height), computed from them.
pub(super) fn resized(
    image: &mut Image,
    (width, height): (u32, u32),
    context: &mut Context<'_>,
    draw: impl FnOnce(&Picture<'_>, &mut [u8]),
) -> Result<()> {
    let (w, h, channels) = (image.width() as usize, image.height() as usize, image.channels());
    image.redraw((width, height, channels), context.scratch, |data, out| {
        draw(&Picture { data, width: w, height: h, channels: usize::from(channels) }, out);
    })
}

/// Warps the image onto itself.
pub(super) fn warp(
    image: &mut Image,
    matrix: &Affine,
    sampling: Sampling,
    fill: [u8; 4],
    context: &mut Context<'_>,
) -> Result<()> {
    let width = image.width() as usize;
    let (sampling, fill) = style(image, sampling, fill);
    redraw(image, context, |picture, out| warp_affine(picture, matrix, sampling, fill, width, out))
}
