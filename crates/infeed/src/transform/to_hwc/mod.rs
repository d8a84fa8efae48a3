//! `ToHWC`: height, width, channels.

use super::common::need_image;
use infeed_core::{Args, Context, Entry, FieldSpec, PixelLayout, Result, Transform, Value};

/// The registry entry.
pub(super) const ENTRY: Entry<dyn Transform> =
    Entry { name: "ToHWC", about: "axes in the order height, width, channels", params: &[], build };

#[derive(Debug)]
struct ToHwc;

fn build(_: &Args) -> Result<Box<dyn Transform>> {
    Ok(Box::new(ToHwc))
}

impl Transform for ToHwc {
    fn is_random(&self) -> bool {
        false
    }

    fn spec(&self, input: &FieldSpec) -> Result<FieldSpec> {
        need_image("ToHWC", input)?;
        Ok(input.with_layout(PixelLayout::Hwc))
    }

    fn apply(&self, value: &mut Value, _: &mut Context<'_>) -> Result<()> {
        value.image_mut()?.finish.layout = PixelLayout::Hwc;
        Ok(())
    }
}
