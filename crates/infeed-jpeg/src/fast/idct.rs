//! The accurate integer inverse DCT, in portable code.
//!
//! This is the separable eight-point transform with 13-bit constants that libjpeg calls "islow": columns
//! first, keeping two fractional bits, then rows. The SIMD versions of libjpeg-turbo hold inputs and
//! intermediate results in 16 bits; damaged files can overflow those, so this version wraps and saturates at
//! exactly the same places. Undamaged files never overflow.

const CONST_BITS: i32 = 13;
/// Fractional bits kept between the two passes.
const PASS_BITS: i32 = 2;

/// A factor of the transform in 13-bit fixed point.
const fn fixed(factor: f64) -> i32 {
    (factor * (1 << CONST_BITS) as f64 + 0.5) as i32
}

pub(super) const F_0_298: i32 = fixed(0.298_631_336);
pub(super) const F_0_390: i32 = fixed(0.390_180_644);
pub(super) const F_0_541: i32 = fixed(0.541_196_100);
pub(super) const F_0_765: i32 = fixed(0.765_366_865);
pub(super) const F_0_899: i32 = fixed(0.899_976_223);
pub(super) const F_1_175: i32 = fixed(1.175_875_602);
pub(super) const F_1_501: i32 = fixed(1.501_321_110);
pub(super) const F_1_847: i32 = fixed(1.847_759_065);
pub(super) const F_1_961: i32 = fixed(1.961_570_560);
pub(super) const F_2_053: i32 = fixed(2.053_119_869);
pub(super) const F_2_562: i32 = fixed(2.562_915_447);
pub(super) const F_3_072: i32 = fixed(3.072_711_026);

/// Right shifts that end the two passes.
pub(super) const DESCALE_COLUMNS: i32 = CONST_BITS - PASS_BITS;
pub(super) const DESCALE_ROWS: i32 = CONST_BITS + PASS_BITS + 3;

/// Dequantised first-row values beyond this are handled differently in libjpeg-turbo, depending on the other rows.
pub(super) const FIRST_ROW_LIMIT: i16 = 8191;

/// Two multiplications and one addition, as one SIMD instruction does them.
fn pair(a: i16, fa: i32, b: i16, fb: i32) -> i32 {
    (i32::from(a) * fa).wrapping_add(i32::from(b) * fb)
}

/// One eight-point transform.
fn transform(x: [i16; 8], descale: i32) -> [i16; 8] {
    let e2 = pair(x[2], F_0_541, x[6], F_0_541 - F_1_847);
    let e3 = pair(x[2], F_0_541 + F_0_765, x[6], F_0_541);
    let e0 = i32::from(x[0].wrapping_add(x[4])) << CONST_BITS;
    let e1 = i32::from(x[0].wrapping_sub(x[4])) << CONST_BITS;
    let even = [e0.wrapping_add(e3), e1.wrapping_add(e2), e1.wrapping_sub(e2), e0.wrapping_sub(e3)];

    let (s3, s4) = (x[7].wrapping_add(x[3]), x[5].wrapping_add(x[1]));
    let z3 = pair(s3, F_1_175 - F_1_961, s4, F_1_175);
    let z4 = pair(s3, F_1_175, s4, F_1_175 - F_0_390);
    let odd = [
        pair(x[7], -F_0_899, x[1], F_1_501 - F_0_899).wrapping_add(z4),
        pair(x[5], -F_2_562, x[3], F_3_072 - F_2_562).wrapping_add(z3),
        pair(x[5], F_2_053 - F_2_562, x[3], -F_2_562).wrapping_add(z4),
        pair(x[7], F_0_298 - F_0_899, x[1], -F_0_899).wrapping_add(z3),
    ];

    let round = 1 << (descale - 1);
    let end = |value: i32| {
        (value.wrapping_add(round) >> descale).clamp(i32::from(i16::MIN), i32::from(i16::MAX)) as i16
    };
    std::array::from_fn(|i| {
        if i < 4 { end(even[i].wrapping_add(odd[i])) } else { end(even[7 - i].wrapping_sub(odd[7 - i])) }
    })
}

/// Dequantises and transforms a block into eight rows of eight samples at `offset`. Returns false for values
/// that only damaged files have; libjpeg-turbo must decode those.
pub(super) fn block(
    coefficients: &[i16],
    steps: &[u16; 64],
    out: &mut [u8],
    offset: usize,
    stride: usize,
) -> bool {
    let mut work = [[0_i16; 8]; 8];
    let mut sound = true;
    for column in 0..8 {
        let values = std::array::from_fn(|row| {
            coefficients[row * 8 + column].wrapping_mul(steps[row * 8 + column] as i16)
        });
        sound &= (-FIRST_ROW_LIMIT..=FIRST_ROW_LIMIT).contains(&values[0]);
        work[column] = transform(values, DESCALE_COLUMNS);
    }
    for row in 0..8 {
        let samples = transform(std::array::from_fn(|column| work[column][row]), DESCALE_ROWS);
        let out = &mut out[offset + row * stride..][..8];
        for (out, sample) in out.iter_mut().zip(samples) {
            *out = (sample.clamp(-128, 127) + 128) as u8;
        }
    }
    sound
}

/// Dequantised values beyond this overflow the clamping table of libjpeg's one-sample "transform".
const SAMPLE_LIMIT: i16 = 4087;

/// A block with nothing but its first coefficient: all samples are the same.
#[inline(always)]
pub(super) fn flat<const SIZE: usize>(
    first: i16,
    step: u16,
    out: &mut [u8],
    offset: usize,
    stride: usize,
) -> bool {
    let value = first.wrapping_mul(step as i16);
    let sample = (((i32::from(value) + 4) >> 3).clamp(-128, 127) + 128) as u8;
    let out = &mut out[offset..offset + (SIZE - 1) * stride + SIZE];
    for row in 0..SIZE {
        out[row * stride..][..SIZE].fill(sample);
    }
    let limit = if SIZE == 1 { SAMPLE_LIMIT } else { FIRST_ROW_LIMIT };
    // Reject products that wrapped around.
    i32::from(value) == i32::from(first) * i32::from(step) && (-limit..=limit).contains(&value)
}
