//! From decoded pixels to a finished training tensor in one pass.
//!
//! [`Resampler::render`] takes interleaved 8-bit pixels (a whole picture, or only the part of it that a
//! decoder produced), resizes them, crops, flips, normalises, converts and stores them at their place in the batch.
//! There is no intermediate picture: a row of the source is filtered horizontally into a small ring of rows, the
//! ring is filtered vertically into one row, and that row is written to the sink. If the vertical filter goes first,
//! columns are filtered in place into a few rows, and those horizontally.
//!
//! # Which pixels
//!
//! Those of Pillow's `Image.resize` from version 13 on, bit for bit: coefficients have 22 fractional bits, and
//! the result of the first filter is rounded to 8 bits before the second. The order is Pillow's, too: the vertical
//! filter goes first when rows are lost, and more than twice as many as columns, counted in pixels of the whole
//! picture before and after. (Older versions have other rules and so other rounding.) Over 6000 random requests
//! (1000 per filter, 1 to 300 pixels a side, up and down, windows, fractional boxes, 1, 3 and 4 channels; 93
//! million values) the largest and the mean error against 13.0 are 0 for each of nearest, box, bilinear,
//! Hamming, bicubic and Lanczos. Two things differ on purpose:
//!
//! * Alpha is filtered like a colour, not premultiplied.
//! * Without antialiasing, bilinear and bicubic have two and four taps with the edge repeated, as in
//!   `torch.nn.functional.interpolate(align_corners=False)`, in the same fixed-point arithmetic and always
//!   horizontally first.
//!
//! A window equals the crop of the whole, a flip equals the flipped whole, and every instruction set gives the
//! same bits; the tests check all of that.
//!
//! # Speed
//!
//! There are kernels for AVX2 and, for the filters, AVX-512 with VNNI, chosen when a [`Resampler`] is made.
//! Equality with Pillow is not free: coefficients of half the bits would make a render to 32-bit floats about a
//! fifth faster with AVX2 (250 x 190 to 224 x 224: 84 instead of 103 microseconds) and about a seventh with AVX-512
//! (65 instead of 76). Compared with decoding the picture that is a percent or two, and equal pixels are worth more.
//! Non-temporal stores gained nothing. `examples/compare_resample.rs` measures.
//!
//! ```
//! use infeed_resample::{Axis, Dtype, Filter, Layout, Pixels, Resampler, Sink};
//!
//! let picture = vec![128u8; 20 * 10 * 3];
//! let pixels = Pixels { data: &picture, stride: 60, width: 20, height: 10, channels: 3, origin: (0, 0) };
//! let mut tensor = vec![0u8; 3 * 8 * 8 * 4];
//! let mut sink = Sink {
//!     out: &mut tensor,
//!     dtype: Dtype::F32,
//!     layout: Layout::Chw,
//!     row_stride: 8,
//!     plane_stride: 64,
//!     offset: 0,
//!     flip_h: false,
//!     flip_v: false,
//!     scale: [1.0 / 255.0; 4],
//!     bias: [0.0; 4],
//! };
//! let (x, y) = (Axis::whole(20, 8), Axis::whole(10, 8));
//! Resampler::new().render(&pixels, &x, &y, Filter::Bilinear, true, &mut sink)?;
//! # Ok::<(), infeed_resample::Error>(())
//! ```

mod across_first;
#[cfg(all(target_arch = "x86_64", not(infeed_portable)))]
mod avx2;
#[cfg(all(target_arch = "x86_64", not(infeed_portable)))]
mod avx512;
mod axis;
mod check;
mod convert;
mod down_first;
mod error;
mod filter;
mod kernel;
mod memory;
mod pixels;
mod plan;
mod render;
mod scalar;
mod sink;
mod source;
#[cfg(test)]
mod tests;

pub use axis::{Axis, needed};
pub use error::Error;
pub use filter::Filter;
pub use memory::working_memory;
pub use pixels::Pixels;
pub use render::Resampler;
pub use sink::{Dtype, Layout, Sink};
