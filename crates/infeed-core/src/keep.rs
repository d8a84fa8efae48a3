//! Values as bytes, for caches of samples: what was written down is the same value when it is read, in every step that follows.
//!
//! This is no format for exchange: the bytes are read by the version of the library that wrote them, on the same kind of machine.
//! They are checked all the same, because files get damaged.

use crate::{
    Boxes, Bytes, Canvas, Dtype, Error, Image, Masks, Points, Result, Scratch, Tensor, Value, memory,
};

pub use crate::image::FindCodec;

/// The number of this form; another one is another cache.
pub const FORM: u64 = 1;

/// Why bytes cannot be read.
pub(crate) fn damaged() -> Error {
    Error::sample("a kept sample is damaged")
}

/// Collects bytes.
#[derive(Debug, Default)]
pub struct Writer {
    bytes: Vec<u8>,
    /// Set when there was no memory.
    failed: Option<Error>,
}

impl Writer {
    /// The bytes, if there was memory for all of them.
    pub fn finish(self) -> Result<Vec<u8>> {
        self.failed.map_or(Ok(self.bytes), Err)
    }

    pub(crate) fn raw(&mut self, bytes: &[u8]) {
        match memory::reserve(&mut self.bytes, bytes.len()) {
            Ok(()) => self.bytes.extend_from_slice(bytes),
            Err(e) => self.failed = Some(e),
        }
    }

    pub(crate) fn byte(&mut self, byte: u8) {
        self.raw(&[byte]);
    }

    pub(crate) fn flag(&mut self, flag: bool) {
        self.byte(u8::from(flag));
    }

    pub(crate) fn numbers(&mut self, numbers: &[u32]) {
        numbers.iter().for_each(|number| self.raw(&number.to_le_bytes()));
    }

    pub(crate) fn long(&mut self, number: u64) {
        self.raw(&number.to_le_bytes());
    }

    pub(crate) fn doubles(&mut self, numbers: impl ExactSizeIterator<Item = f64>) {
        self.long(numbers.len() as u64);
        numbers.for_each(|number| self.long(number.to_bits()));
    }

    pub(crate) fn block(&mut self, bytes: &[u8]) {
        self.long(bytes.len() as u64);
        self.raw(bytes);
    }

    pub(crate) fn dtype(&mut self, dtype: Dtype) {
        self.byte(Dtype::ALL.iter().position(|known| *known == dtype).unwrap_or(0) as u8);
    }

    pub(crate) fn canvas(&mut self, canvas: Option<Canvas>) {
        self.flag(canvas.is_some());
        let (width, height) = canvas.unwrap_or_default();
        self.numbers(&[width, height]);
    }

    /// Adds a value.
    pub fn value(&mut self, value: &Value, scratch: &mut Scratch) -> Result<()> {
        match value {
            Value::Missing => self.byte(0),
            Value::Bytes(bytes) => {
                self.byte(1);
                self.block(bytes);
            }
            Value::Text(text) => {
                self.byte(2);
                self.block(text.as_bytes());
            }
            Value::Json(text) => {
                self.byte(3);
                self.block(text.as_bytes());
            }
            Value::Tensor(tensor) => {
                self.byte(4);
                self.dtype(tensor.dtype);
                self.long(tensor.shape.len() as u64);
                tensor.shape.iter().for_each(|side| self.long(*side as u64));
                self.block(&tensor.data);
            }
            Value::Image(image) => {
                self.byte(5);
                image.save(self, scratch)?;
            }
            Value::Masks(masks) => {
                self.byte(6);
                self.numbers(&[masks.size.0, masks.size.1]);
                self.long(masks.images.len() as u64);
                masks.images.iter().try_for_each(|image| image.save(self, scratch))?;
            }
            Value::Boxes(boxes) => {
                self.byte(7);
                boxes.save(self);
            }
            Value::Points(points) => {
                self.byte(8);
                points.save(self);
            }
        }
        Ok(())
    }
}

/// Takes bytes apart. Large parts are lent, not copied.
#[derive(Debug)]
pub struct Reader {
    rest: Bytes,
    whole: usize,
}

impl Reader {
    /// Reads from the start.
    pub fn new(bytes: Bytes) -> Self {
        Reader { whole: bytes.len(), rest: bytes }
    }

