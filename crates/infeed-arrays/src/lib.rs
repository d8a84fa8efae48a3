//! Arrays as rows: NumPy's `.npy` and `.npz`, safetensors, files of `torch.save` and without headers, HDF5 and so netCDF-4, classic netCDF, Zarr.
//!
//! ```text
//! array    one array of a file: which bytes a box of it needs, and bytes to elements   plain (strided), packed (zip), hdf5, zarr
//! object   the bytes of one file, mapped or read by ranges
//! shared   large samples, which several threads make together
//! source   arrays of many files as one source: rows, blocks, batches
//! boxes    the same for rows that are boxes: windows, patches, stacked variables
//! open     from paths and arguments to a source
//! zip      the directory of a ZIP archive, and members that are deflated
//! lengths  which arrays are fields, if nobody says it
//! npy, npz, safetensors, torch, memmap, hdf5, netcdf, zarr   the formats: how the arrays of a file or store are found
//! ```
//!
//! *Which bytes* ([`array::Array::plan`]) is apart from *bytes to elements* ([`array::Pieces::place`]), so that one source
//! serves all formats: it reads, announces, caches and joins without knowing any of them. Another format
//! implements [`array::Array`] and has an entry in [`ENTRIES`].
//!
//! A row is one step along an axis (`rows="axis"`), all of a file (`rows="file"`), or a box of either ([`boxes`]). Fields of a fixed shape are written
//! straight into batches. Where chunks hold several rows, rows are read in blocks, each decoded once while it is needed
//! ([`infeed_core::blocks`]).
#![forbid(unsafe_code)]

pub mod array;
mod boxes;
mod hdf5;
mod lengths;
mod memmap;
mod netcdf;
mod npy;
mod npz;
mod object;
mod open;
mod safetensors;
mod shared;
mod source;
#[cfg(test)]
mod tests;
mod torch;
mod zarr;
mod zip;

pub use boxes::BoxSource;
pub use safetensors::fuzz_safetensors;
pub use source::ArraySource;
pub use torch::fuzz_pickle;
pub use zip::fuzz_npz;

use infeed_core::FormatEntry;

/// The table of formats.
pub const ENTRIES: &[&FormatEntry] = &[
    &npy::ENTRY,
    &npz::ENTRY,
    &safetensors::ENTRY,
    &torch::ENTRY,
    &memmap::ENTRY,
    &hdf5::ENTRY,
    &netcdf::ENTRY,
    &zarr::ENTRY,
];
