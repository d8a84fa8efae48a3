//! Inverse DCTs that give four or two samples per side instead of eight, for scaled decoding, in portable code.
//!
//! These are libjpeg's reduced-size transforms: columns first, keeping two fractional bits, then rows. Coefficients whose
//! frequency is too high for the smaller block are left out. As in libjpeg-turbo's SIMD versions, dequantised values and
//! the results of the first pass have 16 bits; undamaged files never reach their limits.

use super::block::Block;
use super::frame::Steps;

const CONST_BITS: u32 = 13;
/// Fractional bits kept between the two passes.
const PASS_BITS: u32 = 2;

/// Four samples of one column or row; the input with index 4 is not used.
fn four(x: [i64; 8], shift: u32) -> [i64; 4] {
    let even = x[2] * 15_137 - x[6] * 6_270;
    let first = x[0] << (CONST_BITS + 1);
    let (outer, inner) = (first + even, first - even);
    let near = -x[7] * 1_730 + x[5] * 11_893 - x[3] * 17_799 + x[1] * 8_697;
    let far = -x[7] * 4_176 - x[5] * 4_926 + x[3] * 7_373 + x[1] * 20_995;
    [outer + far, inner + near, inner - near, outer - far].map(|sum| descale(sum, shift + 1))
}

/// Two samples; only the first and the odd inputs are used.
fn two(x: [i64; 8], shift: u32) -> [i64; 2] {
    let first = x[0] << (CONST_BITS + 2);
    let odd = -x[7] * 5_906 + x[5] * 6_967 - x[3] * 10_426 + x[1] * 29_692;
    [first + odd, first - odd].map(|sum| descale(sum, shift + 2))
}

fn descale(sum: i64, shift: u32) -> i64 {
    (sum + (1 << (shift - 1))) >> shift
}

/// Dequantises and transforms a block into `SIZE` (4 or 2) rows of as many samples at `offset`.
pub(super) fn block<const SIZE: usize>(
    block: &Block,
    steps: &Steps,
    out: &mut [u8],
    offset: usize,
    stride: usize,
) {
    const { assert!(SIZE == 4 || SIZE == 2) };
    let transform = |x: [i64; 8], shift: u32| -> [i64; SIZE] {
        let (two, four) = (two(x, shift), four(x, shift));
        std::array::from_fn(|i| if SIZE == 4 { four[i] } else { two[i] })
    };
    let mut columns = [[0; SIZE]; 8];
    for (column, samples) in columns.iter_mut().enumerate() {
        let values = std::array::from_fn(|row| {
            let at = row * 8 + column;
            i64::from(block.coefficients[at].wrapping_mul(steps.0[at] as i16))
        });
        *samples = transform(values, CONST_BITS - PASS_BITS)
            .map(|sample| sample.clamp(i64::from(i16::MIN), i64::from(i16::MAX)));
    }
    for row in 0..SIZE {
        let samples = transform(columns.map(|column| column[row]), CONST_BITS + PASS_BITS + 3);
        for (out, sample) in out[offset + row * stride..][..SIZE].iter_mut().zip(samples) {
            *out = (sample.clamp(-128, 127) + 128) as u8;
        }
    }
}
