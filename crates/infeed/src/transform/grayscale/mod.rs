//! `Grayscale`: luma in one or three channels.

use super::pixels::{colours, need_colours};
use infeed_core::{
    Args, Context, Dim, Entry, FieldKind, FieldSpec, Image, Param, PixelLayout, Result, Transform, Value,
};

/// The registry entry.
pub(super) const ENTRY: Entry<dyn Transform> = Entry {
    name: "Grayscale",
    about: "turn colours into gray",
    params: &[Param {
        name: "num_output_channels",
        python: "int",
        default: Some("1"),
        about: "1, or 3 for three equal channels",
    }],
    build,
};

#[derive(Debug)]
struct Grayscale {
    channels: u8,
}

fn build(args: &Args) -> Result<Box<dyn Transform>> {
    match args.int("num_output_channels", 1)? {
        n @ (1 | 3) => Ok(Box::new(Grayscale { channels: n as u8 })),
        _ => Err(args.error("num_output_channels", "must be 1 or 3")),
    }
}

/// Gray in `channels` channels.
fn gray(image: &mut Image, channels: u8, context: &mut Context<'_>) -> Result<()> {
    let size = (image.width(), image.height(), channels);
    let (pixels, from) = colours(image, context)?;
    match (from, channels) {
        (3, 3) => infeed_pixels::gray_in_place(pixels),
        (3, _) => image.redraw(size, context.scratch, infeed_pixels::grayscale)?,
        (_, 3) => image.redraw(size, context.scratch, |pixels, out| {
            out.as_chunks_mut::<3>().0.iter_mut().zip(pixels).for_each(|(out, gray)| *out = [*gray; 3]);
        })?,
        _ => {}
    }
    Ok(())
}

impl Transform for Grayscale {
    fn is_random(&self) -> bool {
        false
    }

    fn spec(&self, input: &FieldSpec) -> Result<FieldSpec> {
        need_colours("Grayscale", input)?;
        let mut out = input.clone();
        let at = if input.kind == FieldKind::Image(PixelLayout::Chw) { 0 } else { 2 };
        out.shape[at] = Dim::Fixed(self.channels.into());
        Ok(out)
    }

    fn apply(&self, value: &mut Value, context: &mut Context<'_>) -> Result<()> {
        gray(value.image_mut()?, self.channels, context)
    }
}

#[cfg(test)]
mod tests;
