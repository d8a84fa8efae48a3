//! The accurate integer inverse DCT of two blocks at a time, with AVX2.
//!
//! Every register holds one row of the first block in its low half and the same row of the second block in
//! its high half. All instructions used work within the halves, so the two blocks never mix and nothing has
//! to be moved across.

use std::arch::x86_64::*;

use super::idct::*;

/// A pair of factors for multiply-and-add, in every 32-bit lane.
#[target_feature(enable = "avx2")]
fn factors(first: i32, second: i32) -> __m256i {
    _mm256_set1_epi32((first & 0xFFFF) | (second << 16))
}

/// `a * first + b * second` as 32-bit numbers, low and high lanes.
#[target_feature(enable = "avx2")]
fn pair(a: __m256i, b: __m256i, first: i32, second: i32) -> [__m256i; 2] {
    let factors = factors(first, second);
    [
        _mm256_madd_epi16(_mm256_unpacklo_epi16(a, b), factors),
        _mm256_madd_epi16(_mm256_unpackhi_epi16(a, b), factors),
    ]
}

/// Sign-extends to 32 bits and shifts left by 13: into the upper halves, then back right by three.
#[target_feature(enable = "avx2")]
fn widen(a: __m256i) -> [__m256i; 2] {
    let zero = _mm256_setzero_si256();
    [
        _mm256_srai_epi32::<3>(_mm256_unpacklo_epi16(zero, a)),
        _mm256_srai_epi32::<3>(_mm256_unpackhi_epi16(zero, a)),
    ]
}

#[target_feature(enable = "avx2")]
fn add(a: [__m256i; 2], b: [__m256i; 2]) -> [__m256i; 2] {
    [_mm256_add_epi32(a[0], b[0]), _mm256_add_epi32(a[1], b[1])]
}

#[target_feature(enable = "avx2")]
fn sub(a: [__m256i; 2], b: [__m256i; 2]) -> [__m256i; 2] {
    [_mm256_sub_epi32(a[0], b[0]), _mm256_sub_epi32(a[1], b[1])]
}

/// The rounded sum and difference of an even and an odd part, as saturated 16-bit numbers.
#[target_feature(enable = "avx2")]
fn finish<const DESCALE: i32>(even: [__m256i; 2], odd: [__m256i; 2]) -> [__m256i; 2] {
    let (sum, difference) = (add(even, odd), sub(even, odd));
    [
        _mm256_packs_epi32(_mm256_srai_epi32::<DESCALE>(sum[0]), _mm256_srai_epi32::<DESCALE>(sum[1])),
        _mm256_packs_epi32(
            _mm256_srai_epi32::<DESCALE>(difference[0]),
            _mm256_srai_epi32::<DESCALE>(difference[1]),
        ),
    ]
}

/// Sixteen eight-point transforms, one per lane.
#[target_feature(enable = "avx2")]
fn transform<const DESCALE: i32>(x: [__m256i; 8]) -> [__m256i; 8] {
    // Added once to the even part, the rounding term is in every sum and every difference.
    let round = [_mm256_set1_epi32(1 << (DESCALE - 1)); 2];
    let e2 = pair(x[2], x[6], F_0_541, F_0_541 - F_1_847);
    let e3 = pair(x[2], x[6], F_0_541 + F_0_765, F_0_541);
    let e0 = add(widen(_mm256_add_epi16(x[0], x[4])), round);
    let e1 = add(widen(_mm256_sub_epi16(x[0], x[4])), round);

    let (s3, s4) = (_mm256_add_epi16(x[7], x[3]), _mm256_add_epi16(x[5], x[1]));
    let z3 = pair(s3, s4, F_1_175 - F_1_961, F_1_175);
    let z4 = pair(s3, s4, F_1_175, F_1_175 - F_0_390);
    let o0 = add(pair(x[7], x[1], -F_0_899, F_1_501 - F_0_899), z4);
    let o1 = add(pair(x[5], x[3], -F_2_562, F_3_072 - F_2_562), z3);
    let o2 = add(pair(x[5], x[3], F_2_053 - F_2_562, -F_2_562), z4);
    let o3 = add(pair(x[7], x[1], F_0_298 - F_0_899, -F_0_899), z3);

    let [y0, y7] = finish::<DESCALE>(add(e0, e3), o0);
    let [y1, y6] = finish::<DESCALE>(add(e1, e2), o1);
    let [y2, y5] = finish::<DESCALE>(sub(e1, e2), o2);
    let [y3, y4] = finish::<DESCALE>(sub(e0, e3), o3);
    [y0, y1, y2, y3, y4, y5, y6, y7]
}

