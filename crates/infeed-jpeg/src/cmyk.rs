//! CMYK to RGB.
//!
//! Files with four components nearly always come from Adobe software, which stores the inks inverted
//! (255 is no ink). Pillow therefore inverts every such file and then converts it to RGB with a rounded
//! division by 255; the arithmetic here follows the same two steps so that both give the same pixels.

/// `a * b / 255`, rounded.
fn scale255(a: u8, b: u8) -> u8 {
    let product = u32::from(a) * u32::from(b) + 128;
    (((product >> 8) + product) >> 8) as u8
}

/// One stored pixel to RGB.
fn rgb([c, m, y, k]: [u8; 4]) -> [u8; 3] {
    // `k` is stored inverted, so it already is the light that passes the black ink.
    [c, m, y].map(|ink| k.saturating_sub(scale255(255 - ink, k)))
}

/// Converts a row of stored (inverted) CMYK pixels to RGB.
pub(crate) fn row_to_rgb(cmyk: &[u8], out: &mut [u8]) {
    for (pixel, out) in cmyk.as_chunks::<4>().0.iter().zip(out.as_chunks_mut::<3>().0) {
        *out = rgb(*pixel);
    }
}

/// Converts a row of stored (inverted) CMYK pixels to luma, by way of RGB.
pub(crate) fn row_to_gray(cmyk: &[u8], out: &mut [u8]) {
    for (pixel, out) in cmyk.as_chunks::<4>().0.iter().zip(out) {
        let [r, g, b] = rgb(*pixel).map(u32::from);
        // ITU-R 601 luma in 16-bit fixed point: the three weights add up to 65536.
        *out = ((r * 19_595 + g * 38_470 + b * 7_471 + 0x8000) >> 16) as u8;
    }
}