    /// Whether all was read.
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    fn take(&mut self, len: usize) -> Result<Bytes> {
        if len > self.rest.len() {
            return Err(damaged());
        }
        Ok(self.rest.split_to(len))
    }

    pub(crate) fn raw<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (found, _) = self.rest.split_first_chunk::<N>().ok_or_else(damaged)?;
        let found = *found;
        self.take(N)?;
        Ok(found)
    }

    pub(crate) fn byte(&mut self) -> Result<u8> {
        Ok(self.raw::<1>()?[0])
    }

    pub(crate) fn flag(&mut self) -> Result<bool> {
        match self.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(damaged()),
        }
    }

    pub(crate) fn number(&mut self) -> Result<u32> {
        self.raw().map(u32::from_le_bytes)
    }

    pub(crate) fn float(&mut self) -> Result<f32> {
        self.number().map(f32::from_bits)
    }

    pub(crate) fn long(&mut self) -> Result<u64> {
        self.raw().map(u64::from_le_bytes)
    }

    pub(crate) fn size(&mut self) -> Result<usize> {
        usize::try_from(self.long()?).map_err(|_| damaged())
    }

    pub(crate) fn canvas(&mut self) -> Result<Option<Canvas>> {
        let (known, size) = (self.flag()?, (self.number()?, self.number()?));
        Ok(known.then_some(size))
    }

    /// A number of things that follow, each of at least so many bytes.
    pub(crate) fn count(&mut self, each: usize) -> Result<usize> {
        let count = self.size()?;
        if count > self.rest.len() / each.max(1) { Err(damaged()) } else { Ok(count) }
    }

    pub(crate) fn doubles(&mut self) -> Result<Vec<f64>> {
        (0..self.count(8)?).map(|_| self.long().map(f64::from_bits)).collect()
    }

    pub(crate) fn block(&mut self) -> Result<Bytes> {
        let len = self.count(1)?;
        self.take(len)
    }

    /// A part that outlives the sample in a batch: it must not hold on to memory that is mostly that of others.
    fn own_block(&mut self) -> Result<Bytes> {
        let block = self.block()?;
        Ok(if block.len() < self.whole / 2 { Bytes::copy_from_slice(&block) } else { block })
    }

    pub(crate) fn dtype(&mut self) -> Result<Dtype> {
        Dtype::ALL.get(usize::from(self.byte()?)).copied().ok_or_else(damaged)
    }

    fn text(&mut self) -> Result<String> {
        String::from_utf8(self.block()?.to_vec()).map_err(|_| damaged())
    }

    /// The next value.
    pub fn value(&mut self, codec_of: FindCodec) -> Result<Value> {
        Ok(match self.byte()? {
            0 => Value::Missing,
            1 => Value::Bytes(self.own_block()?),
            2 => Value::Text(self.text()?),
            3 => Value::Json(self.text()?),
            4 => {
                let dtype = self.dtype()?;
                let shape = (0..self.count(8)?).map(|_| self.size()).collect::<Result<_>>()?;
                Value::Tensor(Tensor::new(dtype, shape, self.own_block()?)?)
            }
            5 => Value::Image(Box::new(Image::load(self, codec_of)?)),
            6 => {
                let size = (self.number()?, self.number()?);
                let images = (0..self.count(8)?).map(|_| Image::load(self, codec_of));
                Value::Masks(Box::new(Masks { size, images: images.collect::<Result<_>>()? }))
            }
            7 => Value::Boxes(Box::new(Boxes::load(self)?)),
            8 => Value::Points(Box::new(Points::load(self)?)),
            _ => return Err(damaged()),
        })
    }
}

impl Value {
    /// Renders images, where what is done to them later cannot depend on more than the pixels they have now. With `encoded`
    /// they are left as they are.
    pub fn prepare_to_keep(&mut self, encoded: bool, scratch: &mut Scratch) -> Result<()> {
        match self {
            Value::Image(image) => image.prepare_to_keep(encoded, scratch),
            Value::Masks(masks) => {
                masks.images.iter_mut().try_for_each(|i| i.prepare_to_keep(encoded, scratch))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
