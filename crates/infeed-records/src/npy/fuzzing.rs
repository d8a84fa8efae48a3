//! Passes arbitrary bytes through the parser.

use super::{Header, Layout};

/// Parses bytes as a header and checks the result. Panics if something invalid is accepted.
pub fn fuzz_npy(data: &[u8]) {
    let layout = Layout::read(data);
    if let Ok(layout) = &layout {
        assert!(layout.data_at <= data.len() && layout.shape.len() <= 32);
        // Members do not reach beyond their element.
        assert!(layout.members.iter().all(|member| {
            let sides = member.shape.iter().try_fold(member.element.size(), |n, side| n.checked_mul(*side));
            sides.and_then(|n| n.checked_add(member.offset)).is_some_and(|end| end <= layout.item)
        }));
    }
    let Ok(header) = Header::read(data) else {
        return;
    };
    assert!(
        layout.is_ok_and(|layout| layout.shape == header.shape && layout.data_len() == header.data_len())
    );
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
