//! Affine and perspective warps with Pillow's arithmetic.

use crate::between::Between;
use crate::{Affine, Perspective, Picture};
use std::ops::Range;

/// The interpolation between pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sampling {
    /// The pixel that contains the point.
    Nearest,
    /// Interpolated between the four pixels around the point.
    Bilinear,
}

/// A picture to write to: `width` pixels per row, as many rows as fit, with the channels of the source.
struct Target<'a> {
    out: &'a mut [u8],
    width: usize,
    fill: [u8; 4],
}

/// Warps `picture` into `out`, rows of `width` pixels; what lies outside the source is `fill`.
pub fn warp_affine(
    picture: &Picture<'_>,
    matrix: &Affine,
    sampling: Sampling,
    fill: [u8; 4],
    width: usize,
    out: &mut [u8],
) {
    let target = Target { out, width, fill };
    match picture.channels {
        1 => affine::<1>(picture, matrix, sampling, target),
        2 => affine::<2>(picture, matrix, sampling, target),
        3 => affine::<3>(picture, matrix, sampling, target),
        _ => affine::<4>(picture, matrix, sampling, target),
    }
}

/// Warps `picture` into `out`, rows of `width` pixels; what lies outside the source is `fill`.
pub fn warp_perspective(
    picture: &Picture<'_>,
    p: &Perspective,
    sampling: Sampling,
    fill: [u8; 4],
    width: usize,
    out: &mut [u8],
) {
    let target = Target { out, width, fill };
    let point = |x: f64, y: f64| {
        let below = p[6] * x + p[7] * y + 1.0;
        ((p[0] * x + p[1] * y + p[2]) / below, (p[3] * x + p[4] * y + p[5]) / below)
    };
    match picture.channels {
        1 => points::<1>(picture, point, sampling, target),
        2 => points::<2>(picture, point, sampling, target),
        3 => points::<3>(picture, point, sampling, target),
        _ => points::<4>(picture, point, sampling, target),
    }
}

fn affine<const C: usize>(picture: &Picture<'_>, m: &Affine, sampling: Sampling, target: Target<'_>) {
    if sampling == Sampling::Bilinear {
        let point = |x: f64, y: f64| (m[0] * x + m[1] * y + m[2], m[3] * x + m[4] * y + m[5]);
        return points::<C>(picture, point, sampling, target);
    }
    let (w, h) = (target.width as f64, (target.out.len() / (target.width * C)) as f64);
    let small = |x: f64, y: f64| {
        (x * m[0] + y * m[1] + m[2]).abs() < 32_768.0 && (x * m[3] + y * m[4] + m[5]).abs() < 32_768.0
    };
    if m[1] == 0.0 && m[3] == 0.0 {
        scaled::<C>(picture, m, target);
    } else if small(0.0, 0.0) && small(w, h) && small(0.0, h) && small(w, 0.0) {
        fixed::<C>(picture, m, target);
    } else {
        stepped::<C>(picture, m, target);
    }
}

fn filled<const C: usize>(fill: [u8; 4]) -> [u8; C] {
    std::array::from_fn(|c| fill[c])
}

/// Nearest in 16.16 fixed point, as Pillow does for pictures of usual size.
fn fixed<const C: usize>(picture: &Picture<'_>, m: &Affine, target: Target<'_>) {
    let fix = |v: f64| (v * 65_536.0 + 0.5).floor() as i64;
    let (dx, dy) = (fix(m[0]), fix(m[3]));
    let (down_x, down_y) = (fix(m[1]), fix(m[4]));
    let mut x0 = fix(m[2] + m[0] * 0.5 + m[1] * 0.5);
    let mut y0 = fix(m[5] + m[3] * 0.5 + m[4] * 0.5);
    let pixels = picture.data.as_chunks::<C>().0;
    let fill = filled::<C>(target.fill);
    let width = target.width;
    for row in target.out.as_chunks_mut::<C>().0.chunks_exact_mut(width) {
        let inside_x = span(x0, dx, (picture.width as i64) << 16, width);
        let inside_y = span(y0, dy, (picture.height as i64) << 16, width);
        let start = inside_x.start.max(inside_y.start);
        let end = inside_x.end.min(inside_y.end).max(start);
        row[..start].fill(fill);
        row[end..].fill(fill);
        let (mut x, mut y) = (x0 + dx * start as i64, y0 + dy * start as i64);
        for out in &mut row[start..end] {
            *out = pixels[(y >> 16) as usize * picture.width + (x >> 16) as usize];
            x += dx;
            y += dy;
        }
        x0 += down_x;
        y0 += down_y;
    }
}

