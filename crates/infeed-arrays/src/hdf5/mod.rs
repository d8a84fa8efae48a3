//! HDF5 files, and so netCDF-4: data sets as rows.

mod array;
mod choose;
mod error;

use crate::{
    boxes::with_boxes,
    object::Object,
    open::{
        AXIS, FoundArrays, MASK_AND_SCALE, READ, files, kind, open as open_files, row_kind, stem, wanted,
    },
};
use bytes::Bytes;
use choose::Chooser;
use infeed_core::{
    Can, FileLook, FormatEntry, Guess, Magic, OpenRequest, Opened, Param, Result, Shard, Store, StoreExt,
};
use infeed_hdf5::{ByteSource, File, Limits, ReadError};
use std::{ops::Range, sync::Arc};

/// The table row of this format.
pub(crate) const ENTRY: FormatEntry = FormatEntry {
    name: "hdf5",
    about: "HDF5 and netCDF-4: data sets as rows along an axis, one row a file or a group",
    details: "\
The fields are the paths of data sets without the first slash (`x`, `train/x`); a compound type gives one field for each of its members \
(`x.member`). Numbers of any width and byte order, bool, enums (as their numbers), arrays in elements, and text, one a row. Values are \
as `scale_factor`, `add_offset`, `_FillValue` and `valid_range` say where a data set has such attributes (netCDF-4 files do), unless \
`mask_and_scale` is false.

`rows` says what a row is:

* `\"axis\"`: one step along `axis` of every data set; several files are laid end to end. Without `variables`, all data sets are taken \
whose axis has the length that most of them have.
* `\"file\"`: all of a file, with all of its data sets if no `variables` are given.
* `\"group\"`: every group that has the data sets named in `variables`; without those, the ones of the first group that has any.

The file is read without the C library, by all threads at once. Where chunks are is read once, when the file is opened. Chunks that \
hold several rows are decoded once and kept while their rows are needed (`blocks`). Filters: shuffle, deflate, fletcher32, lzf, nbit, \
scale-offset, lz4, zstd, blosc, blosc2, bitshuffle, bzip2.

Rows can be boxes: `window` takes several steps along the axis, with `horizon` steps behind them as `NAME.target`; `patch` cuts \
boxes out of the last axes and says in `origin` where they begin; `stack` makes one field of all. docs/arrays.md has examples.",
    params: &with_boxes::<18>(&[ROWS, AXIS, VARIABLES, MASK_AND_SCALE, READ]),
    endings: &[".h5", ".hdf5", ".he5", ".nc4", ".nc"],
    magic: &[Magic { at: 0, bytes: SIGNATURE }],
    can: Can { blocks: true, ..Can::ROWS },
    recognise: Some(recognise),
    recognise_folder: None,
    open,
};

const SIGNATURE: &[u8] = b"\x89HDF\r\n\x1a\n";

const ROWS: Param = Param {
    name: "rows",
    python: "Hdf5Rows",
    default: Some("\"axis\""),
    about: "what a row is: `axis`, `file` or `group`",
};

const VARIABLES: Param = Param {
    name: "variables",
    python: "Sequence[str] | None",
    default: Some("null"),
    about: "the data sets to read, by their paths; by their lengths if not given",
};

/// Recognises a file. Older netCDF files have the same endings and are another format.
fn recognise(file: &FileLook<'_>) -> Option<Guess> {
    let classic = file.head.starts_with(b"CDF");
    ENTRY.look_usual(file).filter(|_| !classic)
}

fn open(request: &OpenRequest<'_>) -> Result<Opened> {
    let args = request.args()?;
    let rows = row_kind(&args, "axis", &["axis", "file", "group"])?;
    let names = wanted(&args, "variables")?;
    let kind = kind(&args, rows)?;
    let shards = files(request)?.shards;
    let axis = args.int("axis", -32)?;
    // What is taken of every file is settled by the first.
    let chooser = Chooser::new(rows, axis, names, args.flag("mask_and_scale")?);
    let first = shards.first().map(|shard| open_file(request.store, shard)).transpose()?;
    let chooser = match &first {
        Some((file, name)) => chooser.settle(file, name)?,
        None => chooser,
    };
    let notes = chooser.notes();
    open_files(request, shards, (kind, notes), |object: &Object| {
        let (file, name) = open_file(request.store, object.shard())?;
        let found = chooser.arrays(&Arc::new(file), &name)?;
        Ok(found
            .into_iter()
            .map(|found| FoundArrays {
                key: found.group.unwrap_or_else(|| stem(&name)),
                arrays: found.arrays,
                dimensions: found.dimensions,
            })
            .collect())
    })
}

fn open_file(store: &Arc<dyn Store>, shard: &Shard) -> Result<(File, String)> {
    let name = shard.name.to_string();
    let bytes = Arc::new(StoreBytes { store: Arc::clone(store), shard: shard.clone() });
    let file = File::open(bytes, Limits::default()).map_err(|e| error::at_opening(&name, e))?;
    Ok((file, name))
}

/// A file of a store, for the reader.
struct StoreBytes {
    store: Arc<dyn Store>,
    shard: Shard,
}

impl ByteSource for StoreBytes {
    fn size(&self) -> u64 {
        self.shard.size
    }

    fn read(&self, range: Range<u64>) -> std::result::Result<Bytes, ReadError> {
        self.store.read_one(&self.shard, range).map_err(|e| Box::new(e) as ReadError)
    }

    fn read_many(&self, ranges: &[Range<u64>]) -> std::result::Result<Vec<Bytes>, ReadError> {
        self.store.read(&self.shard, ranges).map_err(|e| Box::new(e) as ReadError)
    }

    fn is_far(&self) -> bool {
        self.store.room_ahead().is_some()
    }
}
