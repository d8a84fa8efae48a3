//! Files that have no end.
//!
//! libjpeg-turbo tells only the first of its warnings, and that the file ended too early may be a later one: a version
//! number that it does not know is enough to hide half a picture. So whether a file has its end marker is found here, and
//! a file without one is decoded again as a copy in which nothing is left to warn about but missing pixels.

use crate::markers::{APP0, APP14, EOI, SOI, SOS, Segments};
use memchr::memchr;

/// Whether a decoder that reads the file to its end comes to an end-of-image marker.
pub(crate) fn has_end(bytes: &[u8]) -> bool {
    let mut segments = match Segments::new(bytes) {
        Ok(segments) => segments,
        Err(_) => return false,
    };
    let mut at = loop {
        match segments.next_segment() {
            Ok(Some(segment)) if segment.code == SOS => break segment.end,
            Ok(Some(_)) => {}
            _ => return false,
        }
    };
    // Entropy-coded data, and whatever comes between and behind scans.
    loop {
        let rest = bytes.get(at..).unwrap_or_default();
        let Some(found) = memchr(0xFF, rest) else { return false };
        match rest.get(found + 1) {
            None => return false,
            Some(&EOI) => return true,
            Some(0xFF) => at += found + 1,
            // A stuffed byte, or a marker without a length.
            Some(0x00 | 0x01 | 0xD0..=0xD8) => at += found + 2,
            Some(_) => match rest.get(found + 2..found + 4) {
                Some(&[high, low]) => {
                    at += found + 2 + usize::from(u16::from_be_bytes([high, low])).max(2);
                }
                _ => return false,
            },
        }
    }
}

/// Copies a file into `out` with an end marker behind it and without what libjpeg warns about before the pixels: stray
/// bytes between segments, versions of JFIF and colour transforms of Adobe that it does not know. It decodes to the same
/// pixels.
pub(crate) fn repaired(bytes: &[u8], components: usize, out: &mut Vec<u8>) {
    out.clear();
    out.reserve(bytes.len() + 2);
    out.extend([0xFF, SOI]);
    let mut end = 2;
    if let Ok(mut segments) = Segments::new(bytes) {
        while let Ok(Some(segment)) = segments.next_segment() {
            end = segment.end;
            let start = out.len() + 4;
            match segment.code {
                // Whether they are there decides the colours; the others say nothing about pixels.
                0xE1..=0xED | 0xEF | 0xFE => continue,
                0x01 | 0xD0..=0xD8 => {
                    out.extend([0xFF, segment.code]);
                    continue;
                }
                _ => {}
            }
            // The length was read from two bytes, so it fits into two.
            let length = (segment.payload.len() + 2) as u16;
            out.extend([0xFF, segment.code]);
            out.extend(length.to_be_bytes());
            out.extend_from_slice(segment.payload);
            let payload = &mut out[start..];
            match segment.code {
                APP0 if payload.starts_with(b"JFIF\0") && payload.len() >= 14 => payload[5] = 1,
                // What libjpeg takes codes for that it does not know.
                APP14 if payload.starts_with(b"Adobe") && payload.len() >= 12 => match components {
                    3 if payload[11] > 1 => payload[11] = 1,
                    4 if payload[11] != 0 => payload[11] = 2,
                    _ => {}
                },
                _ => {}
            }
        }
    }
    out.extend_from_slice(bytes.get(end..).unwrap_or_default());
    out.extend([0xFF, EOI]);
}
