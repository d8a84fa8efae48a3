//! Passes arbitrary bytes through the parser.

use super::{Header, describe};

/// Parses bytes as a header and checks the result. Panics if something invalid is accepted.
pub fn fuzz_npy(data: &[u8]) {
    let said = describe(data);
    let Ok(header) = Header::read(data) else {
        assert!(said.is_none());
        return;
    };
    assert!(said.is_some());
    assert!(header.data_at <= data.len());
    assert!(header.shape.len() <= 32);
    // No product of some of its sides overflows.
    let sides = header.shape.iter().filter(|side| **side > 0);
    assert!(
        header.data_len().is_none()
            || sides.map(|side| *side as u128).fold(1, u128::saturating_mul) < 1 << 63
    );
    assert!(header.dtype.size() > 1 || !header.big_endian);
    // The written form parses to the same header.
    let written = Header::write(header.dtype, &header.shape);
    // The length of the written form has two bytes; no array has that many dimensions.
    if written.len() < 1 << 16 {
        let again = Header { big_endian: false, fortran: false, data_at: written.len(), ..header };
        assert_eq!(Header::read(&written), Ok(again));
    }
}
