//! Specs: kind, dtype and shape of fields and samples, known before anything is read.

use crate::{Dtype, Error, PixelLayout, Result};
use serde::{Deserialize, Serialize};
use std::{fmt, sync::Arc};

/// One dimension: a number, or unknown until the sample exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Dim {
    /// The same for every sample.
    Fixed(usize),
    /// Varies from sample to sample.
    Any,
}

/// The kind of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum FieldKind {
    /// Bytes as stored in the shard.
    Encoded,
    /// UTF-8 text.
    Text,
    /// JSON, checked to be valid.
    Json,
    /// A dense array; a scalar has no dimensions.
    Array,
    /// Pixels in the given layout.
    Image(PixelLayout),
    /// A class per pixel: height, width.
    Mask,
    /// A mask per instance: count, height, width.
    Masks,
    /// Boxes in an image: count, 4.
    Boxes,
    /// Points in an image; the last axis is x, y or x, y, visibility.
    Points,
}

impl FieldKind {
    /// Whether it lies in an image, and must follow where that is moved.
    pub fn is_target(self) -> bool {
        matches!(self, FieldKind::Mask | FieldKind::Masks | FieldKind::Boxes | FieldKind::Points)
    }

    /// Whether it is numbers in a dense shape, so that samples can be stacked or padded.
    pub fn is_dense(self) -> bool {
        self.is_target() || matches!(self, FieldKind::Array | FieldKind::Image(_))
    }
}

/// Kind, dtype and shape of one field.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FieldSpec {
    /// The kind.
    pub kind: FieldKind,
    /// Element type; `u8` for bytes and text.
    pub dtype: Dtype,
    /// Shape of one sample.
    pub shape: Vec<Dim>,
}

impl FieldSpec {
    /// Bytes as stored.
    pub fn encoded() -> Self {
        FieldSpec { kind: FieldKind::Encoded, dtype: Dtype::U8, shape: vec![Dim::Any] }
    }

    /// Text.
    pub fn text() -> Self {
        FieldSpec { kind: FieldKind::Text, dtype: Dtype::U8, shape: vec![Dim::Any] }
    }

    /// JSON.
    pub fn json() -> Self {
        FieldSpec { kind: FieldKind::Json, dtype: Dtype::U8, shape: vec![Dim::Any] }
    }

    /// One number.
    pub fn scalar(dtype: Dtype) -> Self {
        FieldSpec { kind: FieldKind::Array, dtype, shape: vec![] }
    }

    /// An array of this shape.
    pub fn array(dtype: Dtype, shape: Vec<Dim>) -> Self {
        FieldSpec { kind: FieldKind::Array, dtype, shape }
    }

    /// A u8 image of unknown size, height x width x channels.
    pub fn image(channels: Dim) -> Self {
        FieldSpec {
            kind: FieldKind::Image(PixelLayout::Hwc),
            dtype: Dtype::U8,
            shape: vec![Dim::Any, Dim::Any, channels],
        }
    }

    /// A mask of unknown size.
    pub fn mask(dtype: Dtype) -> Self {
        FieldSpec { kind: FieldKind::Mask, dtype, shape: vec![Dim::Any, Dim::Any] }
    }

    /// Returns the shape as numbers, if every dimension is fixed.
    pub fn fixed_shape(&self) -> Option<Vec<usize>> {
        self.shape
            .iter()
            .map(|d| match d {
                Dim::Fixed(n) => Some(*n),
                Dim::Any => None,
            })
            .collect()
    }

    /// Returns the bytes of one sample, if every dimension is fixed and the field is an array or image.
    pub fn fixed_bytes(&self) -> Option<usize> {
        if !self.kind.is_dense() {
            return None;
        }
        Some(self.fixed_shape()?.iter().product::<usize>() * self.dtype.size())
    }

    /// Returns height, width and channels of an image or mask spec.
    pub fn image_dims(&self) -> Option<(Dim, Dim, Dim)> {
        match (self.kind, self.shape.as_slice()) {
            (FieldKind::Image(PixelLayout::Hwc), [h, w, c])
            | (FieldKind::Image(PixelLayout::Chw), [c, h, w]) => Some((*h, *w, *c)),
            (FieldKind::Mask, [h, w]) | (FieldKind::Masks, [_, h, w]) => Some((*h, *w, Dim::Fixed(1))),
            _ => None,
        }
    }

    /// Returns the image or mask spec with another height and width.
    #[must_use]
    pub fn with_size(&self, height: Dim, width: Dim) -> Self {
        let mut out = self.clone();
        match (self.kind, self.shape.as_slice()) {
            (FieldKind::Image(PixelLayout::Hwc), [_, _, c]) => out.shape = vec![height, width, *c],
            (FieldKind::Image(PixelLayout::Chw), [c, _, _]) => out.shape = vec![*c, height, width],
            (FieldKind::Mask, _) => out.shape = vec![height, width],
            (FieldKind::Masks, [n, _, _]) => out.shape = vec![*n, height, width],
            _ => {}
        }
        out
    }

    /// Returns the image spec with another layout.
    #[must_use]
    pub fn with_layout(&self, layout: PixelLayout) -> Self {
        let mut out = self.clone();
        if let (FieldKind::Image(_), Some((h, w, c))) = (self.kind, self.image_dims()) {
            out.kind = FieldKind::Image(layout);
            out.shape = match layout {
                PixelLayout::Hwc => vec![h, w, c],
                PixelLayout::Chw => vec![c, h, w],
            };
        }
        out
    }
}

impl fmt::Display for FieldSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.kind {
            FieldKind::Encoded => return f.write_str("encoded bytes"),
            FieldKind::Text => return f.write_str("text"),
            FieldKind::Json => return f.write_str("json"),
            FieldKind::Array => "",
            FieldKind::Image(PixelLayout::Hwc) => "image hwc ",
            FieldKind::Image(PixelLayout::Chw) => "image chw ",
            FieldKind::Mask => "mask ",
            FieldKind::Masks => "masks ",
            FieldKind::Boxes => "boxes ",
            FieldKind::Points => "keypoints ",
        };
        write!(f, "{what}{}", self.dtype)?;
        if !self.shape.is_empty() || self.kind != FieldKind::Array {
            let dims: Vec<String> = self
                .shape
                .iter()
                .map(|d| match d {
                    Dim::Fixed(n) => n.to_string(),
                    Dim::Any => "?".to_owned(),
                })
                .collect();
            write!(f, "[{}]", dims.join(", "))?;
        }
        Ok(())
    }
}

/// The fields of a record or sample, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Spec {
    /// Name and spec of every field.
    pub fields: Vec<(Arc<str>, FieldSpec)>,
}

impl Spec {
    /// Returns the index of a field.
    pub fn position(&self, name: &str) -> Option<usize> {
        self.fields.iter().position(|(n, _)| &**n == name)
    }

    /// Returns the index of a field, or an error that lists the fields.
    pub fn require(&self, name: &str, stage: &str) -> Result<usize> {
        self.position(name).ok_or_else(|| {
            let names: Vec<&str> = self.fields.iter().map(|(n, _)| &**n).collect();
            Error::plan(stage, format!("there is no field `{name}`; the fields are {}", names.join(", ")))
        })
    }
}
