//! Codecs of array chunks: what HDF5, Zarr and their like do to a chunk before it is stored, undone in memory.
//!
//! Every function takes bytes and memory for what they hold, and says how many bytes it made. There is no I/O here, there are no
//! threads, and nothing is kept but the [`Scratch`] that the caller owns: any number of threads can decode chunks, each with
//! a scratch of its own.
//!
//! **Lengths are checked.** Input is what somebody stored, so every length in it is compared with what is there before
//! it is used; nothing is written behind the memory that was given. The caller knows how large a chunk is, so nothing is
//! allocated because the input says so, except for the one table of a blosc2 frame, whose size is bounded by the chunk's.
#![deny(unsafe_code)]

pub mod bitshuffle;
pub mod blosc;
pub mod blosc2;
mod blosclz;
mod checksum;
mod compress;
mod error;
pub mod fletcher32;
mod fuzzing;
mod lz4;
pub mod lzf;
mod scratch;
pub mod shuffle;
#[allow(unsafe_code)]
mod wide;

pub use checksum::{adler32, crc32, crc32c};
pub use compress::{bzip2, gzip, inflate, xz, zlib, zstd};
pub use error::{Error, Result};
pub use fuzzing::fuzz_codecs;
pub use lz4::{lz4, lz4_blocks, lz4_sized};
pub use scratch::Scratch;
