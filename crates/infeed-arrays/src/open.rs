//! From paths and arguments to a source: what the formats share.

use crate::{
    array::{Array, Dimensions, NamedArrays},
    boxes::{BoxSource, Form},
    object::Object,
    source::{ArraySource, Part, Parts, RowKind},
};
use infeed_core::{
    Args, Error, FormatEntry, Found, OpenRequest, Opened, Param, Result, Shard, Stamp, Store, parallel,
    registry,
};
use std::sync::Arc;

pub(crate) const AXIS: Param = Param {
    name: "axis",
    python: "int",
    default: Some("0"),
    about: "the axis along which rows lie; negative ones are counted from the end",
};
pub(crate) const FIELDS: Param = Param {
    name: "fields",
    python: "Sequence[str] | None",
    default: Some("null"),
    about: "the fields to read; all of them if not given",
};
/// `rows` of formats whose files are meant to be rows.
pub(crate) const FILE_ROWS: Param = Param {
    name: "rows",
    python: "ArrayRows",
    default: Some("\"file\""),
    about: "what a row is: `file` or `axis`",
};
/// `rows` of formats whose rows are meant to lie along an axis.
pub(crate) const AXIS_ROWS: Param = Param {
    name: "rows",
    python: "ArrayRows",
    default: Some("\"axis\""),
    about: "what a row is: `axis` or `file`",
};
pub(crate) const MASK_AND_SCALE: Param = Param {
    name: "mask_and_scale",
    python: "bool",
    default: Some("true"),
    about: "apply `scale_factor`, `add_offset`, `_FillValue`, `missing_value` and `valid_range`",
};
pub(crate) const READ: Param = Param {
    name: "read",
    python: "Read",
    default: Some("\"mmap\""),
    about: "`mmap` maps files of small rows; `pread` reads them by calls",
};

/// The arrays of one file that go together, by name. One file can have several (groups), each with a key.
pub(crate) struct FoundArrays {
    pub(crate) key: String,
    pub(crate) arrays: NamedArrays,
    pub(crate) dimensions: Dimensions,
}

/// The files of a request.
pub(crate) struct Files {
    pub(crate) shards: Vec<Shard>,
    /// Whether each path named one file, and no folder or pattern.
    pub(crate) named: bool,
}

/// Finds the files that the paths stand for, in order.
pub(crate) fn files(request: &OpenRequest<'_>) -> Result<Files> {
    let (store, entry) = (request.store, request.entry);
    let mut names = Vec::new();
    let mut named = true;
    for path in request.paths {
        for found in store.find(path)? {
            match found {
                Found::File(name) => {
                    // What a pattern stands for has another name than the pattern.
                    named &= *path == name || path.split("::").any(|part| part == name) || !is_pattern(path);
                    names.push(name);
                }
                Found::Folder(folder) => {
                    named = false;
                    let before = names.len();
                    names.extend(inside(request, &folder)?);
                    if names.len() == before {
                        let hint = format!("; there is no {} file in it", entry.endings[0]);
                        return Err(Error::NotFound { path: path.clone(), hint });
                    }
                }
            }
        }
    }
    let shards = store.stat(&names)?;
    if shards.is_empty() {
        return Err(Error::argument(format!("there is no {} file to read", entry.endings[0])));
    }
    Ok(Files { shards, named })
}

fn is_pattern(path: &str) -> bool {
    path.contains(['*', '?', '[', '{'])
}

/// The files of the format below a folder, without those that programs put there for themselves.
fn inside(request: &OpenRequest<'_>, folder: &str) -> Result<Vec<String>> {
    let listed = match request.listed {
        Some(names) if request.paths.len() == 1 => names.to_vec(),
        _ => request.store.names(folder)?,
    };
    let own = |name: &String| {
        let rest = name.strip_prefix(folder).unwrap_or(name).trim_start_matches('/');
        let hidden = rest.split('/').any(|part| part.starts_with(['.', '_']));
        !hidden && !name.ends_with('/') && request.entry.has_ending(name)
    };
    let mut names: Vec<String> = listed.into_iter().filter(own).collect();
    names.sort();
    Ok(names)
}

/// Reads `rows=` and `axis=`. `usual` is what is meant if `rows` is not given.
pub(crate) fn row_kind(args: &Args, usual: &'static str, known: &[&'static str]) -> Result<&'static str> {
    let given = match args.is_none("rows") {
        true => usual,
        false => args.text("rows")?,
    };
    match known.iter().find(|name| **name == given) {
        Some(name) => Ok(name),
        None => {
            let near = registry::nearest(given, known).map(|n| format!("; did you mean \"{n}\"?"));
            Err(args
                .error("rows", &format!("must be one of {}{}", known.join(", "), near.unwrap_or_default())))
        }
    }
}

