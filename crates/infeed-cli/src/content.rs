//! The content of a field, detected from its bytes. Names are unreliable: many data sets have PNG files called `.jpg`.

use crate::{human, pipeline::Fields};
use infeed::decode::{DECODERS, codec_of};
use infeed_core::{Dtype, Scratch, Source, Value};
use serde_json::{Value as Json, json};
use std::sync::Arc;

/// Most characters of a number; longer strings of digits are more likely text.
const NUMBER: usize = 24;
/// Characters of text in a preview.
const PREVIEW: usize = 48;

/// The detected content of one value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Content {
    /// The row does not have the field.
    Missing,
    /// An image file.
    Image { codec: &'static str, width: u32, height: u32, channels: u8, depth: u8 },
    /// An image file with a header that cannot be read.
    BadImage { codec: &'static str, error: String },
    /// A whole number, as text or as a number.
    Int { value: i64, encoded: bool },
    /// Another number as text.
    Float(f64),
    /// JSON: an object or a list.
    Json(String),
    /// A NumPy file or an array.
    Array(String),
    /// UTF-8 text.
    Text(String),
    /// Anything else.
    Bytes,
}

impl Content {
    /// Detects the content of a value.
    pub(crate) fn of(value: &Value) -> Self {
        match value {
            Value::Missing => Content::Missing,
            Value::Bytes(bytes) => Self::of_bytes(bytes),
            Value::Text(text) => Content::Text(text.clone()),
            Value::Json(text) => Content::Json(text.clone()),
            Value::Tensor(t) => match <[u8; 8]>::try_from(&*t.data) {
                Ok(bytes) if t.dtype == Dtype::I64 && t.shape.is_empty() => {
                    Content::Int { value: i64::from_ne_bytes(bytes), encoded: false }
                }
                _ => Content::Array(format!("{}{:?}", t.dtype, t.shape)),
            },
            Value::Image(i) => Content::Image {
                codec: "raw",
                width: i.width(),
                height: i.height(),
                channels: i.channels(),
                depth: 8,
            },
            // Only decoders make these, and what is looked at here is stored.
            Value::Masks(_) | Value::Boxes(_) | Value::Points(_) => Content::Missing,
        }
    }

    fn of_bytes(bytes: &infeed_core::Bytes) -> Self {
        if let Ok(found) = codec_of(bytes) {
            return match found.codec.probe(bytes) {
                Ok(i) => Content::Image {
                    codec: found.name,
                    width: i.width,
                    height: i.height,
                    channels: i.channels,
                    depth: i.depth,
                },
                Err(e) => Content::BadImage { codec: found.name, error: e.to_string() },
            };
        }
        if bytes.starts_with(b"\x93NUMPY") {
            return Content::Array(array(bytes).unwrap_or_else(|| "damaged".to_owned()));
        }
        let Ok(text) = std::str::from_utf8(bytes) else { return Content::Bytes };
        let short = text.trim();
        if !short.is_empty() && short.len() <= NUMBER {
            if let Ok(value) = short.parse() {
                return Content::Int { value, encoded: true };
            }
            // Rust also parses "nan" and "inf"; in a text field those are words.
            if let Some(value) = short.parse().ok().filter(|_| !short.contains(['n', 'N'])) {
                return Content::Float(value);
            }
        }
        if short.starts_with(['{', '[']) && serde_json::from_str::<Json>(short).is_ok() {
            return Content::Json(short.to_owned());
        }
        if text.chars().any(|c| c.is_control() && !c.is_whitespace()) {
            return Content::Bytes;
        }
        Content::Text(text.to_owned())
    }

    /// The kind of content, in one word.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Content::Missing => "missing",
            Content::Image { codec, .. } => codec,
            Content::BadImage { .. } => "damaged image",
            Content::Int { .. } => "int",
            Content::Float(_) => "float",
            Content::Json(_) => "json",
            Content::Array(_) => "npy",
            Content::Text(_) => "text",
            Content::Bytes => "bytes",
        }
    }

    /// The suitable decoder, if one is needed.
    pub(crate) fn decoder(&self) -> Option<&'static str> {
        match self {
            Content::Image { .. } => Some("rgb"),
            Content::Int { encoded: true, .. } => Some("int"),
            Content::Float(_) => Some("float"),
            Content::Json(_) => Some("json"),
            Content::Array(_) => Some("npy"),
            Content::Text(_) => Some("text"),
            Content::Missing | Content::BadImage { .. } | Content::Int { .. } | Content::Bytes => None,
        }
    }

    /// For the preview of a row.
    pub(crate) fn show(&self, size: u64) -> String {
        match self {
            Content::Missing => "-".to_owned(),
            Content::Image { codec, width, height, channels, depth } => {
                format!("{codec} {width}x{height}x{channels}, {depth} bit, {}", human::bytes(size))
            }
            Content::BadImage { error, .. } => human::line(error, PREVIEW * 2),
            Content::Int { value, .. } => value.to_string(),
            Content::Float(value) => value.to_string(),
            Content::Json(text) => human::line(text, PREVIEW),
            Content::Text(text) => format!("\"{}\"", human::line(text, PREVIEW)),
            Content::Array(shape) => format!("{shape}, {}", human::bytes(size)),
            Content::Bytes => human::bytes(size),
        }
    }

    /// For programs.
    pub(crate) fn json(&self, size: u64) -> Json {
        let mut out = json!({"kind": self.kind(), "bytes": size});
        match self {
            Content::Image { width, height, channels, depth, .. } => {
                out["width"] = json!(width);
                out["height"] = json!(height);
                out["channels"] = json!(channels);
                out["depth"] = json!(depth);
            }
            Content::BadImage { error, .. } => out["error"] = json!(error),
            Content::Int { value, .. } => out["value"] = json!(value),
            Content::Float(value) => out["value"] = json!(value),
            Content::Json(text) | Content::Text(text) => out["value"] = json!(human::line(text, PREVIEW)),
            Content::Array(shape) => out["array"] = json!(shape),
            Content::Missing | Content::Bytes => {}
        }
        out
    }
}

