//! The kernels in plain code: for machines without vector kernels, and the reference for the vector code.

use crate::convert::{to_bf16, to_f16, to_u8};
use crate::kernel::Finish;
use crate::plan::{PRECISION, Plan};
use crate::{Dtype, Layout};

/// The initial value of an accumulator, so that the shift at the end rounds.
const HALF: i32 = 1 << (PRECISION - 1);

fn clip(sum: i32) -> u8 {
    (sum >> PRECISION).clamp(0, 255) as u8
}

/// Filters one row: `plan.starts.len()` pixels from `source` to `out`.
pub(crate) fn horizontal(plan: &Plan, channels: usize, source: &[u8], out: &mut [u8]) {
    match channels {
        1 => horizontal_n::<1>(plan, source, out),
        3 => horizontal_n::<3>(plan, source, out),
        _ => horizontal_n::<4>(plan, source, out),
    }
}

fn horizontal_n<const N: usize>(plan: &Plan, source: &[u8], out: &mut [u8]) {
    let (source, out) = (source.as_chunks::<N>().0, out.as_chunks_mut::<N>().0);
    let coefficients = plan.coefficients.chunks_exact(plan.taps);
    for ((out, coefficients), (&start, &count)) in
        out.iter_mut().zip(coefficients).zip(plan.starts.iter().zip(&plan.counts))
    {
        let taps = &source[start as usize..][..count as usize];
        let mut sums = [HALF; N];
        for (tap, &coefficient) in taps.iter().zip(coefficients) {
            for (sum, &value) in sums.iter_mut().zip(tap) {
                *sum = sum.wrapping_add(i32::from(value).wrapping_mul(coefficient));
            }
        }
        *out = sums.map(clip);
    }
}

/// Copies one source pixel per output pixel.
pub(crate) fn pick(plan: &Plan, channels: usize, source: &[u8], out: &mut [u8]) {
    match channels {
        1 => pick_n::<1>(plan, source, out),
        3 => pick_n::<3>(plan, source, out),
        _ => pick_n::<4>(plan, source, out),
    }
}

fn pick_n<const N: usize>(plan: &Plan, source: &[u8], out: &mut [u8]) {
    let (source, out) = (source.as_chunks::<N>().0, out.as_chunks_mut::<N>().0);
    for (out, &start) in out.iter_mut().zip(&plan.starts) {
        *out = source[start as usize];
    }
}

/// Filters `out.len()` columns from the rows at `rows` (offsets into `ring`) with one weight each.
pub(crate) fn vertical(ring: &[u8], rows: &[usize], coefficients: &[i32], out: &mut [u8]) {
    for (column, out) in out.iter_mut().enumerate() {
        let sum = rows.iter().zip(coefficients).fold(HALF, |sum, (&row, &coefficient)| {
            sum.wrapping_add(i32::from(ring[row + column]).wrapping_mul(coefficient))
        });
        *out = clip(sum);
    }
}

/// Stores one finished row at element `base` of `out`.
pub(crate) fn finish(finish: &Finish, row: &[u8], out: &mut [u8], base: usize) {
    match finish.dtype {
        Dtype::U8 if finish.identity => place(finish, row, out, base, |value, _, _| [value]),
        Dtype::U8 => place(finish, row, out, base, |v, scale, bias| [to_u8(affine(v, scale, bias))]),
        Dtype::F32 => place(finish, row, out, base, |v, scale, bias| affine(v, scale, bias).to_ne_bytes()),
        Dtype::F16 => {
            place(finish, row, out, base, |v, scale, bias| to_f16(affine(v, scale, bias)).to_ne_bytes());
        }
        Dtype::Bf16 => {
            place(finish, row, out, base, |v, scale, bias| to_bf16(affine(v, scale, bias)).to_ne_bytes());
        }
    }
}

/// Two roundings on purpose: not every machine has the fused instruction, and all must agree.
fn affine(value: u8, scale: f32, bias: f32) -> f32 {
    f32::from(value) * scale + bias
}

fn place<const SIZE: usize>(
    finish: &Finish,
    row: &[u8],
    out: &mut [u8],
    base: usize,
    value: impl Fn(u8, f32, f32) -> [u8; SIZE],
) {
    let (width, channels) = (finish.width, finish.channels);
    let out = out.as_chunks_mut::<SIZE>().0;
    let (pixel, plane) = match finish.layout {
        Layout::Hwc => (channels, 1),
        Layout::Chw => (1, finish.plane_stride),
    };
    for (x, values) in row[..width * channels].chunks_exact(channels).enumerate() {
        let x = if finish.flip_h { width - 1 - x } else { x };
        for (channel, &byte) in values.iter().enumerate() {
            let at = base + x * pixel + channel * plane;
            out[at] = value(byte, finish.scale[channel], finish.bias[channel]);
        }
    }
}
