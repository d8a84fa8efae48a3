//! The checksum of n-tuples: XXH3 of 64 bits, without a seed.

use crate::hash::{P1, P2, P3, P4, P5};

const P1_SHORT: u64 = 0x9e37_79b1;
const P2_SHORT: u64 = 0x85eb_ca77;
const P3_SHORT: u64 = 0xc2b2_ae3d;
const MIX1: u64 = 0x1656_6791_9e37_79f9;
const MIX2: u64 = 0x9fb2_1c65_1e98_df25;
/// Bytes that are mixed in at once.
const STRIPE: usize = 64;
/// Stripes between two scrambles.
const STRIPES: usize = (SECRET.len() - STRIPE) / 8;

/// The bytes that inputs are mixed with.
#[rustfmt::skip]
const SECRET: [u8; 192] = [
    0xb8, 0xfe, 0x6c, 0x39, 0x23, 0xa4, 0x4b, 0xbe, 0x7c, 0x01, 0x81, 0x2c, 0xf7, 0x21, 0xad, 0x1c,
    0xde, 0xd4, 0x6d, 0xe9, 0x83, 0x90, 0x97, 0xdb, 0x72, 0x40, 0xa4, 0xa4, 0xb7, 0xb3, 0x67, 0x1f,
    0xcb, 0x79, 0xe6, 0x4e, 0xcc, 0xc0, 0xe5, 0x78, 0x82, 0x5a, 0xd0, 0x7d, 0xcc, 0xff, 0x72, 0x21,
    0xb8, 0x08, 0x46, 0x74, 0xf7, 0x43, 0x24, 0x8e, 0xe0, 0x35, 0x90, 0xe6, 0x81, 0x3a, 0x26, 0x4c,
    0x3c, 0x28, 0x52, 0xbb, 0x91, 0xc3, 0x00, 0xcb, 0x88, 0xd0, 0x65, 0x8b, 0x1b, 0x53, 0x2e, 0xa3,
    0x71, 0x64, 0x48, 0x97, 0xa2, 0x0d, 0xf9, 0x4e, 0x38, 0x19, 0xef, 0x46, 0xa9, 0xde, 0xac, 0xd8,
    0xa8, 0xfa, 0x76, 0x3f, 0xe3, 0x9c, 0x34, 0x3f, 0xf9, 0xdc, 0xbb, 0xc7, 0xc7, 0x0b, 0x4f, 0x1d,
    0x8a, 0x51, 0xe0, 0x4b, 0xcd, 0xb4, 0x59, 0x31, 0xc8, 0x9f, 0x7e, 0xc9, 0xd9, 0x78, 0x73, 0x64,
    0xea, 0xc5, 0xac, 0x83, 0x34, 0xd3, 0xeb, 0xc3, 0xc5, 0x81, 0xa0, 0xff, 0xfa, 0x13, 0x63, 0xeb,
    0x17, 0x0d, 0xdd, 0x51, 0xb7, 0xf0, 0xda, 0x49, 0xd3, 0x16, 0x55, 0x26, 0x29, 0xd4, 0x68, 0x9e,
    0x2b, 0x16, 0xbe, 0x58, 0x7d, 0x47, 0xa1, 0xfc, 0x8f, 0xf8, 0xb8, 0xd1, 0x7a, 0xd0, 0x31, 0xce,
    0x45, 0xcb, 0x3a, 0x8f, 0x95, 0x16, 0x04, 0x28, 0xaf, 0xd7, 0xfb, 0xca, 0xbb, 0x4b, 0x40, 0x7e,
];

fn u32_at(data: &[u8], at: usize) -> u64 {
    data[at..].first_chunk().map_or(0, |bytes| u64::from(u32::from_le_bytes(*bytes)))
}

