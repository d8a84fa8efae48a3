//! Zarr arrays of versions 2 and 3 for data loading, in Rust alone.
//!
//! Libraries for Zarr read an array: they fetch chunks, decode them and give memory of their own. A data loader wants
//! to know beforehand which bytes it will need, fetch them through any store, and decode them on its own threads into its
//! own memory. So this crate takes an array apart:
//!
//! ```text
//!  objects by key       Tree            Reader               plan                  place
//!  (any store)  ──▶  metadata     ──▶  indices of   ──▶  which objects or  ──▶  bytes of one piece into
//!                    names, shapes     shards, kept      ranges a slab         the caller's memory, on
//!                                                        needs                 the caller's threads
//! ```
//!
//! * [`Tree::open`] reads metadata over [`Objects`]: consolidated where it is, otherwise group by group. [`Tree::list`] gives the tree,
//!   [`Tree::array`] what an array is, [`Tree::attributes`] the small values beside it.
//! * [`Tree::reader`] makes a [`Reader`]. Where arrays are sharded, [`Reader::needs`] says which indices a slab needs and
//!   [`Reader::learn`] keeps them.
//! * [`Reader::plan`] says which objects, or which ranges of them, a [`Slab`] needs. It reads nothing.
//! * [`Reader::place`] undoes the codecs of one piece and writes its elements where they belong, in this machine's byte order. It
//!   is a pure function over memory that the caller owns. An object that is not there stands for the fill value.
//!
//! **Nothing in a store is believed.** Shapes may not overflow, sizes are compared with [`Limits`] before memory is asked for, JSON
//! is only so deep, names cannot lead out of the store, and a codec that gives more or less than a chunk is an error.
//!
//! **What is known:** the codecs bytes, transpose, sharding_indexed (nested, too), blosc (lz4, lz4hc, blosclz, zlib, zstd; with bytes or bits
//! shuffled), blosc2, gzip, zlib, zstd, lz4, bz2, crc32c, crc32, adler32, fletcher32, shuffle, delta, fixedscaleoffset, quantize, bitround,
//! astype and packbits, also under their names with `numcodecs.` in front; booleans, integers and floats of every size in both byte orders,
//! bfloat16, complex numbers (given as pairs), times, bytes and texts of fixed length, raw bytes and structures.
//!
//! **What is refused, by name:** other codecs and data types (also texts and lists of any length), chunk grids that are not regular,
//! storage transformers, and extensions that must be understood.
#![forbid(unsafe_code)]

mod codec;
mod datatype;
mod error;
mod fill;
mod fuzzing;
mod json;
mod limits;
mod meta;
mod objects;
mod slab;
mod tree;

pub use codec::Scratch;
pub use datatype::{Class, Datatype, Field, Native, Order, Scalar};
pub use error::{Error, ReadError, Result};
pub use fuzzing::{fuzz_zarr, unpacked};
pub use json::Json;
pub use limits::Limits;
pub use meta::Array;
pub use objects::{Objects, Span};
pub use slab::{Need, Piece, Plan, Reader, Slab};
pub use tree::{Entry, Kind, Tree};