/// Makes a source of the files. `look` finds the arrays of one, all with the fields of the first.
pub(crate) fn open(
    request: &OpenRequest<'_>,
    shards: Vec<Shard>,
    (rows, notes): (RowKind, String),
    look: impl Fn(&Object) -> Result<Vec<FoundArrays>> + Sync,
) -> Result<Opened> {
    let args = request.args()?;
    let map = match args.text("read")? {
        "mmap" => true,
        "pread" => false,
        _ => return Err(args.error("read", "must be \"mmap\" or \"pread\"")),
    };
    let store: Arc<dyn Store> = Arc::clone(request.store);
    let objects: Vec<Object> = shards.into_iter().map(|shard| Object::new(&store, shard)).collect();
    let found = parallel::map(objects.len(), request.threads, |at| look(&objects[at]))?;
    let first = found.iter().flatten().next();
    let names: Vec<Arc<str>> =
        first.map_or_else(Vec::new, |first| first.arrays.iter().map(|(name, _)| Arc::clone(name)).collect());
    let mut parts = Vec::new();
    for (object, sets) in found.into_iter().enumerate() {
        for set in sets {
            let shard = objects[object].shard();
            let (name, stamp) = (Arc::clone(&shard.name), Stamp::of(shard));
            let arrays = ordered(request.entry, &name, set.arrays, &names)?;
            let dimensions = set.dimensions;
            parts.push(Part { object, file: object, name, key: set.key, stamp, arrays, dimensions });
        }
    }
    let (kind, files) = (request.entry.name, objects.len());
    let found = Parts { kind, store, objects, files, parts, names, rows, map, notes };
    finish(found, &args)
}

/// Makes a source of what was found: of rows, or of boxes if the arguments ask for them.
pub(crate) fn finish(found: Parts, args: &Args) -> Result<Opened> {
    Ok(Opened::Rows(match Form::read(args)? {
        Some(form) => Arc::new(BoxSource::build(found, form)?),
        None => Arc::new(ArraySource::build(found)?),
    }))
}

/// The arrays of a part in the order of the fields.
pub(crate) fn ordered(
    entry: &FormatEntry,
    place: &str,
    mut arrays: NamedArrays,
    names: &[Arc<str>],
) -> Result<Vec<Arc<dyn Array>>> {
    let mut out = Vec::with_capacity(names.len());
    for name in names {
        let Some(at) = arrays.iter().position(|(own, _)| own == name) else {
            let has: Vec<&str> = arrays.iter().map(|(own, _)| &**own).collect();
            return Err(Error::argument(format!(
                "`{place}` has no `{name}`, which other files have; it has {}",
                has.join(", ")
            )));
        };
        out.push(arrays.swap_remove(at).1);
    }
    if let Some((name, _)) = arrays.first() {
        return Err(Error::argument(format!(
            "`{place}` has `{name}`, which other files do not have; say which fields to read with {}=",
            if entry.params.iter().any(|param| param.name == "variables") { "variables" } else { "fields" }
        )));
    }
    Ok(out)
}

/// Keeps the arrays of these names, in the order in which they are named.
pub(crate) fn choose(place: &str, arrays: NamedArrays, wanted: Option<&[String]>) -> Result<NamedArrays> {
    let Some(wanted) = wanted else { return Ok(arrays) };
    let one = |name: &String| {
        let found = arrays.iter().find(|(own, _)| **own == **name);
        found.cloned().ok_or_else(|| missing(place, name, arrays.iter().map(|(own, _)| &**own)))
    };
    wanted.iter().map(one).collect()
}

/// The error for a name that a file does not have.
pub(crate) fn missing<'a>(place: &str, name: &str, has: impl Iterator<Item = &'a str>) -> Error {
    const SHOWN: usize = 20;
    let has: Vec<&str> = has.collect();
    let near = registry::nearest(name, &has).map(|n| format!("; did you mean `{n}`?")).unwrap_or_default();
    let mut shown = has.iter().take(SHOWN).copied().collect::<Vec<_>>().join(", ");
    if has.len() > SHOWN {
        shown += &format!(" and {} more", has.len() - SHOWN);
    }
    Error::argument(format!("{place} has no `{name}`{near} (it has: {shown})"))
}

/// The names that an argument gives.
pub(crate) fn wanted(args: &Args, name: &str) -> Result<Option<Vec<String>>> {
    if args.is_none(name) {
        return Ok(None);
    }
    let names = args.texts(name)?;
    if names.is_empty() {
        return Err(args.error(name, "must name at least one"));
    }
    if let Some(twice) = names.iter().enumerate().find(|(at, one)| names[..*at].contains(one)) {
        return Err(args.error(name, &format!("has `{}` twice", twice.1)));
    }
    Ok(Some(names))
}

/// The name of a file without folder and extension.
pub(crate) fn stem(name: &str) -> String {
    let name = infeed_core::opening::without_query(name);
    let base = name.rsplit('/').next().unwrap_or(name);
    base.rfind('.').filter(|dot| *dot > 0).map_or(base, |dot| &base[..dot]).to_owned()
}

/// The kind of rows, with the axis.
pub(crate) fn kind(args: &Args, rows: &str) -> Result<RowKind> {
    Ok(if rows == "axis" { RowKind::Axis(args.int("axis", -32)?) } else { RowKind::Whole })
}
