//! Texts of fixed length.

use infeed_core::{Error, Result};

/// Returns texts of `width` bytes each, which are filled up with zeros. With `wide`, a character has four bytes.
pub(crate) fn fixed_texts(elements: &[u8], width: usize, wide: bool) -> Result<Vec<String>> {
    if width == 0 {
        return Err(Error::sample("texts of no bytes"));
    }
    let one = |element: &[u8]| {
        if !wide {
            let end = element.iter().rposition(|byte| *byte != 0).map_or(0, |at| at + 1);
            return match std::str::from_utf8(&element[..end]) {
                Ok(text) => Ok(text.to_owned()),
                Err(e) => Err(Error::sample(format!("a text that is not UTF-8: {e}"))),
            };
        }
        let codes: Vec<u32> =
            element.as_chunks::<4>().0.iter().map(|code| u32::from_ne_bytes(*code)).collect();
        let end = codes.iter().rposition(|code| *code != 0).map_or(0, |at| at + 1);
        let letter = |code: &u32| {
            char::from_u32(*code).ok_or_else(|| Error::sample(format!("a text with the character {code:#x}")))
        };
        codes[..end].iter().map(letter).collect()
    };
    elements.chunks_exact(width).map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_at_the_end_are_no_text() {
        assert_eq!(fixed_texts(b"ab\0\0c\0d\0", 4, false).unwrap(), ["ab", "c\0d"]);
        let wide: Vec<u8> = [0x1f600u32, 0x65, 0].iter().flat_map(|code| code.to_ne_bytes()).collect();
        assert_eq!(fixed_texts(&wide, 12, true).unwrap(), ["\u{1f600}e"]);
        assert!(fixed_texts(b"\xff", 1, false).unwrap_err().to_string().contains("not UTF-8"));
        let lone = 0xd800u32.to_ne_bytes();
        assert!(fixed_texts(&lone, 4, true).unwrap_err().to_string().contains("0xd800"));
        assert!(fixed_texts(&[], 0, false).is_err());
    }
}
