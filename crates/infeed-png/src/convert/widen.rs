//! Samples of 1, 2, 4 and 16 bits to 8 bits, and 16 bits to this machine's order.

/// Big-endian samples in, native ones out.
pub(super) fn swap16(row: &[u8], into: &mut [u8]) {
    for (d, s) in into.as_chunks_mut::<2>().0.iter_mut().zip(row.as_chunks::<2>().0) {
        *d = u16::from_be_bytes(*s).to_ne_bytes();
    }
}

/// The more significant byte of each 16-bit sample.
pub(super) fn high_bytes(row: &[u8], into: &mut [u8]) {
    for (d, s) in into.iter_mut().zip(row.as_chunks::<2>().0) {
        *d = s[0];
    }
}

/// Samples of 1, 2 or 4 bits, most significant first. Gray is scaled to 0..=255, indices are kept.
pub(super) fn unpack(row: &[u8], bits: u8, indices: bool, into: &mut [u8]) {
    match bits {
        1 => unpack_by::<8>(row, if indices { 1 } else { 255 }, into),
        2 => unpack_by::<4>(row, if indices { 1 } else { 85 }, into),
        _ => unpack_by::<2>(row, if indices { 1 } else { 17 }, into),
    }
}

/// `PER` samples in a byte; the last byte of a row may be partly unused.
fn unpack_by<const PER: usize>(row: &[u8], scale: u8, into: &mut [u8]) {
    let bits = 8 / PER;
    let mask = (1u16 << bits) as u8 - 1;
    let expand =
        |byte: u8| std::array::from_fn::<u8, PER, _>(|i| ((byte >> (8 - bits * (i + 1))) & mask) * scale);
    let (whole, tail) = into.as_chunks_mut::<PER>();
    for (d, s) in whole.iter_mut().zip(row) {
        *d = expand(*s);
    }
    if let Some(last) = row.get(whole.len()) {
        tail.copy_from_slice(&expand(*last)[..tail.len()]);
    }
}
