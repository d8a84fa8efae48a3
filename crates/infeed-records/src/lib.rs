//! Formats that are cut into records row by row: JSON lines, CSV, text, TFRecord, MDS, LMDB; and the
//! headers of `.npy` files.
//!
//! Everything here is a function of bytes: no files, no threads, and no `unsafe` but for one instruction in [`json`]. Rows are
//! found by a [`split::Split`], which takes bytes piece by piece, so that it serves files that are indexed and streams that
//! pass by alike; the other modules make fields of the bytes of one row. Bytes are never trusted: whatever is wrong is an
//! error, and nothing is allocated that is larger than what it was made of.
#![deny(unsafe_code)]

pub mod csv;
pub mod guess;
pub mod hash;
pub mod json;
pub mod lmdb;
pub mod mds;
pub mod npy;
pub mod preview;
pub mod split;
pub mod text;
pub mod tfrecord;

pub use guess::Guess;
