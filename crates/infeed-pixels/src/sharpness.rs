//! Sharpening and smoothing: a blend with a smoothed picture.

use crate::blend::mix;
use crate::{NoMemory, Picture, zeros};

/// Pillow's `ImageEnhance.Sharpness`: 0 is smoothed, 1 the picture itself, 2 sharpened. `out` is as long as the picture.
///
/// The smoothed picture is that of `ImageFilter.SMOOTH`: weight 5 for each pixel and 1 for its eight neighbours, divided
/// by 13; pixels at the border are unchanged.
pub fn sharpness(picture: &Picture<'_>, factor: f64, out: &mut [u8]) -> Result<(), NoMemory> {
    let (width, height, c) = (picture.width, picture.height, picture.channels);
    let factor = factor as f32;
    out.copy_from_slice(picture.data);
    if width < 3 || height < 3 || factor == 1.0 {
        return Ok(());
    }
    let stride = picture.stride();
    let inner = stride - 2 * c;
    let mut down = zeros::<u16>(stride)?;
    for y in 1..height - 1 {
        let (above, row, below) = (picture.row(y - 1), picture.row(y), picture.row(y + 1));
        for (((sum, a), b), d) in down.iter_mut().zip(above).zip(row).zip(below) {
            *sum = u16::from(*a) + u16::from(*b) + u16::from(*d);
        }
        let sums = down[..inner].iter().zip(&down[c..c + inner]).zip(&down[2 * c..]);
        let out = &mut out[y * stride + c..y * stride + c + inner];
        for ((out, value), ((left, here), right)) in out.iter_mut().zip(&row[c..c + inner]).zip(sums) {
            let sum = left + here + right + 4 * u16::from(*value);
            // Rounded division by 13, as a multiplication: exact for every sum up to 255 * 13.
            let smooth = ((u32::from(sum + 6) * 5042) >> 16) as u16;
            *out = mix(f32::from(smooth), f32::from(*value), factor);
        }
    }
    Ok(())
}
