//! Small generated data sets, and contract suites for plug-ins.
//!
//! * [`photo`] generates pixels that compress like a photograph; [`jpeg`] and [`png()`] encode them.
//! * [`shards`] and [`folder`] generate whole data sets: WebDataset tars and class folders.
//! * [`faults`] damages files as disks and interrupted copies do.
//! * [`proxy`] stands between a client and a server, and injects what networks do.
//! * [`suites`] checks every entry of the registry tables.
//!
//! Image files, and data sets with images, need the feature `images`, which is on by default.
//!
//! The same arguments give the same bytes on every machine, so that tests can compare checksums.

pub mod faults;
pub mod proxy;
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
