//! Segmentations of an image, drawn as one mask per object.

use super::needs_encoded;
use infeed_annotations::InstanceMasks;
use infeed_core::{
    Bytes, Decoder, Dim, Dtype, Entry, FieldKind, FieldSpec, Image, Masks, Param, Result, Scratch,
    TargetRule, Value, lent, memory,
};

#[cfg(test)]
mod tests;

/// The registry entry.
pub(super) static ENTRY: Entry<dyn Decoder> = Entry {
    name: "instance_masks",
    about: "segmentations of COCO (polygons, run lengths) as masks that follow their image: u8 [n, height, width] of 0 and 1",
    params: &[Param {
        name: "image",
        python: "str | None",
        default: Some("null"),
        about: "the field of the image that they lie in, if there are several",
    }],
    build: |args| {
        let image = args.value("image").and_then(|v| v.as_str()).map(str::to_owned);
        Ok(Box::new(MasksDecoder { image }))
    },
};

#[derive(Debug)]
struct MasksDecoder {
    image: Option<String>,
}

impl Decoder for MasksDecoder {
    fn spec(&self, encoded: &FieldSpec) -> Result<FieldSpec> {
        needs_encoded("instance_masks", encoded)?;
        Ok(FieldSpec { kind: FieldKind::Masks, dtype: Dtype::U8, shape: vec![Dim::Any; 3] })
    }

    fn decode(&self, bytes: &Bytes, scratch: &mut Scratch) -> Result<Value> {
        let masks = InstanceMasks::parse(&lent::owned(bytes)?)?;
        scratch.claim(masks.bytes())?;
        let mut out = memory::zeroed(masks.bytes() as usize)?;
        masks.draw(&mut out)?;
        let [_, height, width] = masks.shape();
        let size = (width as u32, height as u32);
        let images = out
            .chunks_exact((width * height).max(1))
            .map(|mask| Image::raw(size.0, size.1, 1, mask.to_vec())?.into_mask(0, None))
            .collect::<Result<_>>()?;
        Ok(Value::Masks(Box::new(Masks { size, images })))
    }

    fn target(&self) -> Option<TargetRule> {
        Some(TargetRule { image: self.image.clone(), along: None })
    }
}