/// Transposes both 8x8 blocks.
#[target_feature(enable = "avx2")]
fn transpose(x: [__m256i; 8]) -> [__m256i; 8] {
    let low = |a, b| _mm256_unpacklo_epi16(x[a], x[b]);
    let high = |a, b| _mm256_unpackhi_epi16(x[a], x[b]);
    let (a0, a1, a2, a3) = (low(0, 1), high(0, 1), low(2, 3), high(2, 3));
    let (a4, a5, a6, a7) = (low(4, 5), high(4, 5), low(6, 7), high(6, 7));
    let (b0, b1) = (_mm256_unpacklo_epi32(a0, a2), _mm256_unpackhi_epi32(a0, a2));
    let (b2, b3) = (_mm256_unpacklo_epi32(a1, a3), _mm256_unpackhi_epi32(a1, a3));
    let (b4, b5) = (_mm256_unpacklo_epi32(a4, a6), _mm256_unpackhi_epi32(a4, a6));
    let (b6, b7) = (_mm256_unpacklo_epi32(a5, a7), _mm256_unpackhi_epi32(a5, a7));
    [
        _mm256_unpacklo_epi64(b0, b4),
        _mm256_unpackhi_epi64(b0, b4),
        _mm256_unpacklo_epi64(b1, b5),
        _mm256_unpackhi_epi64(b1, b5),
        _mm256_unpacklo_epi64(b2, b6),
        _mm256_unpackhi_epi64(b2, b6),
        _mm256_unpacklo_epi64(b3, b7),
        _mm256_unpackhi_epi64(b3, b7),
    ]
}

/// Row `row` of two blocks in one register.
#[target_feature(enable = "avx2")]
fn load(first: &[i16; 256], second: &[i16; 256], row: usize) -> __m256i {
    // SAFETY: rows 0 to 7 of eight numbers each lie within the first 64 of both arrays.
    unsafe {
        let first = _mm_loadu_si128(first.as_ptr().add(row * 8).cast());
        let second = _mm_loadu_si128(second.as_ptr().add(row * 8).cast());
        _mm256_set_m128i(second, first)
    }
}

/// Dequantises and transforms two blocks into eight rows of eight samples each, at the two offsets. Returns
/// false for values that only damaged files have; libjpeg-turbo must decode those.
#[target_feature(enable = "avx2")]
pub(super) fn blocks(
    coefficients: [&[i16; 256]; 2],
    steps: [&[u16; 64]; 2],
    out: &mut [u8],
    offsets: [usize; 2],
    stride: usize,
) -> bool {
    let mut rows = [_mm256_setzero_si256(); 8];
    for (row, out) in rows.iter_mut().enumerate() {
        let values = load(coefficients[0], coefficients[1], row);
        // SAFETY: rows 0 to 7 of eight numbers each lie within both arrays.
        let steps = unsafe {
            let first = _mm_loadu_si128(steps[0].as_ptr().add(row * 8).cast());
            let second = _mm_loadu_si128(steps[1].as_ptr().add(row * 8).cast());
            _mm256_set_m128i(second, first)
        };
        *out = _mm256_mullo_epi16(values, steps);
    }
    let limit = _mm256_set1_epi16(FIRST_ROW_LIMIT);
    // As unsigned numbers: -8191..=8191 shifted up to 0..=16382.
    let shifted = _mm256_add_epi16(rows[0], limit);
    let most = _mm256_set1_epi16(FIRST_ROW_LIMIT * 2);
    let sound = _mm256_cmpeq_epi16(_mm256_min_epu16(shifted, most), shifted);

    let columns = transpose(transform::<DESCALE_COLUMNS>(rows));
    let samples = transpose(transform::<DESCALE_ROWS>(columns));

    assert!(offsets.iter().all(|offset| offset + 7 * stride + 8 <= out.len()));
    let centre = _mm256_set1_epi8(-128);
    for row in 0..4 {
        let packed = _mm256_packs_epi16(samples[row * 2], samples[row * 2 + 1]);
        let packed = _mm256_add_epi8(packed, centre);
        let halves = [_mm256_castsi256_si128(packed), _mm256_extracti128_si256::<1>(packed)];
        for (half, offset) in halves.into_iter().zip(offsets) {
            // SAFETY: the assertion above covers eight bytes in each of eight rows from both offsets.
            unsafe {
                let at = out.as_mut_ptr().add(offset + row * 2 * stride);
                _mm_storel_epi64(at.cast(), half);
                _mm_storel_epi64(at.add(stride).cast(), _mm_unpackhi_epi64(half, half));
            }
        }
    }
    _mm256_movemask_epi8(sound) == -1
}
