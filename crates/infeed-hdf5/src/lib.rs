//! HDF5 files (and so netCDF-4 files) for data loading, in Rust alone.
//!
//! The C library reads HDF5 behind one global lock: a second thread waits, whatever the machine could do. It also owns the
//! file, so that chunks can neither be fetched ahead from a remote store nor be decoded where they are wanted. This crate
//! takes the file apart in the way a data loader needs:
//!
//! ```text
//!  bytes by range        File            Reader              plan                  place
//!  (any store)   ──▶  metadata, once ──▶ chunk map  ──▶  which bytes a   ──▶  bytes of one piece into
//!                     names, shapes      (can be         slab needs           the caller's memory, on
//!                                        saved)                               the caller's threads
//! ```
//!
//! * [`File::open`] reads metadata over a [`ByteSource`] in large aligned blocks, so that remote stores see few requests.
//!   [`File::list`] gives the tree, [`File::dataset`] what a data set is, [`File::attributes`] the small values beside it.
//! * [`File::reader`] reads where all chunks are, once, from whichever of the six kinds of index the file has. The
//!   [`ChunkMap`] takes 12 bytes per chunk and can be saved ([`ChunkMap::to_bytes`]).
//! * [`Reader::plan`] says which ranges of the file a [`Slab`] needs. It reads nothing, so that the caller can join
//!   ranges, fetch them early, or keep them.
//! * [`Reader::place`] undoes the filters of one piece and writes its elements where they belong, in this machine's byte
//!   order. It is a pure function over memory that the caller owns: any number of threads can work on one file.
//!
//! **Nothing in a file is believed.** Every structure is read through a cursor that knows its end. Lengths are compared
//! with the file and with [`Limits`] before memory is asked for. Trees must fall by one level with every step, and no node
//! may be met twice. Newer structures carry checksums, which are checked. `tests/hostile.rs` cuts files at every byte and
//! changes them ten thousand times.
//!
//! **What is refused, by name:** virtual data sets, external links and external files, references and lists of any length
//! as elements of a data set, floats that no processor has, and the filters szip, zfp, sz and others that need their own libraries.
//!
//! The format is that of the public specification, versions 0 to 3 of the superblock and 1 to 5 of the data layout.
//! `scripts/hdf5_matrix.py` compares with h5py on files that it writes, over types, layouts, filters, shapes and library versions.
#![forbid(unsafe_code)]

mod attribute;
mod checksum;
mod chunks;
mod cursor;
mod dataset;
mod datatype;
mod error;
mod file;
mod filter;
mod fuzzing;
mod group;
mod header;
mod heap;
mod layout;
mod limits;
mod meta;
mod slab;
mod source;
mod space;
mod superblock;
mod tree;

pub use attribute::{Attribute, Value};
pub use chunks::{ChunkMap, StoredChunk};
pub use dataset::Dataset;
pub use datatype::{Class, Datatype, Field, FloatFormat, Native, Order, Padding, Scalar, trim};
pub use error::{Error, ReadError, Result};
pub use file::{Entry, File, Kind};
pub use filter::{Filter, Pipeline, Scratch};
pub use fuzzing::fuzz_hdf5;
pub use layout::{ChunkIndex, Layout};
pub use limits::Limits;
pub use slab::{Piece, Plan, Reader, Slab};
pub use source::ByteSource;
pub use space::Space;
pub use superblock::is_hdf5;
