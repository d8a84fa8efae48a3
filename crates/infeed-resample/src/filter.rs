//! The filters and their kernels.

use std::f64::consts::PI;

/// How a resized pixel is made from source pixels.
///
/// The antialiased kernels are those of Pillow: when a picture shrinks, the kernel widens by the same factor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Filter {
    /// The one source pixel under the centre.
    Nearest,
    /// The plain mean of the covered source pixels.
    Box,
    /// Triangle kernel.
    Bilinear,
    /// Hamming-windowed sinc of the same reach as the triangle.
    Hamming,
    /// Cubic kernel (a = -0.5; a = -0.75 without antialiasing, as in torch).
    Bicubic,
    /// Sinc windowed by a sinc, three lobes.
    Lanczos,
}

impl Filter {
    /// How far the kernel reaches to either side, in units of the coarser of the two grids.
    pub(crate) fn support(self) -> f64 {
        match self {
            Filter::Nearest => 0.0,
            Filter::Box => 0.5,
            Filter::Bilinear | Filter::Hamming => 1.0,
            Filter::Bicubic => 2.0,
            Filter::Lanczos => 3.0,
        }
    }
}

pub(crate) fn box_kernel(x: f64) -> f64 {
    // Half-open, so that a source pixel exactly between two outputs counts once.
    if x > -0.5 && x <= 0.5 { 1.0 } else { 0.0 }
}

pub(crate) fn triangle(x: f64) -> f64 {
    (1.0 - x.abs()).max(0.0)
}

pub(crate) fn hamming(x: f64) -> f64 {
    let x = x.abs();
    if x == 0.0 {
        return 1.0;
    }
    if x >= 1.0 {
        return 0.0;
    }
    let x = x * PI;
    // Pillow's constants are single precision, which shows in a few values per million.
    x.sin() / x * (f64::from(0.54f32) + f64::from(0.46f32) * x.cos())
}

pub(crate) fn cubic(x: f64, a: f64) -> f64 {
    let x = x.abs();
    if x < 1.0 {
        ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0
    } else if x < 2.0 {
        (((x - 5.0) * x + 8.0) * x - 4.0) * a
    } else {
        0.0
    }
}

pub(crate) fn lanczos(x: f64) -> f64 {
    fn sinc(x: f64) -> f64 {
        if x == 0.0 { 1.0 } else { (x * PI).sin() / (x * PI) }
    }
    if (-3.0..3.0).contains(&x) { sinc(x) * sinc(x / 3.0) } else { 0.0 }
}
