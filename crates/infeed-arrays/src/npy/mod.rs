//! NumPy's `.npy` files: one array, or one array of structures.

use crate::{
    array::{Array, Dimensions, Element, NamedArrays, Plain, Seal},
    boxes::with_boxes,
    object::Object,
    open::{
        AXIS, FIELDS, FoundArrays, READ, choose, files, kind, open as open_files, row_kind, stem, wanted,
    },
};
use infeed_core::{
    Can, Error, FileLook, FormatEntry, Guess, Magic, OpenRequest, Opened, Param, Result, Sure,
};
use infeed_records::npy::{Element as Stored, Header, Layout, Member};
use std::sync::Arc;

/// The table row of this format.
pub(crate) const ENTRY: FormatEntry = FormatEntry {
    name: "npy",
    about: "NumPy arrays: rows along an axis, or one row a file",
    details: "\
The field is called `data`; the members of a structured dtype are fields of their own (`a`, and `a.b` for members of members). \
All versions of the format, C and Fortran order, either byte order; numbers, bool, and text (`S`, `U`), one a row. Python objects are \
refused: reading them would run code from the file.

`rows` says what a row is:

* `\"axis\"`: one step along `axis`; several files are laid end to end, and must agree in everything but their length. This is meant if \
files are named one by one.
* `\"file\"`: all of a file. This is meant if a path is a folder or a pattern. Arrays may differ in the lengths of their axes.

Rows in Fortran order share their bytes, so they are turned around many at a time and kept (`blocks`).

Rows can be boxes: `window` takes several steps along the axis, with `horizon` steps behind them as `NAME.target`; `patch` cuts \
boxes out of the last axes and says in `origin` where they begin; `stack` makes one field of all. docs/arrays.md has examples.",
    params: &with_boxes::<17>(&[ROWS, AXIS, FIELDS, READ]),
    endings: &[".npy"],
    magic: &[Magic { at: 0, bytes: b"\x93NUMPY" }],
    can: Can { blocks: true, ..Can::ROWS },
    recognise: Some(recognise),
    recognise_folder: None,
    open,
};

const ROWS: Param = Param {
    name: "rows",
    python: "ArrayRows | None",
    default: Some("null"),
    about: "what a row is: `axis` or `file`; by the paths if not given",
};

/// What an array without members is called.
const DATA: &str = "data";
/// Bytes of rows in Fortran order that are turned around together.
pub(crate) const TURNED: u64 = 64 << 20;
/// Bytes at the start of a file that hold most headers.
pub(crate) const HEAD: u64 = 4096;

/// Recognises a file. Integers in one dimension may be tokens, which say so with more certainty: one number is a small row.
fn recognise(file: &FileLook<'_>) -> Option<Guess> {
    let guess = ENTRY.look_usual(file)?;
    let tokens = Header::read(file.head)
        .is_ok_and(|header| header.shape.len() == 1 && header.dtype.is_integer() && !header.big_endian);
    Some(if tokens { Guess::new(Sure::Name) } else { guess })
}

fn open(request: &OpenRequest<'_>) -> Result<Opened> {
    let args = request.args()?;
    let found = files(request)?;
    let rows = row_kind(&args, if found.named { "axis" } else { "file" }, &["axis", "file"])?;
    let names = wanted(&args, "fields")?;
    let kind = kind(&args, rows)?;
    open_files(request, found.shards, (kind, String::new()), |object| {
        let arrays = choose(&format!("`{}`", object.name()), arrays(object)?, names.as_deref())?;
        Ok(vec![FoundArrays { key: stem(object.name()), arrays, dimensions: Dimensions::new() }])
    })
}

/// The arrays of a file, by field.
fn arrays(object: &Object) -> Result<NamedArrays> {
    let mut head = object.get(0..object.size().min(HEAD))?;
    let more = text_end(&head).filter(|end| *end > head.len() as u64 && *end <= object.size());
    if let Some(end) = more {
        head = object.get(0..end)?;
    }
    let layout = Layout::read(&head).map_err(|fault| object.damaged(fault.at as u64, fault.what))?;
    check(&layout, object.size(), object)?;
    Ok(split(&layout, 0, None))
}

