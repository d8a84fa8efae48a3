//! `ToCHW`: channels, height, width.

use super::common::need_image;
use infeed_core::{Args, Context, Entry, FieldSpec, PixelLayout, Result, Transform, Value};

/// The registry entry.
pub(super) const ENTRY: Entry<dyn Transform> =
    Entry { name: "ToCHW", about: "axes in the order channels, height, width", params: &[], build };

#[derive(Debug)]
struct ToChw;

fn build(_: &Args) -> Result<Box<dyn Transform>> {
    Ok(Box::new(ToChw))
}

impl Transform for ToChw {
    fn is_random(&self) -> bool {
        false
    }

    fn spec(&self, input: &FieldSpec) -> Result<FieldSpec> {
        need_image("ToCHW", input)?;
        Ok(input.with_layout(PixelLayout::Chw))
    }

    fn apply(&self, value: &mut Value, _: &mut Context<'_>) -> Result<()> {
        value.image_mut()?.finish.layout = PixelLayout::Chw;
        Ok(())
    }
}
