//! One field of a record or sample.

use crate::{Boxes, Error, Image, Masks, Points, Result, Tensor};
use bytes::Bytes;

/// A field's value between bytes and batch.
#[derive(Debug, Clone, Default)]
pub enum Value {
    /// The row does not have this field.
    #[default]
    Missing,
    /// Bytes as stored in the shard.
    Bytes(Bytes),
    /// Text.
    Text(String),
    /// Valid JSON text.
    Json(String),
    /// A dense array.
    Tensor(Tensor),
    /// An image, decoded or not yet.
    Image(Box<Image>),
    /// A mask per instance.
    Masks(Box<Masks>),
    /// Boxes in an image, until its transforms are done.
    Boxes(Box<Boxes>),
    /// Points in an image, until its transforms are done.
    Points(Box<Points>),
}

impl Value {
    /// Returns its kind, for messages.
    pub fn what(&self) -> &'static str {
        match self {
            Value::Missing => "nothing",
            Value::Bytes(_) => "bytes",
            Value::Text(_) => "text",
            Value::Json(_) => "json",
            Value::Tensor(_) => "an array",
            Value::Image(image) if image.is_mask() => "a mask",
            Value::Image(_) => "an image",
            Value::Masks(_) => "masks",
            Value::Boxes(_) => "boxes",
            Value::Points(_) => "keypoints",
        }
    }

    /// Returns the image inside, or an error.
    pub fn image_mut(&mut self) -> Result<&mut Image> {
        match self {
            Value::Image(image) => Ok(image),
            other => Err(Error::sample(format!("expected an image, found {}", other.what()))),
        }
    }
}
