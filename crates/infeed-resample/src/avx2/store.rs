//! Converts eight values at a time to their stored type.

use std::arch::x86_64::*;

/// One stored type.
pub(super) trait Store {
    /// Bytes of a value.
    const SIZE: usize;
    /// Values are stored as they are.
    const PLAIN: bool = false;

    /// Stores eight values, given as integers, after scale and bias.
    ///
    /// # Safety
    ///
    /// The machine has AVX2 and F16C, and eight values can be written at `place`.
    unsafe fn store(place: *mut u8, values: __m256i, scale: __m256, bias: __m256);
}

/// With two roundings, as in the plain code.
#[inline]
#[target_feature(enable = "avx2")]
fn affine(values: __m256i, scale: __m256, bias: __m256) -> __m256 {
    _mm256_add_ps(_mm256_mul_ps(_mm256_cvtepi32_ps(values), scale), bias)
}

/// The lowest byte of each lane, in the low half of the register.
#[inline]
#[target_feature(enable = "avx2")]
fn bytes(values: __m256i) -> __m128i {
    let mask = _mm256_broadcastsi128_si256(_mm_setr_epi8(
        0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
    ));
    let fours = _mm256_shuffle_epi8(values, mask);
    _mm_unpacklo_epi32(_mm256_castsi256_si128(fours), _mm256_extracti128_si256::<1>(fours))
}

/// The lower half of each lane, which must hold nothing else.
#[inline]
#[target_feature(enable = "avx2")]
fn words(values: __m256i) -> __m128i {
    _mm_packus_epi32(_mm256_castsi256_si128(values), _mm256_extracti128_si256::<1>(values))
}

pub(super) struct Byte;

impl Store for Byte {
    const SIZE: usize = 1;
    const PLAIN: bool = true;

    #[inline]
    #[target_feature(enable = "avx2,f16c")]
    unsafe fn store(place: *mut u8, values: __m256i, _scale: __m256, _bias: __m256) {
        // SAFETY: eight bytes can be written.
        unsafe { _mm_storel_epi64(place.cast(), bytes(values)) };
    }
}

pub(super) struct RoundedByte;

impl Store for RoundedByte {
    const SIZE: usize = 1;

    #[inline]
    #[target_feature(enable = "avx2,f16c")]
    unsafe fn store(place: *mut u8, values: __m256i, scale: __m256, bias: __m256) {
        // Clipped before the conversion, which does not saturate; of two operands, `max` prefers the second
        // when the first is not a number.
        let clipped = _mm256_max_ps(affine(values, scale, bias), _mm256_setzero_ps());
        let clipped = _mm256_min_ps(clipped, _mm256_set1_ps(255.0));
        // SAFETY: eight bytes can be written.
        unsafe { _mm_storel_epi64(place.cast(), bytes(_mm256_cvtps_epi32(clipped))) };
    }
}

pub(super) struct Single;

impl Store for Single {
    const SIZE: usize = 4;

    #[inline]
    #[target_feature(enable = "avx2,f16c")]
    unsafe fn store(place: *mut u8, values: __m256i, scale: __m256, bias: __m256) {
        // SAFETY: eight floats can be written.
        unsafe { _mm256_storeu_ps(place.cast(), affine(values, scale, bias)) };
    }
}

pub(super) struct Half;

impl Store for Half {
    const SIZE: usize = 2;

    #[inline]
    #[target_feature(enable = "avx2,f16c")]
    unsafe fn store(place: *mut u8, values: __m256i, scale: __m256, bias: __m256) {
        let halves = _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(affine(values, scale, bias));
        // SAFETY: eight halves can be written.
        unsafe { _mm_storeu_si128(place.cast(), halves) };
    }
}

/// Only for values that are not NaN.
pub(super) struct Brain;

impl Store for Brain {
    const SIZE: usize = 2;

    #[inline]
    #[target_feature(enable = "avx2,f16c")]
    unsafe fn store(place: *mut u8, values: __m256i, scale: __m256, bias: __m256) {
        let bits = _mm256_castps_si256(affine(values, scale, bias));
        let odd = _mm256_and_si256(_mm256_srli_epi32::<16>(bits), _mm256_set1_epi32(1));
        let rounded = _mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff)));
        // SAFETY: eight values of two bytes can be written.
        unsafe { _mm_storeu_si128(place.cast(), words(_mm256_srli_epi32::<16>(rounded))) };
    }
}
