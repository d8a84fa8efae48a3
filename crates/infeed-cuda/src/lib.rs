//! Images of a batch, decoded and drawn on a GPU.
//!
//! The engine leaves images that the JPEG engines of a GPU take as files ([`infeed_core::Deferred`]); all others are made by
//! its threads. [`Renderer`] puts both into one array on the device:
//!
//! ```text
//!  files          nvJPEG: the engines of the chip, many images at a time     pixels
//!  ------------->  (`nvjpeg`, `slot`)                                       -------->  one kernel: crop, resize, flip,
//!                                                                                      normalise, type, layout
//!  pixels that threads have made: page-locked memory, copied to their place            (`kernel.cu`, `job`, `kernel`)
//! ```
//!
//! Nothing is linked: the driver, nvJPEG and NVRTC are looked for at run time (`library`), and where one is missing
//! [`Error::Missing`] says which and where it was looked for. The kernel is compiled at first use and kept in a folder
//! (`nvrtc`).
//!
//! What a GPU does stands behind the trait [`Machine`]. [`Host`] is a machine without a GPU, for tests of everything else.

mod audit;
mod cuda;
mod driver;
mod error;
mod host;
mod job;
mod kernel;
mod library;
mod machine;
mod memory;
mod nvjpeg;
mod nvrtc;
mod render;
#[cfg(test)]
mod simulated;
mod slot;

pub use audit::Differences;
pub use cuda::{Cuda, Setup};
pub use error::{Error, Result};
pub use host::Host;
pub use library::Places;
pub use machine::{Machine, Target, Work};
pub use render::{Asked, Decoded, Outcome, Renderer, Row};
