//! Applies an EXIF orientation to pixels.

use infeed_core::{Result, memory};

/// Returns width and height after the rotation.
pub(super) fn turned_size(orientation: u8, width: u32, height: u32) -> (u32, u32) {
    if orientation >= 5 { (height, width) } else { (width, height) }
}

/// Rotates an image of `pixel` bytes per pixel upright, like Pillow's `ImageOps.exif_transpose`.
pub(super) fn turn(orientation: u8, width: u32, height: u32, pixel: usize, data: &[u8]) -> Result<Vec<u8>> {
    let (w, h) = (width as usize, height as usize);
    let (out_w, out_h) = turned_size(orientation, width, height);
    let mut out = memory::with_capacity(data.len())?;
    for y in 0..out_h as usize {
        for x in 0..out_w as usize {
            let (from_x, from_y) = match orientation {
                2 => (w - 1 - x, y),
                3 => (w - 1 - x, h - 1 - y),
                4 => (x, h - 1 - y),
                5 => (y, x),
                6 => (y, h - 1 - x),
                7 => (w - 1 - y, h - 1 - x),
                8 => (w - 1 - y, x),
                _ => (x, y),
            };
            let at = (from_y * w + from_x) * pixel;
            out.extend_from_slice(&data[at..at + pixel]);
        }
    }
    Ok(out)
}
