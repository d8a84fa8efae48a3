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
        match self.kind {
            FieldKind::Array | FieldKind::Image(_) => {
                Some(self.fixed_shape()?.iter().product::<usize>() * self.dtype.size())
            }
            _ => None,
        }
    }

    /// Returns height, width and channels of an image spec.
    pub fn image_dims(&self) -> Option<(Dim, Dim, Dim)> {
        match (self.kind, self.shape.as_slice()) {
            (FieldKind::Image(PixelLayout::Hwc), [h, w, c])
            | (FieldKind::Image(PixelLayout::Chw), [c, h, w]) => Some((*h, *w, *c)),
            _ => None,
        }
    }

    /// Returns the image spec with another height and width.
    #[must_use]
    pub fn with_size(&self, height: Dim, width: Dim) -> Self {
        let mut out = self.clone();
        if let (FieldKind::Image(layout), Some((_, _, c))) = (self.kind, self.image_dims()) {
            out.shape = match layout {
                PixelLayout::Hwc => vec![height, width, c],
                PixelLayout::Chw => vec![c, height, width],
            };
        }
        out
    }

    /// Returns the image spec with another layout.
    #[must_use]
    pub fn with_layout(&self, layout: PixelLayout) -> Self {
        let mut out = self.clone();
        if let Some((h, w, c)) = self.image_dims() {
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
        };
        write!(f, "{what}{}", self.dtype)?;
        if !self.shape.is_empty() || matches!(self.kind, FieldKind::Image(_)) {
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
