//! The checksum of lz4 blocks: XXH64 with the seed 0.

pub(crate) const P1: u64 = 0x9e37_79b1_85eb_ca87;
pub(crate) const P2: u64 = 0xc2b2_ae3d_27d4_eb4f;
pub(crate) const P3: u64 = 0x1656_67b1_9e37_79f9;
pub(crate) const P4: u64 = 0x85eb_ca77_c2b2_ae63;
pub(crate) const P5: u64 = 0x27d4_eb2f_1656_67c5;

fn round(sum: u64, word: u64) -> u64 {
    sum.wrapping_add(word.wrapping_mul(P2)).rotate_left(31).wrapping_mul(P1)
}

/// The checksum of these bytes.
pub(crate) fn xxh64(data: &[u8]) -> u64 {
    let (stripes, rest) = data.as_chunks::<32>();
    let mut sum = if stripes.is_empty() {
        P5
    } else {
        let mut lanes = [P1.wrapping_add(P2), P2, 0, 0u64.wrapping_sub(P1)];
        for stripe in stripes {
            for (lane, word) in lanes.iter_mut().zip(stripe.as_chunks::<8>().0) {
                *lane = round(*lane, u64::from_le_bytes(*word));
            }
        }
        let turned = [1, 7, 12, 18];
        let all =
            lanes.iter().zip(turned).fold(0u64, |all, (lane, by)| all.wrapping_add(lane.rotate_left(by)));
        lanes.iter().fold(all, |all, lane| (all ^ round(0, *lane)).wrapping_mul(P1).wrapping_add(P4))
    };
    sum = sum.wrapping_add(data.len() as u64);
    let (words, rest) = rest.as_chunks::<8>();
    for word in words {
        sum = (sum ^ round(0, u64::from_le_bytes(*word))).rotate_left(27).wrapping_mul(P1).wrapping_add(P4);
    }
    let (halves, rest) = rest.as_chunks::<4>();
    for half in halves {
        let half = u64::from(u32::from_le_bytes(*half)).wrapping_mul(P1);
        sum = (sum ^ half).rotate_left(23).wrapping_mul(P2).wrapping_add(P3);
    }
    for byte in rest {
        sum = (sum ^ u64::from(*byte).wrapping_mul(P5)).rotate_left(11).wrapping_mul(P1);
    }
    sum = (sum ^ (sum >> 33)).wrapping_mul(P2);
    sum = (sum ^ (sum >> 29)).wrapping_mul(P3);
    sum ^ (sum >> 32)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers of the reference program, for every way through the function.
    #[test]
    fn sums_are_those_of_the_reference() {
        assert_eq!(xxh64(b""), 0xef46_db37_51d8_e999);
        assert_eq!(xxh64(b"a"), 0xd24e_c4f1_a98c_6e5b);
        assert_eq!(xxh64(b"abc"), 0x44bc_2cf5_ad77_0999);
        let bytes: Vec<u8> = (0..101).collect();
        assert_eq!(xxh64(&bytes), REFERENCE);
    }

    const REFERENCE: u64 = 0xe990_3849_5f85_381e;
}