/// The steps n of 0..count for which `0 <= start + n * step < limit`.
fn span(start: i64, step: i64, limit: i64, count: usize) -> Range<usize> {
    let count = count as i64;
    let (first, end) = match step {
        0 if (0..limit).contains(&start) => (0, count),
        0 => (0, 0),
        // The first step at or above zero, and the first at or above the limit.
        1.. => (ceil_div(-start, step), ceil_div(limit - start, step)),
        // Downwards: the first step below the limit, and the first below zero.
        _ => (ceil_div(start - limit + 1, -step), ceil_div(start + 1, -step)),
    };
    let first = first.clamp(0, count);
    first as usize..end.clamp(first, count) as usize
}

fn ceil_div(a: i64, b: i64) -> i64 {
    a.div_euclid(b) + i64::from(a.rem_euclid(b) != 0)
}

/// Nearest without rotation or shear: all rows have the same columns. Positions are sums of 64-bit floats, as in Pillow.
fn scaled<const C: usize>(picture: &Picture<'_>, m: &Affine, target: Target<'_>) {
    let place = |v: f64, limit: usize| (v >= 0.0 && v < limit as f64).then_some(v as usize);
    let width = target.width;
    let mut x = m[2] + m[0] * 0.5;
    let columns: Vec<Option<usize>> = (0..width)
        .map(|_| {
            let column = place(x, picture.width);
            x += m[0];
            column
        })
        .collect();
    let start = columns.iter().position(Option::is_some).unwrap_or(width);
    let end = columns.iter().rposition(Option::is_some).map_or(start, |last| last + 1);
    let columns: Vec<usize> = columns[start..end].iter().map(|c| c.unwrap_or(0)).collect();
    let fill = filled::<C>(target.fill);
    let mut y = m[5] + m[4] * 0.5;
    for row in target.out.as_chunks_mut::<C>().0.chunks_exact_mut(width) {
        match place(y, picture.height) {
            None => row.fill(fill),
            Some(at) => {
                let source = picture.row(at).as_chunks::<C>().0;
                row[..start].fill(fill);
                row[end..].fill(fill);
                match columns.first() {
                    // A translation: one contiguous part of the row.
                    Some(first) if m[0] == 1.0 => {
                        row[start..end].copy_from_slice(&source[*first..first + columns.len()]);
                    }
                    _ => row[start..end].iter_mut().zip(&columns).for_each(|(to, from)| *to = source[*from]),
                }
            }
        }
        y += m[4];
    }
}

/// Nearest for positions that do not fit 16.16: sums of 64-bit floats, as in Pillow.
fn stepped<const C: usize>(picture: &Picture<'_>, m: &Affine, target: Target<'_>) {
    let pixels = picture.data.as_chunks::<C>().0;
    let fill = filled::<C>(target.fill);
    let (w, h) = (picture.width as f64, picture.height as f64);
    let mut x0 = m[2] + m[0] * 0.5 + m[1] * 0.5;
    let mut y0 = m[5] + m[3] * 0.5 + m[4] * 0.5;
    for row in target.out.as_chunks_mut::<C>().0.chunks_exact_mut(target.width) {
        let (mut x, mut y) = (x0, y0);
        for out in row {
            let inside = x >= 0.0 && x < w && y >= 0.0 && y < h;
            *out = if inside { pixels[y as usize * picture.width + x as usize] } else { fill };
            x += m[0];
            y += m[3];
        }
        x0 += m[1];
        y0 += m[4];
    }
}

/// Takes each pixel from the point that `point` gives.
#[inline(always)]
fn points<const C: usize>(
    picture: &Picture<'_>,
    point: impl Fn(f64, f64) -> (f64, f64),
    sampling: Sampling,
    target: Target<'_>,
) {
    let pixels = picture.data.as_chunks::<C>().0;
    let fill = filled::<C>(target.fill);
    let (width, w, h) = (picture.width, picture.width as f64, picture.height as f64);
    let mut between = Between::new();
    for (y, row) in target.out.as_chunks_mut::<C>().0.chunks_exact_mut(target.width).enumerate() {
        let at = |x: usize| point(x as f64 + 0.5, y as f64 + 0.5);
        if sampling == Sampling::Bilinear {
            between.row(picture, at, fill, row);
            continue;
        }
        for (x, out) in row.iter_mut().enumerate() {
            let (x, y) = at(x);
            let inside = x >= 0.0 && x < w && y >= 0.0 && y < h;
            *out = if inside { pixels[y as usize * width + x as usize] } else { fill };
        }
    }
}
