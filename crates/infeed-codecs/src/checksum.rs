//! Checksums that stand before or behind the bytes of a chunk.

/// CRC-32C, with the processor's instruction.
pub fn crc32c(data: &[u8]) -> u32 {
    crc32c::crc32c(data)
}

/// CRC-32, as gzip and zip have it.
pub fn crc32(data: &[u8]) -> u32 {
    crc32fast::hash(data)
}

/// Adler-32, as zlib has it.
pub fn adler32(data: &[u8]) -> u32 {
    let (mut one, mut two) = (1u32, 0u32);
    // So many bytes fit into 32 bits before the sums must be folded.
    for part in data.chunks(5552) {
        for byte in part {
            one += u32::from(*byte);
            two += one;
        }
        (one, two) = (one % 65521, two % 65521);
    }
    two << 16 | one
}

#[cfg(test)]
mod tests {
    #[test]
    fn known_sums() {
        assert_eq!(super::crc32c(b"123456789"), 0xe306_9283);
        assert_eq!(super::crc32(b"123456789"), 0xcbf4_3926);
        assert_eq!(super::adler32(b"Wikipedia"), 0x11e6_0398);
    }
}
