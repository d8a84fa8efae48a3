//! Zarr stores: arrays as rows, a chunk in each of many objects.

mod archive;
mod array;
mod choose;
mod error;
mod stores;

use crate::{
    boxes::with_boxes,
    object::Object,
    open::{AXIS, AXIS_ROWS, MASK_AND_SCALE, finish, kind, ordered, row_kind, stem, wanted},
    source::{Part, Parts},
};
use choose::Opened as OpenedStore;
use infeed_core::{
    Can, Error, FileLook, FolderLook, FormatEntry, Guess, OpenRequest, Opened, Param, Result, Store, Sure,
    parallel,
};
use std::sync::Arc;

/// The table row of this format.
pub(crate) const ENTRY: FormatEntry = FormatEntry {
    name: "zarr",
    about: "Zarr, versions 2 and 3: arrays as rows along an axis, or one row a store",
    details: "\
A path is the folder of a group or of an array, in any store that can be listed, or a folder of such folders. Stores in ZIP archives (`.zip`) \
are read where they lie. \
The fields are the paths of arrays without the first slash (`x`, `train/x`); a store that is one array has the field `data`. Structures \
give one field for each of their members (`x.member`), complex numbers two (`x.r`, `x.i`). Numbers in either byte order, bool, times (as \
their numbers), and text of fixed length, one a row. Values are as `scale_factor`, `add_offset`, `_FillValue` and `valid_range` \
say where an array has such attributes, unless `mask_and_scale` is false.

`rows` says what a row is:

* `\"axis\"`: one step along `axis` of every array; several stores are laid end to end. Without `variables`, all arrays are taken whose axis \
has the length that most of them have.
* `\"file\"`: all of a store, with all of its arrays if no `variables` are given. Arrays may differ in the lengths of their axes from store to \
store.

Objects are listed once, when the store is opened; a chunk that is not there has the fill value. The indices of shards are read then, \
too, so that a row of a sharded array takes only the chunks that it needs. Chunks that hold several rows are decoded once and kept \
while their rows are needed (`blocks`). Codecs: blosc, blosc2, zstd, gzip, zlib, lz4, bz2, shuffle, delta, transpose, \
sharding_indexed, checksums, and others of numcodecs for numbers.

Rows can be boxes: `window` takes several steps along the axis, with `horizon` steps behind them as `NAME.target`; `patch` cuts \
boxes out of the last axes and says in `origin` where they begin; `stack` makes one field of all. docs/arrays.md has examples.",
    params: &with_boxes::<17>(&[AXIS_ROWS, AXIS, VARIABLES, MASK_AND_SCALE]),
    endings: &[".zarr"],
    magic: &[],
    can: Can { blocks: true, ..Can::ROWS },
    recognise: Some(recognise),
    recognise_folder: Some(recognise_folder),
    open,
};

const VARIABLES: Param = Param {
    name: "variables",
    python: "Sequence[str] | None",
    default: Some("null"),
    about: "the arrays to read, by their paths; by their lengths, or all, if not given",
};

/// Recognises metadata, which stands for its folder, and archives.
fn recognise(file: &FileLook<'_>) -> Option<Guess> {
    (stores::is_metadata(file.name) || archive::recognise(file)).then(|| Guess::new(Sure::Certain))
}

/// Recognises a store, or a folder of stores.
fn recognise_folder(look: &FolderLook<'_>) -> Result<Option<Guess>> {
    let inside = |name: &&'_ str| name.strip_prefix(look.folder).is_some();
    let keys = look.files.iter().filter(|name| inside(name));
    let tops = stores::tops(keys.map(|name| name[look.folder.len()..].trim_start_matches('/')));
    Ok(match tops.len() {
        0 => None,
        _ if tops.contains("") => Some(Guess::new(Sure::Certain)),
        // Their chunks have names of all kinds.
        _ => Some(Guess { count: look.files.len(), ..Guess::new(Sure::Name) }),
    })
}

fn open(request: &OpenRequest<'_>) -> Result<Opened> {
    let args = request.args()?;
    let rows = kind(&args, row_kind(&args, "axis", &["axis", "file"])?)?;
    let names = wanted(&args, "variables")?;
    let scale = args.flag("mask_and_scale")?;
    let listings: Vec<Arc<stores::Listing>> = stores::find(request)?.into_iter().map(Arc::new).collect();
    let Some(first) = listings.first() else {
        return Err(Error::argument("there is no Zarr store to read"));
    };
    // What is taken of every store is settled by the first.
    let (names, notes) = OpenedStore::new(Arc::clone(first))?.settle(names, rows)?;
    // Several stores are opened at a time, or several shards of one.
    let inside = (request.threads / listings.len()).max(1);
    let chosen = parallel::map(listings.len(), request.threads, |at| {
        OpenedStore::new(Arc::clone(&listings[at]))?.open(&names, scale, inside)
    })?;
    let store: Arc<dyn Store> = Arc::clone(request.store);
    let (mut objects, mut parts) = (Vec::new(), Vec::new());
    let fields: Vec<Arc<str>> = chosen
        .first()
        .map_or_else(Vec::new, |first| first.arrays.iter().map(|(name, _)| Arc::clone(name)).collect());
    for (file, (set, listing)) in chosen.into_iter().zip(&listings).enumerate() {
        let name = Arc::clone(&listing.name);
        let arrays = ordered(request.entry, &name, set.arrays, &fields)?;
        let (key, stamp) = (stem(&name), listing.stamp());
        let dimensions = set.dimensions;
        parts.push(Part { object: objects.len(), file, name, key, stamp, arrays, dimensions });
        objects.extend(set.objects.into_iter().map(|shard| Object::new(&store, shard)));
    }
    let (kind, files) = (request.entry.name, listings.len());
    let found = Parts { kind, store, objects, files, parts, names: fields, rows, map: false, notes };
    finish(found, &args)
}