/// The size of a value in the shard, in bytes.
pub(crate) fn size(value: &Value) -> u64 {
    match value {
        Value::Bytes(b) => b.len() as u64,
        Value::Text(t) | Value::Json(t) => t.len() as u64,
        Value::Tensor(t) => t.data.len() as u64,
        Value::Image(i) => i.bytes() as u64,
        // Only decoders make these, and what is looked at here is stored.
        Value::Missing | Value::Masks(_) | Value::Boxes(_) | Value::Points(_) => 0,
    }
}

/// Element type and shape of a NumPy file.
fn array(bytes: &infeed_core::Bytes) -> Option<String> {
    let decoder = DECODERS.iter().find(|e| e.name == "npy")?.make(&Default::default()).ok()?;
    match decoder.decode(bytes, &mut Scratch::new()).ok()? {
        Value::Tensor(t) => Some(format!("{}{:?}", t.dtype, t.shape)),
        _ => None,
    }
}

/// The image and label fields of a source, detected from its first row.
pub(crate) fn fields(source: &dyn Source) -> infeed::Result<Fields> {
    let names: Vec<Arc<str>> = source.spec().fields.iter().map(|(name, _)| Arc::clone(name)).collect();
    let record = source.fetch(&[0], &names)?.pop().unwrap_or_default();
    let mut found = Fields::default();
    for (name, value) in names.iter().zip(&record.fields) {
        match Content::of(value) {
            Content::Image { .. } if found.image.is_none() => found.image = Some(name.to_string()),
            // Only these two are usual names of class fields; other numbers may be anything.
            Content::Int { encoded, .. } if matches!(&**name, "cls" | "label") => {
                found.label = Some((name.to_string(), encoded));
            }
            _ => {}
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(bytes: &'static [u8]) -> Content {
        Content::of(&Value::Bytes(infeed_core::Bytes::from_static(bytes)))
    }

    #[test]
    fn bytes_are_told_apart() {
        assert_eq!(of(b"7\n"), Content::Int { value: 7, encoded: true });
        assert_eq!(of(b"-0.5"), Content::Float(-0.5));
        assert_eq!(of(b"nan").kind(), "text");
        assert_eq!(of(b"{\"a\": 1}").kind(), "json");
        assert_eq!(of(b"a cat on a mat").kind(), "text");
        assert_eq!(of(b"\x00\x01\xff").kind(), "bytes");
        assert_eq!(of(b"").kind(), "text");
        assert_eq!(of(b"\xff\xd8\xff\xe0damaged").kind(), "damaged image");
    }
}
