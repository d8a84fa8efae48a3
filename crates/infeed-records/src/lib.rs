//! Record formats: JSON lines, CSV, text, TFRecord, MDS, LMDB; and the headers of `.npy` files.
//!
//! Everything here is a function of bytes: no files, no threads, and no `unsafe` except one instruction in [`json`].
//! A [`split::Split`] finds rows. It takes bytes piece by piece, so it serves both indexed files and streams. The
//! other modules make fields from the bytes of one row. Input is never trusted: anything invalid is an error, and no
//! allocation is larger than the input it comes from.
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
