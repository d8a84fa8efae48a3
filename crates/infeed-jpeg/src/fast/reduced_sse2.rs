//! The transforms of `reduced.rs` with SIMD.
//!
//! These are libjpeg-turbo's own assembly routines, called directly: they take little of the time, and scaled
//! images equal libjpeg-turbo's by construction.

use std::ffi::c_uint;

use super::block::Block;
use super::frame::Steps;

unsafe extern "C" {
    fn jsimd_idct_4x4_sse2(steps: *const Steps, block: *const i16, rows: *const *mut u8, column: c_uint);
    fn jsimd_idct_2x2_sse2(steps: *const Steps, block: *const i16, rows: *const *mut u8, column: c_uint);
}

/// Whether libjpeg-turbo itself would use these routines.
pub(super) fn available() -> bool {
    crate::turbo::simd_enabled()
}

/// Dequantises and transforms a block into `SIZE` (4 or 2) rows of as many samples at `offset`.
#[inline(always)]
pub(super) fn block<const SIZE: usize>(
    block: &Block,
    steps: &Steps,
    out: &mut [u8],
    offset: usize,
    stride: usize,
) {
    const { assert!(SIZE == 4 || SIZE == 2) };
    let out = &mut out[offset..offset + (SIZE - 1) * stride + SIZE];
    let rows: [*mut u8; SIZE] = std::array::from_fn(|row| out[row * stride..].as_mut_ptr());
    // SAFETY: the routines read 64 aligned coefficients and 64 aligned steps (the alignment is part of both
    // types) and write `SIZE` bytes through each of `SIZE` row pointers, which the slice above covers.
    unsafe {
        let idct = if SIZE == 4 { jsimd_idct_4x4_sse2 } else { jsimd_idct_2x2_sse2 };
        idct(steps, block.coefficients.as_ptr(), rows.as_ptr(), 0);
    }
}
