//! YCbCr to RGB with libjpeg's 16-bit fixed-point rounding, in portable code.

/// A conversion factor in 16-bit fixed point.
const fn fixed(factor: f64) -> i32 {
    (factor * 65536.0 + 0.5) as i32
}

const RED_FROM_CR: i32 = fixed(1.402);
const BLUE_FROM_CB: i32 = fixed(1.772);
const GREEN_FROM_CB: i32 = fixed(0.344_14);
const GREEN_FROM_CR: i32 = fixed(0.714_14);
const HALF: i32 = 1 << 15;

/// One pixel.
pub(super) fn pixel(y: u8, cb: u8, cr: u8) -> [u8; 3] {
    let (y, cb, cr) = (i32::from(y), i32::from(cb) - 128, i32::from(cr) - 128);
    [
        y + ((RED_FROM_CR * cr + HALF) >> 16),
        y + ((HALF - GREEN_FROM_CB * cb - GREEN_FROM_CR * cr) >> 16),
        y + ((BLUE_FROM_CB * cb + HALF) >> 16),
    ]
    .map(|value| value.clamp(0, 255) as u8)
}

/// A row of pixels; all four slices agree in their number of pixels.
pub(super) fn row(y: &[u8], cb: &[u8], cr: &[u8], out: &mut [u8]) {
    for (((out, &y), &cb), &cr) in out.as_chunks_mut::<3>().0.iter_mut().zip(y).zip(cb).zip(cr) {
        *out = pixel(y, cb, cr);
    }
}

/// A gray row as RGB.
pub(super) fn gray_row(y: &[u8], out: &mut [u8]) {
    for (out, &y) in out.as_chunks_mut::<3>().0.iter_mut().zip(y) {
        *out = [y; 3];
    }
}