/// Where the text of a header ends, if it says so. The length is a claim: the caller compares it with the file.
pub(crate) fn text_end(head: &[u8]) -> Option<u64> {
    let number =
        |range| head.get(range).map(|bytes: &[u8]| bytes.iter().rev().fold(0, |n, b| n << 8 | u64::from(*b)));
    match head.get(6)? {
        1 => number(8..10).map(|len: u64| len + 10),
        2 | 3 => number(8..12).map(|len: u64| len + 12),
        _ => None,
    }
}

/// Checks that all elements are there; `len` is the size of the file or member.
pub(crate) fn check(layout: &Layout, len: u64, object: &Object) -> Result<()> {
    let needs = layout.data_len().and_then(|bytes| bytes.checked_add(layout.data_at));
    if needs.is_some_and(|needs| needs as u64 <= len) {
        return Ok(());
    }
    let needs = needs.map_or("more than any file has".to_owned(), |n| format!("{n} bytes"));
    Err(object.damaged(
        len,
        format!(
            "an array of shape {:?} takes {needs}, and there are {len}: it was cut short; copy it again",
            layout.shape
        ),
    ))
}

/// The arrays of a layout, whose first byte is at `at` of the object.
pub(crate) fn split(layout: &Layout, at: u64, seal: Option<Seal>) -> NamedArrays {
    let one = |member: &Member| {
        let name = if member.name.is_empty() { DATA } else { &member.name };
        let seal = seal.clone().filter(|_| member.name.is_empty());
        (Arc::from(name), Arc::new(plain(layout, member, at, seal)) as Arc<dyn Array>)
    };
    layout.members.iter().map(one).collect()
}

/// One member of all elements.
pub(crate) fn plain(layout: &Layout, member: &Member, at: u64, seal: Option<Seal>) -> Plain {
    let (element, turned, wide) = match &member.element {
        Stored::Number { dtype, big_endian } => {
            let turned = *big_endian != cfg!(target_endian = "big") && dtype.size() > 1;
            (Element::Number(*dtype), turned, false)
        }
        Stored::Text { count, wide, big_endian } => {
            let turned = *wide && *big_endian != cfg!(target_endian = "big");
            (Element::Text(count * if *wide { 4 } else { 1 }), turned, *wide)
        }
    };
    let outer: Vec<u64> = layout.shape.iter().map(|side| *side as u64).collect();
    let inner: Vec<u64> = member.shape.iter().map(|side| *side as u64).collect();
    let item = layout.item as u64;
    let fortran = layout.fortran && outer.iter().filter(|side| **side > 1).count() > 1;
    let mut strides = if fortran {
        let mut step = item;
        let each = outer.iter().map(|side| {
            let this = step;
            step = step.saturating_mul(*side);
            this
        });
        each.collect()
    } else {
        Plain::strides(&outer, item)
    };
    strides.extend(Plain::strides(&inner, element.size() as u64));
    let shape: Vec<u64> = outer.iter().chain(&inner).copied().collect();
    let chunk = fortran.then(|| {
        let mut chunk = shape.clone();
        let row = shape[1..].iter().fold(element.size() as u64, |all, side| all.saturating_mul(*side));
        chunk[0] = (TURNED / row.max(1)).clamp(1, shape[0].max(1));
        chunk
    });
    let at = at + (layout.data_at + member.offset) as u64;
    Plain { element, shape, strides, at, turned, wide, chunk, seal }
}

/// The error for a member of an archive whose header cannot be read.
pub(crate) fn fault(object: &Object, member: &str, fault: &infeed_records::npy::Fault) -> Error {
    object.damaged(fault.at as u64, format!("member `{member}`: {}", fault.what))
}