fn u64_at(data: &[u8], at: usize) -> u64 {
    data[at..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// Both halves of a product.
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

fn finish(sum: u64) -> u64 {
    let sum = (sum ^ sum >> 37).wrapping_mul(MIX1);
    sum ^ sum >> 32
}

/// As XXH64 ends.
fn finish_short(sum: u64) -> u64 {
    let sum = (sum ^ sum >> 33).wrapping_mul(P2);
    let sum = (sum ^ sum >> 29).wrapping_mul(P3);
    sum ^ sum >> 32
}

/// 16 bytes, mixed with those of the secret.
fn mix(data: &[u8], at: usize, secret: usize) -> u64 {
    let (low, high) = (u64_at(data, at), u64_at(data, at + 8));
    fold(low ^ u64_at(&SECRET, secret), high ^ u64_at(&SECRET, secret + 8))
}

/// The checksum of these bytes.
pub(crate) fn xxh3(data: &[u8]) -> u64 {
    let len = data.len();
    let all = len as u64;
    match len {
        0 => finish_short(u64_at(&SECRET, 56) ^ u64_at(&SECRET, 64)),
        1..=3 => {
            let (first, middle, last) = (data[0], data[len / 2], data[len - 1]);
            let mixed = u32::from_le_bytes([last, len as u8, first, middle]);
            finish_short(u64::from(mixed) ^ u32_at(&SECRET, 0) ^ u32_at(&SECRET, 4))
        }
        4..=8 => {
            let word = u32_at(data, len - 4).wrapping_add(u32_at(data, 0) << 32);
            let sum = word ^ u64_at(&SECRET, 8) ^ u64_at(&SECRET, 16);
            let sum = (sum ^ sum.rotate_left(49) ^ sum.rotate_left(24)).wrapping_mul(MIX2);
            let sum = (sum ^ (sum >> 35).wrapping_add(all)).wrapping_mul(MIX2);
            sum ^ sum >> 28
        }
        9..=16 => {
            let low = u64_at(data, 0) ^ u64_at(&SECRET, 24) ^ u64_at(&SECRET, 32);
            let high = u64_at(data, len - 8) ^ u64_at(&SECRET, 40) ^ u64_at(&SECRET, 48);
            let sum = all.wrapping_add(low.swap_bytes()).wrapping_add(high);
            finish(sum.wrapping_add(fold(low, high)))
        }
        17..=128 => {
            let mut sum = all.wrapping_mul(P1);
            for pair in 0..=(len - 1) / 32 {
                let (front, back) = (16 * pair, len - 16 * (pair + 1));
                sum = sum.wrapping_add(mix(data, front, 32 * pair));
                sum = sum.wrapping_add(mix(data, back, 32 * pair + 16));
            }
            finish(sum)
        }
        129..=240 => {
            let parts = len / 16;
            let add = |sum: u64, value: u64| sum.wrapping_add(value);
            let first = (0..8).map(|part| mix(data, 16 * part, 16 * part));
            let sum = finish(first.fold(all.wrapping_mul(P1), add));
            let more = (8..parts).map(|part| mix(data, 16 * part, 16 * (part - 8) + 3));
            let sum = more.fold(sum, add);
            finish(sum.wrapping_add(mix(data, len - 16, 136 - 17)))
        }
        _ => long(data),
    }
}

/// Adds a stripe, mixed with the secret from `at` on.
fn stripe(sums: &mut [u64; 8], data: &[u8; STRIPE], at: usize) {
    let words = data.as_chunks::<8>().0;
    let Some(secret) = SECRET[at..].first_chunk::<STRIPE>() else { return };
    let secret = secret.as_chunks::<8>().0;
    let mut own = [0; 8];
    let mut products = [0; 8];
    for lane in 0..8 {
        own[lane] = u64::from_le_bytes(words[lane]);
        let key = own[lane] ^ u64::from_le_bytes(secret[lane]);
        products[lane] = (key & 0xffff_ffff).wrapping_mul(key >> 32);
    }
    for lane in 0..8 {
        sums[lane] = sums[lane].wrapping_add(products[lane]).wrapping_add(own[lane ^ 1]);
    }
}

fn long(data: &[u8]) -> u64 {
    let mut sums = [P3_SHORT, P1, P2, P3, P4, P2_SHORT, P5, P1_SHORT];
    let last = SECRET.len() - STRIPE;
    // The last byte belongs to the last stripe, which is added in another way.
    let stripes = data[..data.len() - 1].as_chunks::<STRIPE>().0;
    for block in stripes.chunks(STRIPES) {
        block.iter().enumerate().for_each(|(at, part)| stripe(&mut sums, part, 8 * at));
        if block.len() == STRIPES {
            for (lane, sum) in sums.iter_mut().enumerate() {
                let key = u64_at(&SECRET, last + 8 * lane);
                *sum = (*sum ^ *sum >> 47 ^ key).wrapping_mul(P1_SHORT);
            }
        }
    }
    if let Some(end) = data.last_chunk::<STRIPE>() {
        stripe(&mut sums, end, last - 7);
    }
    let merged = (0..4).map(|pair| {
        let key = 11 + 16 * pair;
        fold(sums[2 * pair] ^ u64_at(&SECRET, key), sums[2 * pair + 1] ^ u64_at(&SECRET, key + 8))
    });
    finish(merged.fold((data.len() as u64).wrapping_mul(P1), u64::wrapping_add))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers of the reference program, for every way through the function and both sides of its borders.
    #[test]
    fn sums_are_those_of_the_reference() {
        let data: Vec<u8> = (0..3000usize).map(|n| (n * 7 + n / 256) as u8).collect();
        let wanted: [(usize, u64); 20] = [
            (0, 0x2d06_8005_38d3_94c2),
            (1, 0xc44b_dff4_074e_ecdb),
            (3, 0xc348_9259_e968_ad9e),
            (4, 0xd3d6_0c15_1901_4e89),
            (8, 0xb88d_ee77_f6bf_6980),
            (9, 0x0368_8dca_d730_d826),
            (16, 0x9da2_3836_adf2_be1e),
            (17, 0xf34c_3c9c_f5a1_12d1),
            (32, 0x99cb_9ad0_f1a1_1fbe),
            (33, 0xc077_b454_92d2_9cde),
            (96, 0x764d_2d5d_b929_42df),
            (128, 0x65f3_c2c0_0fa9_3185),
            (129, 0x2806_5c6e_c25f_5b25),
            (240, 0x4917_a75c_0ef8_eed7),
            (241, 0x541b_1922_6f00_52e8),
            (1024, 0x71be_e625_238a_ddb4),
            (1025, 0xd9b4_14f4_e1bb_f7ad),
            (1088, 0xb74e_423e_955e_509d),
            (1089, 0x6aca_a690_9cdb_e786),
            (3000, 0xf8b5_749e_c750_08ab),
        ];
        for (len, sum) in wanted {
            assert_eq!(xxh3(&data[..len]), sum, "{len} bytes");
        }
    }
}
