//! Tiny data on demand, and what every plug-in must hold to.
//!
//! * [`photo`] makes pixels that compress like a photograph; [`jpeg`] and [`png()`] make files of them.
//! * [`shards`] and [`folder`] make whole data sets: WebDataset tars and class folders.
//! * [`faults`] damages files the way disks and interrupted copies do.
//! * [`suites`] checks every line of the registry tables.
//!
//! Image files, and data sets with images in them, need the feature `images`, which is on by default.
//!
//! The same arguments give the same bytes on every machine, so that a test may compare checksums.

pub mod faults;
pub mod suites;

#[cfg(feature = "images")]
mod folders;
#[cfg(feature = "images")]
mod jpegs;
mod photos;
#[cfg(feature = "images")]
mod pngs;
mod random;
#[cfg(feature = "images")]
mod sets;

#[cfg(feature = "images")]
pub use folders::{FolderSpec, folder};
#[cfg(feature = "images")]
pub use jpegs::{JpegOptions, Subsampling, jpeg};
pub use photos::photo;
#[cfg(feature = "images")]
pub use pngs::{PngKind, png};
#[cfg(feature = "images")]
pub use sets::{ShardSpec, shards, shards_watched};
