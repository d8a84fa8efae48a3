//! Segmentations of an image, drawn as one mask per object.

use super::needs_encoded;
use infeed_annotations::InstanceMasks;
use infeed_core::{
    Bytes, Decoder, Dim, Dtype, Entry, FieldSpec, Result, Scratch, Tensor, Value, lent, memory,
};

#[cfg(test)]
mod tests;

/// The registry entry.
pub(super) static ENTRY: Entry<dyn Decoder> = Entry {
    name: "instance_masks",
    about: "segmentations of COCO (polygons, run lengths) as masks: u8 [n, height, width] of 0 and 1",
    params: &[],
    build: |_| Ok(Box::new(Masks)),
};

#[derive(Debug)]
struct Masks;

impl Decoder for Masks {
    fn spec(&self, encoded: &FieldSpec) -> Result<FieldSpec> {
        needs_encoded("instance_masks", encoded)?;
        Ok(FieldSpec::array(Dtype::U8, vec![Dim::Any; 3]))
    }

    fn decode(&self, bytes: &Bytes, scratch: &mut Scratch) -> Result<Value> {
        let masks = InstanceMasks::parse(&lent::owned(bytes)?)?;
        scratch.claim(masks.bytes())?;
        let mut out = memory::zeroed(masks.bytes() as usize)?;
        masks.draw(&mut out)?;
        Ok(Value::Tensor(Tensor::new(Dtype::U8, masks.shape().to_vec(), Bytes::from(out))?))
    }
}
