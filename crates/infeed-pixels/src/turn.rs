//! Rotations by right angles, which move pixels without interpolation.

use crate::Picture;

/// A counterclockwise rotation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// By 90 degrees: width and height are swapped.
    Quarter,
    /// By 180 degrees.
    Half,
    /// By 270 degrees: width and height are swapped.
    ThreeQuarters,
}

/// Writes the rotated picture to `out`, which is as long as the picture.
pub fn turn(picture: &Picture<'_>, by: Turn, out: &mut [u8]) {
    match picture.channels {
        1 => turned::<1>(picture, by, out),
        2 => turned::<2>(picture, by, out),
        3 => turned::<3>(picture, by, out),
        _ => turned::<4>(picture, by, out),
    }
}

fn turned<const C: usize>(picture: &Picture<'_>, by: Turn, out: &mut [u8]) {
    let (width, height) = (picture.width, picture.height);
    let pixels = picture.data.as_chunks::<C>().0;
    let out = out.as_chunks_mut::<C>().0;
    match by {
        Turn::Half => out.iter_mut().zip(pixels.iter().rev()).for_each(|(to, from)| *to = *from),
        Turn::Quarter => {
            for (y, row) in out.chunks_exact_mut(height).enumerate() {
                let column = pixels.iter().skip(width - 1 - y).step_by(width);
                row.iter_mut().zip(column).for_each(|(to, from)| *to = *from);
            }
        }
        Turn::ThreeQuarters => {
            for (y, row) in out.chunks_exact_mut(height).enumerate() {
                let column = pixels.iter().skip(y).step_by(width);
                row.iter_mut().rev().zip(column).for_each(|(to, from)| *to = *from);
            }
        }
    }
}
