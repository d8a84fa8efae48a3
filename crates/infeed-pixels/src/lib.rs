//! The pixel operations of augmentations: colours, lookup tables, blurs and warps on interleaved 8-bit pictures.
//!
//! The pixels are those of `torchvision.transforms.v2` on PIL images. Everything but the Gaussian blur is equal to Pillow
//! byte for byte, because the same arithmetic is done in the same order: 32-bit floats in blends, 16.16 fixed point in
//! affine warps with nearest sampling, 64-bit floats in bilinear ones. The blur is separable here and one
//! two-dimensional convolution there, so single values differ by one level.
//!
//! Nothing here is random, allocates per pixel or handles images that are not decoded yet. Operations on colours need
//! one or three channels; blurs and warps take up to four. Functions that cannot work in place write every byte of a
//! second buffer, so that callers can keep two and swap them.
//!
//! Loops are written for the compiler to vectorise; those over colours also for processors with wider vectors, see `wide`.
//! `benches/augment.py` measures each operation against torchvision's.

#![deny(unsafe_code)]

mod between;
mod blend;
mod blur;
mod gray;
mod hue;
mod matrix;
mod memory;
mod picture;
mod sharpness;
mod table;
mod turn;
mod warp;
mod wide;

use memory::zeros;

#[cfg(test)]
mod tests;

pub use blend::{brightness, contrast};
pub use blur::{Gaussian, blur, blur_memory};
pub use gray::{gray_in_place, grayscale, saturation};
pub use hue::hue;
pub use matrix::{Affine, Perspective, Rotation, affine, perspective, rotation};
pub use memory::NoMemory;
pub use picture::Picture;
pub use sharpness::sharpness;
pub use table::{autocontrast, equalize, invert, posterize, solarize};
pub use turn::{Turn, turn};
pub use warp::{Sampling, warp_affine, warp_perspective};
