//! Filters: what was done to a chunk before it was stored, undone in memory.
//!
//! [`Pipeline::decode`] is a pure function of bytes. It writes into memory that the caller gives, with buffers that the
//! caller keeps from chunk to chunk, so that any number of threads can work on chunks of one data set. Sizes are
//! checked: a filter that gives more or less than a chunk is an error. Filters that other formats know, too, are in `infeed-codecs`.

mod nbit;
mod pipeline;
mod scaleoffset;

pub use pipeline::{Filter, Pipeline, Scratch};

/// Numbers of filters, as they are registered.
pub(crate) mod id {
    pub(crate) const DEFLATE: u16 = 1;
    pub(crate) const SHUFFLE: u16 = 2;
    pub(crate) const FLETCHER32: u16 = 3;
    pub(crate) const SZIP: u16 = 4;
    pub(crate) const NBIT: u16 = 5;
    pub(crate) const SCALEOFFSET: u16 = 6;
    pub(crate) const BZIP2: u16 = 307;
    pub(crate) const LZF: u16 = 32000;
    pub(crate) const BLOSC: u16 = 32001;
    pub(crate) const LZ4: u16 = 32004;
    pub(crate) const BITSHUFFLE: u16 = 32008;
    pub(crate) const ZSTD: u16 = 32015;
    pub(crate) const BLOSC2: u16 = 32026;
}

/// The name of a registered filter, for messages.
pub(crate) fn name(id: u16) -> &'static str {
    match id {
        id::DEFLATE => "deflate",
        id::SHUFFLE => "shuffle",
        id::FLETCHER32 => "fletcher32",
        id::SZIP => "szip",
        id::NBIT => "nbit",
        id::SCALEOFFSET => "scale-offset",
        id::BZIP2 => "bzip2",
        id::LZF => "lzf",
        id::BLOSC => "blosc",
        id::LZ4 => "lz4",
        id::BITSHUFFLE => "bitshuffle",
        id::ZSTD => "zstd",
        id::BLOSC2 => "blosc2",
        32013 => "zfp",
        32017 => "sz",
        32018 => "fcidecomp",
        32019 => "jpeg",
        32024 => "sz3",
        32028 => "sperr",
        _ => "not known here",
    }
}
