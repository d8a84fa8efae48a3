//! Arbitrary bytes through the parser.

use super::{Header, describe};

/// Reads bytes as a header and checks what was made of them. Panics when something is accepted that cannot be.
pub fn fuzz_npy(data: &[u8]) {
    let said = describe(data);
    let Ok(header) = Header::read(data) else {
        assert!(said.is_none());
        return;
    };
    assert!(said.is_some());
    assert!(header.data_at <= data.len());
    assert!(header.shape.len() <= data.len());
    assert!(header.dtype.size() > 1 || !header.big_endian);
    // What is written of it is read as the same again.
    let written = Header::write(header.dtype, &header.shape);
    // The length of what is written has two bytes: no array has so many dimensions.
    if written.len() < 1 << 16 {
        let again = Header { big_endian: false, fortran: false, data_at: written.len(), ..header };
        assert_eq!(Header::read(&written), Ok(again));
    }
}
