//! Classic NetCDF files: variables as rows along their first dimension.
//!
//! Every variable is elements at a stride along each axis, also where records of several variables take turns, so that
//! [`Plain`] is all that reading needs.

use crate::{
    array::{Array, Dimensions, Element, NamedArrays, Plain, Scaling},
    boxes::with_boxes,
    lengths::{by_length, notes},
    object::Object,
    open::{
        AXIS, AXIS_ROWS, FoundArrays, MASK_AND_SCALE, READ, files, kind, missing, open as open_files,
        row_kind, stem, wanted,
    },
    source::RowKind,
};
use bytes::Bytes;
use infeed_core::{
    Can, Dtype, Error, FileLook, FolderLook, FormatEntry, Guess, Magic, OpenRequest, Opened, Param, Result,
    Shard, Store, StoreExt, Sure,
};
use infeed_netcdf3::{ByteSource, Error as Inner, File, Kind, Limits, ReadError, Value, Variable};
use std::{ops::Range, sync::Arc};

/// The table row of this format.
pub(crate) const ENTRY: FormatEntry = FormatEntry {
    name: "netcdf",
    about: "classic netCDF (versions 1, 2 and 5): variables as rows along an axis, or one row a file",
    details: "\
The fields are the names of variables. Variables of characters are text, with the last dimension as its length. Values are as \
`scale_factor`, `add_offset`, `_FillValue` and `valid_range` say, unless `mask_and_scale` is false.

`rows` says what a row is:

* `\"axis\"`: one step along `axis` of every variable: along the record dimension, or the first one. Several files are laid end to end. \
Without `variables`, all are taken whose axis has the length that most of them have.
* `\"file\"`: all of a file, with all of its variables if no `variables` are given. Variables may differ in the lengths of their axes from \
file to file.

netCDF-4 files are HDF5 files: `infeed.hdf5` reads them, and `infeed.open` tells which is which.

Rows can be boxes: `window` takes several steps along the axis, with `horizon` steps behind them as `NAME.target`; `patch` cuts \
boxes out of the last axes and says in `origin` where they begin; `stack` makes one field of all. docs/arrays.md has examples.",
    params: &with_boxes::<18>(&[AXIS_ROWS, AXIS, VARIABLES, MASK_AND_SCALE, READ]),
    endings: &[".nc", ".cdf", ".nc3"],
    magic: &[
        Magic { at: 0, bytes: b"CDF\x01" },
        Magic { at: 0, bytes: b"CDF\x02" },
        Magic { at: 0, bytes: b"CDF\x05" },
    ],
    can: Can::ROWS,
    recognise: Some(recognise),
    recognise_folder: Some(recognise_folder),
    open,
};

const VARIABLES: Param = Param {
    name: "variables",
    python: "Sequence[str] | None",
    default: Some("null"),
    about: "the variables to read; by their lengths, or all, if not given",
};

/// Recognises a file by its first bytes alone: netCDF-4 has the same endings.
fn recognise(file: &FileLook<'_>) -> Option<Guess> {
    ENTRY.look_usual(file).filter(|_| infeed_netcdf3::is_netcdf3(file.head))
}

/// Recognises a folder by the first bytes of its first file.
fn recognise_folder(look: &FolderLook<'_>) -> Result<Option<Guess>> {
    let own: Vec<&&str> = look.files.iter().filter(|name| ENTRY.has_ending(name)).collect();
    let Some(first) = own.first() else { return Ok(None) };
    let shard = look.store.stat_one(first)?;
    let head = look.store.read_one(&shard, 0..shard.size.min(4))?;
    let classic = infeed_netcdf3::is_netcdf3(&head);
    Ok(classic.then(|| Guess { count: own.len(), ..Guess::new(Sure::Head) }))
}

fn open(request: &OpenRequest<'_>) -> Result<Opened> {
    let args = request.args()?;
    let kind = kind(&args, row_kind(&args, "axis", &["axis", "file"])?)?;
    let names = wanted(&args, "variables")?;
    let scale = args.flag("mask_and_scale")?;
    let shards = files(request)?.shards;
    // What is taken of every file is settled by the first.
    let (names, notes) = match (names, shards.first()) {
        (Some(names), _) => (names, String::new()),
        (None, Some(shard)) => settle(&open_file(request.store, shard)?, &shard.name, kind)?,
        (None, None) => (Vec::new(), String::new()),
    };
    open_files(request, shards, (kind, notes), |object: &Object| {
        let file = open_file(request.store, object.shard())?;
        let named = |variable: &Variable| (Arc::from(variable.name.as_str()), variable.dimensions.clone());
        let mut dimensions: Dimensions = file.variables().iter().map(named).collect();
        for variable in file.variables() {
            let name = Arc::from(variable.name.as_str());
            dimensions.count_in(&name, |name| {
                match variable.attributes.iter().find(|(own, _)| own == name) {
                    Some((_, Value::Text(text))) => Some(text.clone()),
                    _ => None,
                }
            });
        }
        let arrays = arrays(&file, object, &names, scale)?;
        Ok(vec![FoundArrays { key: stem(object.name()), arrays, dimensions }])
    })
}

