//! The kernels for AVX2 (with F16C, which every such machine has).
//!
//! Pixels are multiplied by coefficients with the 16-bit multiply-add. Coefficients have more bits than that, so
//! each is split in two and the halves are multiplied separately; the combined sums equal those of the plain code
//! bit for bit.

mod finish;
mod horizontal;
mod store;
mod vertical;

pub(crate) use finish::finish;
pub(crate) use horizontal::horizontal;
pub(crate) use vertical::vertical;

/// Whether this machine can run these kernels.
pub(crate) fn available() -> bool {
    is_x86_feature_detected!("avx2") && is_x86_feature_detected!("f16c")
}
