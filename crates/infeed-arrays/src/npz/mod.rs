//! NumPy's `.npz` files: arrays in a ZIP archive, stored or deflated.

use crate::{
    array::{Array, Dimensions, NamedArrays, Seal},
    boxes::with_boxes,
    npy::{self, HEAD},
    object::Object,
    open::{
        AXIS, FIELDS, FILE_ROWS, FoundArrays, READ, files, kind, missing, open as open_files, row_kind, stem,
        wanted,
    },
    zip::{self, Member, Method, Packed, inflate_head},
};
use bytes::Bytes;
use infeed_core::{Can, FileLook, FormatEntry, Guess, Magic, OpenRequest, Opened, Result, Sure};
use infeed_records::npy::Layout;
use std::sync::Arc;

/// The table row of this format.
pub(crate) const ENTRY: FormatEntry = FormatEntry {
    name: "npz",
    about: "NumPy archives: one row a file, or rows along an axis",
    details: "\
The fields are the names of the arrays; an array of a structured dtype gives one field for each of its members (`name.member`). Arrays \
that were stored (`numpy.savez`) are read straight into batches, deflated ones (`savez_compressed`) are inflated. The checksum of an \
array is compared when all of it is read.

`rows` says what a row is:

* `\"file\"`: all of a file, which is what is meant if nothing is given. Arrays may differ in the lengths of their axes from file to file.
* `\"axis\"`: one step along `axis` of every array, which must be equally long. Several files are laid end to end. A deflated array is \
inflated as a whole for any of its rows, and kept.

Rows can be boxes: `window` takes several steps along the axis, with `horizon` steps behind them as `NAME.target`; `patch` cuts \
boxes out of the last axes and says in `origin` where they begin; `stack` makes one field of all. docs/arrays.md has examples.",
    params: &with_boxes::<17>(&[FILE_ROWS, AXIS, FIELDS, READ]),
    endings: &[".npz"],
    magic: &[Magic { at: 0, bytes: b"PK\x03\x04" }],
    can: Can { blocks: true, ..Can::ROWS },
    recognise: Some(recognise),
    recognise_folder: None,
    open,
};

/// Recognises a file by its name: other ZIP archives begin in the same way.
fn recognise(file: &FileLook<'_>) -> Option<Guess> {
    let zip = ENTRY.magic.iter().any(|magic| file.head.starts_with(magic.bytes));
    ENTRY.has_ending(file.name).then(|| Guess::new(if zip { Sure::Certain } else { Sure::Name }))
}

fn open(request: &OpenRequest<'_>) -> Result<Opened> {
    let args = request.args()?;
    let rows = row_kind(&args, "file", &["file", "axis"])?;
    let names = wanted(&args, "fields")?;
    let kind = kind(&args, rows)?;
    open_files(request, files(request)?.shards, (kind, String::new()), |object| {
        let arrays = arrays(object, names.as_deref())?;
        Ok(vec![FoundArrays { key: stem(object.name()), arrays, dimensions: Dimensions::new() }])
    })
}

/// The wanted arrays of an archive, by field. Members that no wanted field lies in are not looked at.
fn arrays(object: &Object, wanted: Option<&[String]>) -> Result<NamedArrays> {
    let members = zip::members(object)?;
    let name = |member: &Member| member.name.strip_suffix(".npy").map(str::to_owned);
    let own = |member: &Member| match (name(member), wanted) {
        (None, _) => false,
        (Some(_), None) => true,
        (Some(own), Some(wanted)) => {
            let inside = |field: &String| field.strip_prefix(&*own).is_some_and(|rest| rest.starts_with('.'));
            wanted.iter().any(|field| **field == *own || inside(field))
        }
    };
    let mut out: NamedArrays = Vec::new();
    for member in members.iter().filter(|member| own(member)) {
        let name = name(member).unwrap_or_default();
        for (field, array) in member_arrays(object, member, &name)? {
            out.push((field, array));
        }
    }
    let Some(wanted) = wanted else {
        return match out.is_empty() {
            true => Err(object.damaged(0, "there is no array (`.npy`) in this archive")),
            false => Ok(out),
        };
    };
    let place = format!("`{}`", object.name());
    let all = || members.iter().filter_map(|member| member.name.strip_suffix(".npy"));
    let found = |field: &String| {
        let one = out.iter().find(|(own, _)| **own == **field).cloned();
        one.ok_or_else(|| missing(&place, field, all()))
    };
    wanted.iter().map(found).collect()
}

/// The arrays of one member.
fn member_arrays(object: &Object, member: &Member, name: &str) -> Result<NamedArrays> {
    let at = zip::data_at(object, member)?;
    let stored = at..at + member.packed;
    let mut head = match member.method {
        Method::Stored => object.get(at..at + member.packed.min(HEAD))?,
        Method::Deflated => inflate_head(object, member, &stored, HEAD)?,
    };
    let more = npy::text_end(&head).filter(|end| *end > head.len() as u64 && *end <= member.size);
    if let Some(end) = more {
        head = match member.method {
            Method::Stored => object.get(at..at + end)?,
            Method::Deflated => inflate_head(object, member, &stored, end)?,
        };
    }
    let layout = Layout::read(&head).map_err(|fault| npy::fault(object, &member.name, &fault))?;
    npy::check(&layout, member.size, object)?;
    let exact = layout.data_len().is_some_and(|bytes| (bytes + layout.data_at) as u64 == member.size);
    let single = matches!(layout.members.as_slice(), [only] if only.name.is_empty());
    let field = |own: &str| if own.is_empty() { Arc::from(name) } else { Arc::from(format!("{name}.{own}")) };
    let one = |own: &infeed_records::npy::Member| {
        let array: Arc<dyn Array> = match member.method {
            Method::Stored => {
                // Only what is read whole can be compared with the checksum.
                let head = Bytes::copy_from_slice(&head[..layout.data_at]);
                let seal = (exact && single && !layout.fortran).then_some(Seal { crc: member.crc, head });
                Arc::new(npy::plain(&layout, own, at, seal))
            }
            Method::Deflated => {
                let plain = npy::plain(&layout, own, 0, None);
                Arc::new(Packed::new(plain, member, stored.clone()))
            }
        };
        (field(&own.name), array)
    };
    Ok(layout.members.iter().map(one).collect())
}
