//! Bytes and bits put together again with AVX2: 32 elements, or 256 bits of eight rows, at a time.
//!
//! Both come down to one step, [`interleave`]: the first bytes of N vectors, then their second bytes, and so on. Whatever does not
//! fill a step is left to the portable code. `unsafe` is here for two things alone: loading and storing 32 bytes of an array
//! that has them, and calling AVX2 code after the processor was asked.

#[cfg(all(target_arch = "x86_64", not(infeed_portable)))]
use std::arch::x86_64::{
    __m256i, _mm256_and_si256, _mm256_loadu_si256, _mm256_permute2x128_si256, _mm256_set1_epi64x,
    _mm256_slli_epi64, _mm256_srli_epi64, _mm256_storeu_si256, _mm256_unpackhi_epi8, _mm256_unpacklo_epi8,
    _mm256_xor_si256,
};

/// Elements that one step takes from every stream; bytes that it takes from every row of bits.
#[cfg(all(target_arch = "x86_64", not(infeed_portable)))]
const STEP: usize = 32;

/// Puts elements of `N` bytes together, as far as whole steps go, and says how many elements that were.
pub(crate) fn elements<const N: usize>(streams: &[u8], out: &mut [u8], count: usize) -> usize {
    #[cfg(all(target_arch = "x86_64", not(infeed_portable)))]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor was asked.
        return unsafe { elements_avx2::<N>(streams, out, count) };
    }
    let _ = (streams, out, count);
    0
}

/// Turns the eight rows of bits of one byte of every element into bytes, as far as whole steps go, and says how many bytes of
/// each row that were.
pub(crate) fn bits(rows: &[u8], plane: &mut [u8], row: usize) -> usize {
    #[cfg(all(target_arch = "x86_64", not(infeed_portable)))]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor was asked.
        return unsafe { bits_avx2(rows, plane, row) };
    }
    let _ = (rows, plane, row);
    0
}

#[cfg(all(target_arch = "x86_64", not(infeed_portable)))]
#[target_feature(enable = "avx2")]
fn elements_avx2<const N: usize>(streams: &[u8], out: &mut [u8], count: usize) -> usize {
    let steps = count / STEP;
    if steps == 0 {
        return 0;
    }
    let streams: [&[[u8; STEP]]; N] =
        std::array::from_fn(|k| &streams[k * count..(k + 1) * count].as_chunks().0[..steps]);
    for (step, to) in out[..steps * STEP * N].chunks_exact_mut(STEP * N).enumerate() {
        let mut vectors = [_mm256_set1_epi64x(0); N];
        for (vector, stream) in vectors.iter_mut().zip(&streams) {
            *vector = load(&stream[step]);
        }
        interleave(vectors, to.as_chunks_mut().0);
    }
    steps * STEP
}

#[cfg(all(target_arch = "x86_64", not(infeed_portable)))]
#[target_feature(enable = "avx2")]
fn bits_avx2(rows: &[u8], plane: &mut [u8], row: usize) -> usize {
    let steps = row / STEP;
    if steps == 0 {
        return 0;
    }
    let rows: [&[[u8; STEP]]; 8] =
        std::array::from_fn(|k| &rows[k * row..(k + 1) * row].as_chunks().0[..steps]);
    for (step, to) in plane[..steps * STEP * 8].chunks_exact_mut(STEP * 8).enumerate() {
        let mut v = [_mm256_set1_epi64x(0); 8];
        for (vector, row) in v.iter_mut().zip(&rows) {
            *vector = load(&row[step]);
        }
        turn::<4>(&mut v, 4, 0x0f0f_0f0f_0f0f_0f0f);
        turn::<2>(&mut v, 2, 0x3333_3333_3333_3333);
        turn::<1>(&mut v, 1, 0x5555_5555_5555_5555);
        interleave(v, to.as_chunks_mut().0);
    }
    steps * STEP
}

/// One of three steps after which bit `i` of vector `k` has changed places with bit `k` of vector `i`, in every byte.
#[cfg(all(target_arch = "x86_64", not(infeed_portable)))]
#[target_feature(enable = "avx2")]
#[inline]
fn turn<const SHIFT: i32>(v: &mut [__m256i; 8], step: usize, mask: i64) {
    let mask = _mm256_set1_epi64x(mask);
    for k in 0..8 {
        if k & step == 0 {
            let other =
                _mm256_and_si256(_mm256_xor_si256(_mm256_srli_epi64::<SHIFT>(v[k]), v[k + step]), mask);
            v[k + step] = _mm256_xor_si256(v[k + step], other);
            v[k] = _mm256_xor_si256(v[k], _mm256_slli_epi64::<SHIFT>(other));
        }
    }
}

/// Stores the first bytes of all vectors, then their second bytes, and so on. `N` is a power of two.
#[cfg(all(target_arch = "x86_64", not(infeed_portable)))]
#[target_feature(enable = "avx2")]
#[inline]
fn interleave<const N: usize>(mut v: [__m256i; N], to: &mut [[u8; STEP]]) {
    // Each round joins a vector with the one half of all vectors behind it.
    for _ in 0..N.ilog2() {
        let from = v;
        for i in 0..N / 2 {
            v[2 * i] = _mm256_unpacklo_epi8(from[i], from[i + N / 2]);
            v[2 * i + 1] = _mm256_unpackhi_epi8(from[i], from[i + N / 2]);
        }
    }
    // The lower halves belong to the first 16 elements, the upper ones to the rest.
    let (lower, upper) = to.split_at_mut(N / 2);
    for (i, (lower, upper)) in lower.iter_mut().zip(upper).enumerate() {
        store(_mm256_permute2x128_si256::<0x20>(v[2 * i], v[2 * i + 1]), lower);
        store(_mm256_permute2x128_si256::<0x31>(v[2 * i], v[2 * i + 1]), upper);
    }
}

#[cfg(all(target_arch = "x86_64", not(infeed_portable)))]
#[target_feature(enable = "avx2")]
#[inline]
fn load(from: &[u8; STEP]) -> __m256i {
    // SAFETY: the array has 32 bytes, and this load needs no alignment.
    unsafe { _mm256_loadu_si256(from.as_ptr().cast()) }
}

#[cfg(all(target_arch = "x86_64", not(infeed_portable)))]
#[target_feature(enable = "avx2")]
#[inline]
fn store(vector: __m256i, to: &mut [u8; STEP]) {
    // SAFETY: the array has 32 bytes, and this store needs no alignment.
    unsafe { _mm256_storeu_si256(to.as_mut_ptr().cast(), vector) }
}
