//! The place of one sample in a batch that is being made.

use super::{ColumnLayout, Filling, filling::ColumnMemory};
use infeed_core::{Deferred, Dtype, Error, Hold, Result, Scratch, Tensor, Value, memory};

/// The slot of one sample in a batch.
#[derive(Debug)]
pub struct SampleSlot<'a> {
    pub(super) filling: &'a Filling,
    pub(super) index: usize,
    /// Whether images may be left to a device.
    pub(super) defers: bool,
}

impl SampleSlot<'_> {
    /// Leaves images to a device, where their column says so and they can be.
    pub fn defer(&mut self) {
        self.defers = true;
    }

    /// Writes one field. An image is decoded and finished directly into the batch.
    pub fn put(&mut self, column: usize, value: Value, scratch: &mut Scratch) -> Result<()> {
        match (&self.filling.columns[column], &self.filling.layouts[column]) {
            (ColumnMemory::Stack { open, bytes }, ColumnLayout::Stack { shape, dtype, .. }) => {
                // SAFETY: the range belongs to this sample alone, and the contract of `Filling::slot` makes this its
                // only slot, borrowed mutably here.
                let place = unsafe { open.slab().part(self.index * bytes, *bytes) };
                write(value, *dtype, shape, place, scratch)
            }
            (ColumnMemory::Deferred { open, bytes, images }, ColumnLayout::Deferred { shape, dtype, .. }) => {
                let value = match self.deferred(value, *dtype, shape) {
                    Ok(image) => {
                        images.hold()[self.index] = Some(image);
                        return Ok(());
                    }
                    Err(value) => value,
                };
                // A sample that was to be made here before may have failed in a later field.
                images.hold()[self.index] = None;
                // SAFETY: as above.
                let place = unsafe { open.slab().part(self.index * bytes, *bytes) };
                write(value, *dtype, shape, place, scratch)
            }
            (ColumnMemory::Loose(values), _) => {
                let value = settle(value, scratch)?;
                values.hold()[self.index] = value;
                Ok(())
            }
            _ => Err(Error::Internal { what: "batch layout does not fit its store".to_owned() }),
        }
    }

    /// Returns an image that is left to a device, or the value.
    fn deferred(&self, value: Value, dtype: Dtype, shape: &[usize]) -> Result<Deferred, Value> {
        match value {
            Value::Image(image) if self.defers && image.finish.dtype == dtype && image.shape() == shape => {
                image.defer().map_err(Value::Image)
            }
            value => Err(value),
        }
    }
}

fn write(value: Value, dtype: Dtype, shape: &[usize], place: &mut [u8], scratch: &mut Scratch) -> Result<()> {
    let differs = |found: String| Error::sample(format!("expected {dtype}{shape:?}, found {found}"));
    match value {
        Value::Image(image) => {
            if image.shape() != shape || image.finish.dtype != dtype {
                return Err(differs(format!("an image of {}{:?}", image.finish.dtype, image.shape())));
            }
            image.render(scratch, place)
        }
        Value::Tensor(tensor) => {
            if tensor.shape != shape || tensor.dtype != dtype {
                return Err(differs(format!("an array of {}{:?}", tensor.dtype, tensor.shape)));
            }
            place.copy_from_slice(&tensor.data);
            Ok(())
        }
        Value::Missing => Err(differs(
            "nothing: the value is null or left out, and an array has no place for that; fill= of tables gives it a value, \
             where= and filter leave such rows out, and on_error=\"skip\" drops them"
                .to_owned(),
        )),
        other => Err(differs(other.what().to_owned())),
    }
}

/// Renders images in lists to arrays: a list must not contain pixels that are not decoded yet.
fn settle(value: Value, scratch: &mut Scratch) -> Result<Value> {
    let Value::Image(image) = value else { return Ok(value) };
    scratch.claim(image.bytes() as u64)?;
    let mut data = memory::zeroed(image.bytes())?;
    image.render(scratch, &mut data)?;
    Ok(Value::Tensor(Tensor::new(image.finish.dtype, image.shape().to_vec(), data.into())?))
}
