//! The filters for AVX-512 with VNNI. For everything else such a machine uses the AVX2 kernels.
//!
//! The dot product of four bytes with four signed bytes takes four taps at once and needs no widening. A
//! coefficient is three such bytes; each is multiplied separately, and the sum is shifted before the next is added,
//! which again gives the sums of the plain code bit for bit.

mod horizontal;
mod vertical;

use std::arch::x86_64::*;

pub(crate) use horizontal::horizontal;
pub(crate) use vertical::vertical;

use crate::plan::{Digits, LOW_BITS, PRECISION, Split};

/// Whether this machine can run these kernels.
pub(crate) fn available() -> bool {
    crate::avx2::available()
        && is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512vnni")
}

/// Where the sum of the highest digits starts, so that the shift at the end rounds.
const HALF_DIGIT: i32 = 1 << (PRECISION - 1 - 16);
/// The same for sums of 16-bit halves.
const HALF_HIGH: i32 = 1 << (PRECISION - 1 - LOW_BITS);

/// The value of four taps per lane, not yet clipped.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
fn weigh_four(taps: __m512i, digits: &Digits) -> __m512i {
    let [low, middle, high] =
        digits.0.map(|digit| _mm512_set1_epi32(i32::from_le_bytes(digit.map(|d| d as u8))));
    let sum = _mm512_dpbusd_epi32(_mm512_set1_epi32(HALF_DIGIT), taps, high);
    let sum = _mm512_dpbusd_epi32(_mm512_slli_epi32::<8>(sum), taps, middle);
    let sum = _mm512_dpbusd_epi32(_mm512_slli_epi32::<8>(sum), taps, low);
    _mm512_srai_epi32::<{ PRECISION }>(sum)
}

/// The value of two taps per lane, widened to 16 bits, not yet clipped. One multiplication less than four.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
fn weigh_two(taps: __m512i, split: &Split) -> __m512i {
    let two = |halves: &[i16; 4]| _mm512_set1_epi32(i32::from(halves[1]) << 16 | i32::from(halves[0] as u16));
    let sum = _mm512_dpwssd_epi32(_mm512_set1_epi32(HALF_HIGH), taps, two(&split.high));
    let sum = _mm512_dpwssd_epi32(_mm512_slli_epi32::<{ LOW_BITS }>(sum), taps, two(&split.low));
    _mm512_srai_epi32::<{ PRECISION }>(sum)
}

/// Sums of any number of groups of four taps, one per digit.
#[derive(Clone, Copy)]
struct Sums([__m512i; 3]);

impl Sums {
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
    fn new() -> Self {
        Sums([_mm512_setzero_si512(), _mm512_setzero_si512(), _mm512_set1_epi32(HALF_DIGIT)])
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
    fn add(&mut self, taps: __m512i, digits: &Digits) {
        for (sum, digit) in self.0.iter_mut().zip(digits.0) {
            let digit = _mm512_set1_epi32(i32::from_le_bytes(digit.map(|d| d as u8)));
            *sum = _mm512_dpbusd_epi32(*sum, taps, digit);
        }
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
    fn value(&self) -> __m512i {
        let [low, middle, high] = self.0;
        let sum = _mm512_add_epi32(_mm512_slli_epi32::<8>(high), middle);
        let sum = _mm512_add_epi32(_mm512_slli_epi32::<8>(sum), low);
        _mm512_srai_epi32::<{ PRECISION }>(sum)
    }
}