/// What is taken of a file if nobody says it, and what to tell of the rest.
fn settle(file: &File, name: &str, rows: RowKind) -> Result<(Vec<String>, String)> {
    let RowKind::Axis(axis) = rows else {
        let all = file.variables().iter().map(|variable| variable.name.clone());
        return Ok((all.collect(), String::new()));
    };
    let shape = |variable: &Variable| Ok((variable.name.clone(), shape(variable).to_vec()));
    let found = by_length(name, "variable", axis, file.variables().iter().map(shape))?;
    let notes = notes(&found.others);
    Ok((found.taken, notes))
}

/// The shape of a variable. The last dimension of characters is the length of texts.
fn shape(variable: &Variable) -> &[u64] {
    match variable.shape.split_last() {
        Some((_, outer)) if variable.kind == Kind::Char && !outer.is_empty() => outer,
        _ => &variable.shape,
    }
}

fn arrays(file: &File, object: &Object, names: &[String], scale: bool) -> Result<NamedArrays> {
    let has = || file.variables().iter().map(|variable| variable.name.as_str());
    let one = |name: &String| {
        let Some(variable) = file.variables().iter().find(|variable| variable.name == *name) else {
            return Err(missing(&format!("`{}`", object.name()), name, has()));
        };
        let array = array(variable, object)?;
        let array = if scale { scaling(variable).apply(array) } else { array };
        Ok((Arc::from(name.as_str()), array))
    };
    names.iter().map(one).collect()
}

/// What the attributes of a variable say about its values.
fn scaling(variable: &Variable) -> Scaling {
    Scaling::of(|name| match variable.attributes.iter().find(|(own, _)| own == name) {
        Some((_, Value::Floats(values))) => values.clone(),
        Some((_, Value::Integers(values))) => values.iter().map(|value| *value as f64).collect(),
        _ => Vec::new(),
    })
}

fn array(variable: &Variable, object: &Object) -> Result<Arc<dyn Array>> {
    let shape = shape(variable).to_vec();
    let element = match variable.kind {
        Kind::Char => {
            let width: u64 = variable.shape[shape.len()..].iter().product();
            match usize::try_from(width).ok().filter(|width| (1..1 << 24).contains(width)) {
                Some(width) => Element::Text(width),
                None => {
                    let what = format!("`{}`: `{}` has texts of {width} bytes", object.name(), variable.name);
                    return Err(Error::argument(what + "; read other variables"));
                }
            }
        }
        Kind::I8 => Element::Number(Dtype::I8),
        Kind::I16 => Element::Number(Dtype::I16),
        Kind::I32 => Element::Number(Dtype::I32),
        Kind::I64 => Element::Number(Dtype::I64),
        Kind::U8 => Element::Number(Dtype::U8),
        Kind::U16 => Element::Number(Dtype::U16),
        Kind::U32 => Element::Number(Dtype::U32),
        Kind::U64 => Element::Number(Dtype::U64),
        Kind::F32 => Element::Number(Dtype::F32),
        Kind::F64 => Element::Number(Dtype::F64),
    };
    // The header promises that this can be counted.
    let last = |(side, stride): (&u64, &u64)| side.saturating_sub(1).saturating_mul(*stride);
    let span = variable.shape.iter().zip(&variable.strides).map(last).fold(0, u64::saturating_add);
    let end = variable.begin.saturating_add(span).saturating_add(variable.kind.size() as u64);
    if end > object.size() && !variable.shape.contains(&0) {
        let what = format!("`{}` ends at byte {end}: the file is cut short; copy it again", variable.name);
        return Err(object.damaged(object.size(), what));
    }
    let strides = variable.strides[..shape.len()].to_vec();
    let turned = cfg!(target_endian = "little") && variable.kind.size() > 1;
    let plain =
        Plain { element, shape, strides, at: variable.begin, turned, wide: false, chunk: None, seal: None };
    Ok(Arc::new(plain))
}

fn open_file(store: &Arc<dyn Store>, shard: &Shard) -> Result<File> {
    let bytes = Arc::new(StoreBytes { store: Arc::clone(store), shard: shard.clone() });
    File::open(bytes, Limits::default()).map_err(|error| match &error {
        Inner::Read(cause) if cause.is::<Error>() => {
            cause.downcast_ref::<Error>().cloned().unwrap_or_else(|| Error::argument(error.to_string()))
        }
        Inner::Damaged { at, .. } => damaged(shard, *at, &error),
        Inner::Truncated { has, .. } => damaged(shard, *has, &error),
        Inner::NotNetcdf3 => damaged(shard, 0, &error),
        _ => Error::argument(format!("`{}`: {error}", shard.name)),
    })
}

fn damaged(shard: &Shard, offset: u64, error: &Inner) -> Error {
    Error::Format { shard: shard.name.to_string(), offset, what: error.to_string() }
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
}
