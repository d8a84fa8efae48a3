//! Plain text.

use infeed_core::{Error, Result};
use std::borrow::Cow;

/// How to treat bytes that are not valid UTF-8.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Invalid {
    /// The row is a bad sample.
    #[default]
    Refuse,
    /// They are replaced by U+FFFD.
    Replace,
    /// They are skipped.
    Skip,
}

/// The UTF-8 byte order mark.
pub const MARK: &[u8] = b"\xef\xbb\xbf";

/// Strips a leading UTF-8 byte order mark.
pub fn unmarked(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(MARK).unwrap_or(bytes)
}

/// Strips the line end.
pub fn line(bytes: &[u8]) -> &[u8] {
    let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    bytes.strip_suffix(b"\r").unwrap_or(bytes)
}

/// Strips the blank lines before a paragraph, and its line end.
pub fn paragraph(mut bytes: &[u8]) -> &[u8] {
    while let Some(end) = memchr::memchr(b'\n', bytes) {
        if !crate::split::is_blank(&bytes[..=end]) {
            break;
        }
        bytes = &bytes[end + 1..];
    }
    line(bytes)
}

/// Decodes bytes as text. An error names the invalid byte, counted from the start of `bytes`.
pub fn decode(bytes: &[u8], invalid: Invalid) -> Result<Cow<'_, str>> {
    match (std::str::from_utf8(bytes), invalid) {
        (Ok(text), _) => Ok(text.into()),
        (Err(_), Invalid::Replace) => Ok(String::from_utf8_lossy(bytes)),
        (Err(_), Invalid::Skip) => {
            Ok(bytes.utf8_chunks().map(|chunk| chunk.valid()).collect::<String>().into())
        }
        (Err(error), Invalid::Refuse) => Err(not_text(bytes, error.valid_up_to())),
    }
}

/// Returns the error for bytes that are not UTF-8.
pub(crate) fn not_text(bytes: &[u8], at: usize) -> Error {
    let found = bytes.get(at).copied().unwrap_or_default();
    let hint = if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
        " (it looks like UTF-16)"
    } else {
        ""
    };
    Error::sample(format!("byte {at} of the row is 0x{found:02x}, which is not UTF-8{hint}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_are_no_text() {
        assert_eq!(decode("grün".as_bytes(), Invalid::Refuse).unwrap(), "grün");
        let bad = b"ab\xffc";
        let error = decode(bad, Invalid::Refuse).unwrap_err().to_string();
        assert!(error.contains("byte 2 of the row is 0xff"), "{error}");
        assert_eq!(decode(bad, Invalid::Replace).unwrap(), "ab\u{fffd}c");
        assert_eq!(decode(bad, Invalid::Skip).unwrap(), "abc");
        assert!(decode(b"\xff\xfea\0", Invalid::Refuse).unwrap_err().to_string().contains("UTF-16"));
    }

    #[test]
    fn ends_of_rows() {
        assert_eq!(line(b"a\r\n"), b"a");
        assert_eq!(line(b"a\r\r\n"), b"a\r");
        assert_eq!(line(b""), b"");
        assert_eq!(paragraph(b"\n \r\n a\nb\r\n"), b" a\nb");
        assert_eq!(unmarked(b"\xef\xbb\xbfa"), b"a");
    }
}
