//! Finds bytes in blocks of 64, as bit masks.
//!
//! Source code has an escape every few bytes. Searching for them one by one costs a branch misprediction each;
//! processing 64 bytes at a time costs the same whatever they are.

/// Block size in bytes.
pub(super) const WIDTH: usize = 64;

/// Returns a mask of the bytes that equal `byte`; the first byte is the lowest bit.
#[cfg(all(target_arch = "x86_64", not(infeed_portable)))]
#[inline(always)]
#[expect(unsafe_code, reason = "the intrinsic for this is not safe to call")]
pub(super) fn equal(block: &[u8; WIDTH], byte: u8) -> u64 {
    use std::arch::x86_64::{_mm_cmpeq_epi8, _mm_loadu_si128, _mm_movemask_epi8, _mm_set1_epi8};
    let (quarters, _) = block.as_chunks::<16>();
    quarters.iter().enumerate().fold(0, |bits, (at, quarter)| {
        // SAFETY: every x86_64 processor has SSE2, and exactly the 16 bytes of `quarter` are loaded.
        let same = unsafe {
            let bytes = _mm_loadu_si128(quarter.as_ptr().cast());
            _mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(byte.cast_signed())))
        };
        bits | (u64::from(same.cast_unsigned()) << (16 * at))
    })
}

/// Returns a mask of the bytes that equal `byte`; the first byte is the lowest bit.
#[cfg(any(infeed_portable, not(target_arch = "x86_64")))]
#[inline(always)]
pub(super) fn equal(block: &[u8; WIDTH], byte: u8) -> u64 {
    block.iter().enumerate().fold(0, |bits, (at, b)| bits | (u64::from(*b == byte) << at))
}

/// Returns a mask of the bytes that are escaped by a preceding backslash. `carry` is 1 if the first byte is escaped
/// by the previous block, and is updated for the next one.
#[inline(always)]
pub(super) fn escaped(backslashes: u64, carry: &mut u64) -> u64 {
    const EVEN: u64 = 0x5555_5555_5555_5555;
    // An escaped backslash escapes nothing.
    let active = backslashes & !*carry;
    let after = (active << 1) | *carry;
    // In a run of backslashes every other one escapes. Adding the starts of odd-positioned runs to the runs leaves a
    // bit after each of those runs. This separates runs whose escaped bytes are at even positions from the others.
    let odd = active & !EVEN & !after;
    let (even, over) = odd.overflowing_add(active);
    *carry = u64::from(over);
    (EVEN ^ (even << 1)) & after
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn bits_are_those_of_a_walk(bytes in prop::collection::vec(prop::sample::select(b"\\\\\\\"a".to_vec()), 3 * WIDTH)) {
            let (mut carry, mut escapes) = (0, false);
            let (blocks, _) = bytes.as_chunks::<WIDTH>();
            for block in blocks {
                let quotes = equal(block, b'"');
                let hidden = escaped(equal(block, b'\\'), &mut carry);
                for (at, byte) in block.iter().enumerate() {
                    prop_assert_eq!(quotes >> at & 1 == 1, *byte == b'"');
                    prop_assert_eq!(hidden >> at & 1 == 1, escapes, "byte {} of {:?}", at, block.escape_ascii().to_string());
                    escapes = *byte == b'\\' && !escapes;
                }
            }
        }
    }
}
