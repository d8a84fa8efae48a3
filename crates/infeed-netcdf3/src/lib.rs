//! Classic NetCDF files (NetCDF-3: the classic format, the one with 64-bit offsets, and CDF-5) for data loading.
//!
//! NetCDF-4 files are HDF5 files: see `infeed-hdf5`. As there, *which bytes* is apart from *bytes to arrays*: [`File::open`] reads the
//! header over a [`ByteSource`], [`File::plan`] says which ranges a [`Slab`] of a variable needs, and [`Plan::place`] writes the elements
//! of one piece into memory that the caller owns, in this machine's byte order, on any thread.
//!
//! Nothing in a file is believed: lengths are compared with the file and with [`Limits`] before memory is asked for, sizes may
//! not overflow, and a slab whose bytes are not all in the file is refused.
#![forbid(unsafe_code)]

mod cursor;
mod error;
mod header;
mod read;
mod source;

pub use error::{Error, ReadError, Result};
pub use header::{Dimension, Kind, Value, Variable};
pub use read::{Piece, Plan, Slab};
pub use source::{ByteSource, Limits};

use std::{fmt, sync::Arc};

/// An open file. It only reads the header; it can be used by many threads at once.
pub struct File {
    source: Arc<dyn ByteSource>,
    limits: Limits,
    header: header::Header,
}

impl fmt::Debug for File {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("File").field("header", &self.header).finish_non_exhaustive()
    }
}

/// Whether these first bytes are those of a classic NetCDF file.
pub fn is_netcdf3(front: &[u8]) -> bool {
    matches!(front, [b'C', b'D', b'F', 1 | 2 | 5, ..])
}

impl File {
    /// Opens a file over its bytes.
    pub fn open(source: Arc<dyn ByteSource>, limits: Limits) -> Result<File> {
        let header = header::Header::read(&*source, limits)?;
        Ok(File { source, limits, header })
    }

    /// The version: 1, 2 (64-bit offsets) or 5.
    pub fn version(&self) -> u8 {
        self.header.version
    }

    /// Length of the file in bytes.
    pub fn size(&self) -> u64 {
        self.source.size()
    }

    fn source(&self) -> &dyn ByteSource {
        &*self.source
    }

    /// All dimensions.
    pub fn dimensions(&self) -> &[Dimension] {
        &self.header.dimensions
    }

    /// The attributes of the file.
    pub fn attributes(&self) -> &[(String, Value)] {
        &self.header.attributes
    }

    /// All variables.
    pub fn variables(&self) -> &[Variable] {
        &self.header.variables
    }

    /// The variable of a name.
    pub fn variable(&self, name: &str) -> Result<&Variable> {
        let found = self.header.variables.iter().find(|variable| variable.name == name);
        found.ok_or_else(|| {
            let names: Vec<&str> = self.header.variables.iter().map(|v| v.name.as_str()).take(8).collect();
            Error::NotFound(format!("there is no variable `{name}`; there are: {}", names.join(", ")))
        })
    }
}

/// Opens arbitrary bytes as a file and reads what there is. A part of a variable must be equal to the same part of the whole.
pub fn fuzz_netcdf3(data: &[u8]) {
    const MOST: usize = 1 << 16;
    let source = Arc::new(bytes::Bytes::copy_from_slice(data));
    let Ok(file) = File::open(source, Limits::small()) else { return };
    for variable in file.variables().iter().take(64) {
        let mut slab = Slab::all(&variable.shape);
        let mut room = MOST as u64 / variable.kind.size() as u64;
        for n in slab.count.iter_mut().rev() {
            *n = (*n).min(room);
            room = (room / (*n).max(1)).min(64);
        }
        let Ok(plan) = file.plan(variable, &slab) else { continue };
        if plan.bytes() > MOST {
            continue;
        }
        let mut whole = vec![0; plan.bytes()];
        if file.read_slab(variable, &slab, &mut whole).is_err() {
            continue;
        }
        let rows = slab.count.first().copied().unwrap_or(0);
        if rows > 1 {
            let (from, row) = (rows / 2, whole.len() / rows as usize);
            (slab.start[0], slab.count[0]) = (from, rows - from);
            let mut out = vec![0; row * (rows - from) as usize];
            let read = file.read_slab(variable, &slab, &mut out);
            assert!(read.is_ok(), "a part of {} cannot be read, the whole can", variable.name);
            assert!(
                out == whole[from as usize * row..],
                "a part of {} differs from the whole",
                variable.name
            );
        }
    }
}
