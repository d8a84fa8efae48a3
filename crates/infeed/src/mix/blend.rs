//! Weighted sums of neighbouring samples.

use half::{bf16, f16, slice::HalfFloatSliceExt};
use infeed_core::Dtype;

/// Elements widened at a time: they stay in the L1 cache.
const CHUNK: usize = 1024;

/// Replaces every sample by `lambda` of itself plus the rest of the sample before it; the first one's partner is the
/// last. `spare` is scratch memory.
pub(super) fn blend(dtype: Dtype, data: &mut [u8], samples: usize, lambda: f32, spare: &mut Vec<u8>) {
    let each = data.len() / samples.max(1);
    if samples < 2 || each == 0 {
        return;
    }
    spare.clear();
    spare.extend_from_slice(&data[(samples - 1) * each..]);
    // Backwards, so that the sample before is still unchanged.
    for at in (1..samples).rev() {
        let (before, from) = data.split_at_mut(at * each);
        pair(dtype, &mut from[..each], &before[(at - 1) * each..], lambda);
    }
    pair(dtype, &mut data[..each], spare, lambda);
}

/// Returns the partner's weight.
pub(super) fn rest(lambda: f32) -> f32 {
    (1.0 - f64::from(lambda)) as f32
}

fn pair(dtype: Dtype, own: &mut [u8], other: &[u8], lambda: f32) {
    let (l, r) = (lambda, rest(lambda));
    match dtype {
        Dtype::U8 => {
            for (x, y) in own.iter_mut().zip(other) {
                *x = (f32::from(*y) * r + f32::from(*x) * l + 0.5) as u8;
            }
        }
        Dtype::F16 => halves::<f16>(own, other, l, r),
        Dtype::Bf16 => halves::<bf16>(own, other, l, r),
        _ => {
            for (x, y) in own.as_chunks_mut::<4>().0.iter_mut().zip(other.as_chunks::<4>().0) {
                *x = (f32::from_ne_bytes(*y) * r + f32::from_ne_bytes(*x) * l).to_ne_bytes();
            }
        }
    }
}

/// Sums in f32 and rounds once.
fn halves<T: Copy + Default>(own: &mut [u8], other: &[u8], l: f32, r: f32)
where
    [T]: HalfFloatSliceExt,
{
    let (mut bits, mut bits_other) = ([T::default(); CHUNK], [T::default(); CHUNK]);
    let (mut x, mut y) = ([0f32; CHUNK], [0f32; CHUNK]);
    let (own, other) = (own.as_chunks_mut::<2>().0, other.as_chunks::<2>().0);
    for (own, other) in own.chunks_mut(CHUNK).zip(other.chunks(CHUNK)) {
        let n = own.len();
        for (to, from) in bits.reinterpret_cast_mut().iter_mut().zip(&*own) {
            *to = u16::from_ne_bytes(*from);
        }
        for (to, from) in bits_other.reinterpret_cast_mut().iter_mut().zip(other) {
            *to = u16::from_ne_bytes(*from);
        }
        bits[..n].convert_to_f32_slice(&mut x[..n]);
        bits_other[..n].convert_to_f32_slice(&mut y[..n]);
        for (x, y) in x[..n].iter_mut().zip(&y[..n]) {
            *x = *y * r + *x * l;
        }
        bits[..n].convert_from_f32_slice(&x[..n]);
        for (to, from) in own.iter_mut().zip(bits[..n].reinterpret_cast()) {
            *to = from.to_ne_bytes();
        }
    }
}
