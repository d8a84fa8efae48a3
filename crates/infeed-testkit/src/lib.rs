//! Tiny data on demand, and what every plug-in must hold to.
//!
//! * [`photo`] makes pixels that compress like a photograph; [`jpeg`] and [`png()`] make files of them.
//! * [`shards`] and [`folder`] make whole data sets: WebDataset tars and class folders.
//! * [`faults`] damages files the way disks and interrupted copies do.
//! * [`suites`] checks every line of the registry tables.
//!
//! The same arguments give the same bytes on every machine, so that a test may compare checksums.

pub mod faults;
pub mod suites;

mod folders;
mod jpegs;
mod photos;
mod pngs;
mod random;
mod sets;

pub use folders::{FolderSpec, folder};
pub use jpegs::{JpegOptions, Subsampling, jpeg};
pub use photos::photo;
pub use pngs::{PngKind, png};
pub use sets::{ShardSpec, shards, shards_watched};
