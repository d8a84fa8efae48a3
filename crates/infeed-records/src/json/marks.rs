//! Where bytes stand among 64, as bits of a word.
//!
//! Texts of source code have an escape every few bytes. Looking for one after the other costs a wrong guess of the processor
//! each; 64 bytes at a time cost the same whatever is in them.

/// Bytes that are looked at together.
pub(super) const WIDTH: usize = 64;

/// Bits of the bytes that equal `byte`; the first one is the lowest.
#[cfg(all(target_arch = "x86_64", not(infeed_portable)))]
#[inline(always)]
#[expect(unsafe_code, reason = "the processor's own instruction for this has no safe name")]
pub(super) fn equal(block: &[u8; WIDTH], byte: u8) -> u64 {
    use std::arch::x86_64::{_mm_cmpeq_epi8, _mm_loadu_si128, _mm_movemask_epi8, _mm_set1_epi8};
    let (quarters, _) = block.as_chunks::<16>();
    quarters.iter().enumerate().fold(0, |bits, (at, quarter)| {
        // SAFETY: every x86_64 processor has SSE2, and the 16 bytes that are loaded are those of `quarter`.
        let same = unsafe {
            let bytes = _mm_loadu_si128(quarter.as_ptr().cast());
            _mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(byte.cast_signed())))
        };
        bits | (u64::from(same.cast_unsigned()) << (16 * at))
    })
}

/// Bits of the bytes that equal `byte`; the first one is the lowest.
#[cfg(any(infeed_portable, not(target_arch = "x86_64")))]
#[inline(always)]
pub(super) fn equal(block: &[u8; WIDTH], byte: u8) -> u64 {
    block.iter().enumerate().fold(0, |bits, (at, b)| bits | (u64::from(*b == byte) << at))
}

/// Bits of the bytes that a backslash before them escapes. `carry` is 1 when the first byte is escaped by what came before,
/// and is left so for the bytes that follow.
#[inline(always)]
pub(super) fn escaped(backslashes: u64, carry: &mut u64) -> u64 {
    const EVEN: u64 = 0x5555_5555_5555_5555;
    // A backslash that is escaped escapes nothing.
    let active = backslashes & !*carry;
    let after = (active << 1) | *carry;
    // In a run of backslashes every other one escapes. Adding the starts of runs at odd places to the runs leaves a bit
    // behind each of those runs, which tells apart the runs whose escaped bytes lie at even places from the others.
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
