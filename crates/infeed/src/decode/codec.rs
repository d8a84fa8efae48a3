//! Entries of the table of image formats, and detection.

use super::CODECS;
use infeed_core::{Error, ImageCodec, Result};
use infeed_records::preview::preview;

/// One image format: used for detection, `infeed list` and the docs table.
#[derive(Debug, Clone, Copy)]
pub struct Codec {
    /// Its name.
    pub name: &'static str,
    /// A one-line description.
    pub about: &'static str,
    /// Usual file name extensions. Only documentation: formats are detected by content.
    pub extensions: &'static [&'static str],
    /// The codec that reads it.
    pub codec: &'static dyn ImageCodec,
}

/// Returns the format of an image, from its first bytes.
pub fn codec_of(bytes: &[u8]) -> Result<&'static Codec> {
    if bytes.is_empty() {
        return Err(Error::sample("zero-length image"));
    }
    CODECS.iter().find(|c| c.codec.sniff(bytes)).ok_or_else(|| {
        let known: Vec<&str> = CODECS.iter().map(|c| c.name).collect();
        let guess = guess(bytes).map(|what| format!(", which looks like {what}")).unwrap_or_default();
        Error::sample(format!(
            "not an image of a known format: it starts with {}{guess} (known formats: {})",
            preview(bytes),
            known.join(", ")
        ))
    })
}

/// What ends up in image fields by mistake, by magic number.
const STRANGERS: &[(&[u8], &str)] = &[
    (b"\x1f\x8b", "a gzip file"),
    (b"PK\x03\x04", "a zip file"),
    (b"\x28\xb5\x2f\xfd", "a zstd file"),
    (b"%PDF", "a PDF"),
    (b"8BPS", "a Photoshop file"),
    (b"\x93NUMPY", "a NumPy array: use the decoder `npy`"),
    (b"\x00\x00\x01\x00", "an icon"),
    (b"\x76\x2f\x31\x01", "an OpenEXR file"),
    (b"\xff\x0a", "a JPEG XL file"),
    (b"\x00\x00\x00\x0cJXL ", "a JPEG XL file"),
    (b"\x00\x00\x00\x0cjP  ", "a JPEG 2000 file"),
    (b"\xff\x4f\xff\x51", "a JPEG 2000 file"),
    (b"version https://git-lfs", "a Git LFS pointer: the real file was not fetched"),
];

fn guess(bytes: &[u8]) -> Option<&'static str> {
    if let Some((_, what)) = STRANGERS.iter().find(|(magic, _)| bytes.starts_with(magic)) {
        return Some(what);
    }
    if bytes.get(4..8) == Some(b"ftyp") {
        return Some("an AVIF, HEIC or MP4 file");
    }
    let head = &bytes[..bytes.len().min(512)];
    if head.iter().all(|b| *b == 0) {
        return Some("a hole of zero bytes, as an interrupted copy leaves it");
    }
    let text = match std::str::from_utf8(head) {
        Ok(text) => text,
        // The text may be cut inside a character.
        Err(e) if e.error_len().is_none() => {
            std::str::from_utf8(&head[..e.valid_up_to()]).unwrap_or_default()
        }
        Err(_) => return None,
    };
    let text = text.trim_start_matches('\u{feff}').trim_start().to_ascii_lowercase();
    match text.as_bytes().first()? {
        b'<' if text.contains("<html") || text.starts_with("<!doctype html") => Some("HTML"),
        b'<' if text.contains("<svg") => Some("an SVG drawing"),
        b'<' => Some("XML"),
        b'{' | b'[' => Some("JSON"),
        _ if text.chars().any(|c| c.is_control() && !c.is_whitespace()) => None,
        _ => Some("text"),
    }
}
