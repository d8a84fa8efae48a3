//! The only `unsafe` code here: entering AVX2 code, and prefetching.
#![allow(unsafe_code)]

/// Calls a function compiled for AVX2 if the CPU supports it; evaluates to `None` otherwise.
macro_rules! with_avx2 {
    ($name:ident ( $($arg:expr),* )) => {{
        #[cfg(all(target_arch = "x86_64", not(infeed_portable)))]
        {
            if std::arch::is_x86_feature_detected!("avx2") {
                // SAFETY: the check above shows that the CPU has AVX2.
                Some(unsafe { $name($($arg),*) })
            } else {
                None
            }
        }
        #[cfg(any(infeed_portable, not(target_arch = "x86_64")))]
        None
    }};
}

use crate::element;
use infeed_core::Dtype;

#[cfg(all(target_arch = "x86_64", not(infeed_portable)))]
#[target_feature(enable = "avx2")]
fn convert_avx2(from: Dtype, to: usize, src: &[u8], dst: &mut [u8]) {
    element::convert_here(from, to, src, dst);
}

#[cfg(all(target_arch = "x86_64", not(infeed_portable)))]
#[target_feature(enable = "avx2")]
fn largest_avx2(from: Dtype, src: &[u8]) -> u64 {
    element::largest_here(from, src)
}

#[cfg(all(target_arch = "x86_64", not(infeed_portable)))]
#[target_feature(enable = "avx2")]
fn holds_avx2(from: Dtype, src: &[u8], token: u64) -> bool {
    element::holds_here(from, src, token)
}

/// [`element::convert_here`] with AVX2 if available.
pub(crate) fn convert(from: Dtype, to: usize, src: &[u8], dst: &mut [u8]) {
    let done: Option<()> = with_avx2!(convert_avx2(from, to, src, dst));
    if done.is_none() {
        element::convert_here(from, to, src, dst);
    }
}

/// [`element::largest_here`] with AVX2 if available.
pub(crate) fn largest(from: Dtype, src: &[u8]) -> u64 {
    with_avx2!(largest_avx2(from, src)).unwrap_or_else(|| element::largest_here(from, src))
}

/// [`element::holds_here`] with AVX2 if available.
pub(crate) fn holds(from: Dtype, src: &[u8], token: u64) -> bool {
    with_avx2!(holds_avx2(from, src, token)).unwrap_or_else(|| element::holds_here(from, src, token))
}

/// Prefetches the first cache lines of `bytes`.
pub(crate) fn prefetch(bytes: &[u8]) {
    #[cfg(all(target_arch = "x86_64", not(infeed_portable)))]
    for line in bytes.chunks(64).take(LINES) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch never faults, whatever the address, and this one points into `bytes`.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast()) };
    }
    #[cfg(any(infeed_portable, not(target_arch = "x86_64")))]
    let _ = bytes;
}

/// Number of 64-byte cache lines that [`prefetch`] requests: a window of 2,048 tokens of two bytes.
#[cfg(all(target_arch = "x86_64", not(infeed_portable)))]
const LINES: usize = 65;
