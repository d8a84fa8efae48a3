//! Files of `torch.save`: tensors in a ZIP archive, and a pickle that says what they are, which is not run.

mod calls;
mod pickle;
mod tensors;
#[cfg(test)]
mod tests;
mod values;

pub use tensors::fuzz_pickle;

use crate::{
    array::{Array, Dimensions, Element, NamedArrays, Plain, Seal},
    boxes::with_boxes,
    npy::TURNED,
    object::Object,
    open::{
        AXIS, FIELDS, FILE_ROWS, FoundArrays, READ, files, kind, missing, open as open_files, row_kind, stem,
        wanted,
    },
    zip::{self, Member, Method, Packed},
};
use bytes::Bytes;
use infeed_core::{
    Can, Dtype, Error, FileLook, FormatEntry, Guess, OpenRequest, Opened, Result, Store, Sure,
};
use pickle::Fault;
use std::{collections::HashMap, sync::Arc};
use tensors::Found;
use values::{Kind, Tensor};

/// The table row of this format.
pub(crate) const ENTRY: FormatEntry = FormatEntry {
    name: "pt",
    about: "tensors of `torch.save`: one row a file, or rows along an axis",
    details: "\
A tensor alone is the field `data`. The tensors of dicts, lists and tuples are fields by their keys and places: `x`, `a.b` for dicts in \
dicts, `0` and `1` for a pair. Numbers, texts and whatever else has no tensors in it are left out, and `explain` tells which. Views, \
transposed and expanded tensors are what they are in torch; several tensors may share their elements.

No code of the file is run: its pickle is read by a machine that only knows what tensors need. Any other name of Python in it is refused, \
and so are files of torch before 1.6, which are no ZIP archives, and modules of TorchScript.

`rows` says what a row is:

* `\"file\"`: all of a file, which is what is meant if nothing is given. Tensors may differ in the lengths of their axes from file to file.
* `\"axis\"`: one step along `axis` of every tensor, which must be equally long. Several files are laid end to end.

Rows can be boxes: `window` takes several steps along the axis, with `horizon` steps behind them as `NAME.target`; `patch` cuts \
boxes out of the last axes and says in `origin` where they begin; `stack` makes one field of all. docs/arrays.md has examples.",
    params: &with_boxes::<17>(&[FILE_ROWS, AXIS, FIELDS, READ]),
    endings: &[".pt", ".pth"],
    magic: &[],
    can: Can { blocks: true, ..Can::ROWS },
    recognise: Some(recognise),
    recognise_folder: None,
    open,
};

/// What files of torch before 1.6 begin with.
const LEGACY: &[u8] = b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.";
/// Bytes of a pickle.
const MOST_PICKLE: u64 = 64 << 20;
/// Names of what was left out that `explain` shows.
const SHOWN: usize = 20;

/// Recognises a file by its name: other ZIP archives begin in the same way.
fn recognise(file: &FileLook<'_>) -> Option<Guess> {
    let sure = file.head.starts_with(b"PK\x03\x04") || file.head.starts_with(LEGACY);
    ENTRY.has_ending(file.name).then(|| Guess::new(if sure { Sure::Certain } else { Sure::Name }))
}

fn open(request: &OpenRequest<'_>) -> Result<Opened> {
    let args = request.args()?;
    let rows = row_kind(&args, "file", &["file", "axis"])?;
    let names = wanted(&args, "fields")?;
    let kind = kind(&args, rows)?;
    let shards = files(request)?.shards;
    let store: Arc<dyn Store> = Arc::clone(request.store);
    // What was left out is told of the first.
    let notes = match shards.first().filter(|_| names.is_none()) {
        Some(shard) => notes(&Archive::open(&Object::new(&store, shard.clone()))?.found.others),
        None => String::new(),
    };
    open_files(request, shards, (kind, notes), |object| {
        let arrays = Archive::open(object)?.arrays(names.as_deref())?;
        Ok(vec![FoundArrays { key: stem(object.name()), arrays, dimensions: Dimensions::new() }])
    })
}

fn notes(others: &[String]) -> String {
    let more = match others.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let shown: Vec<&str> = others.iter().take(SHOWN).map(String::as_str).collect();
    if shown.is_empty() {
        String::new()
    } else {
        format!("; no tensors, left out: {}{more}", shown.join(", "))
    }
}

/// What lies in a file.
struct Archive<'a> {
    object: &'a Object,
    members: HashMap<String, Member>,
    /// What the names of members begin with.
    folder: String,
    big_endian: bool,
    found: Found,
}

impl<'a> Archive<'a> {
    fn open(object: &'a Object) -> Result<Self> {
        let head = object.get(0..object.size().min(LEGACY.len() as u64))?;
        if head == LEGACY {
            return Err(Error::argument(format!(
                "`{}` was written in the format of torch before 1.6, which is not read; torch.load it and torch.save it again",
                object.name()
            )));
        }
        let members = zip::members(object)?;
        let mut folders = members.iter().filter_map(|member| member.name.strip_suffix("/data.pkl"));
        let folder = match (folders.next(), folders.next()) {
            (Some(folder), None) => folder.to_owned(),
            _ => {
                return Err(object
                    .damaged(0, "there is not one data.pkl in this archive: torch.save did not write it"));
            }
        };
        if members.iter().any(|member| member.name == format!("{folder}/constants.pkl")) {
            let name = object.name();
            return Err(Error::argument(format!(
                "`{name}` is a module of TorchScript, which is a program; save its state_dict() with torch.save"
            )));
        }
        let members: HashMap<String, Member> =
            members.into_iter().map(|member| (member.name.clone(), member)).collect();
        let mut archive = Archive { object, members, folder, big_endian: false, found: Found::default() };
        archive.big_endian = match archive.read("byteorder", 16)?.as_deref() {
            None | Some(b"little") => false,
            Some(b"big") => true,
            Some(_) => return Err(object.damaged(0, "the member `byteorder` says neither little nor big")),
        };
        let pickle = archive.read("data.pkl", MOST_PICKLE)?.unwrap_or_default();
        archive.found = Found::read(&pickle).map_err(|fault| {
            let Fault { at, what } = fault;
            Error::argument(format!("`{}`: data.pkl, byte {at}: {what}", object.name()))
        })?;
        Ok(archive)
    }

    fn member(&self, name: &str) -> Option<&Member> {
        self.members.get(&format!("{}/{name}", self.folder))
    }

    /// All of a small member; `None` if it is not there.
    fn read(&self, name: &str, most: u64) -> Result<Option<Bytes>> {
        let Some(member) = self.member(name) else { return Ok(None) };
        if member.size > most {
            let what = format!("member `{}` has {} bytes: at most {most} are read", member.name, member.size);
            return Err(self.object.damaged(0, what));
        }
        zip::read(self.object, member).map(Some)
    }

    /// The wanted tensors, by field.
    fn arrays(&self, wanted: Option<&[String]>) -> Result<NamedArrays> {
        let tensors = &self.found.tensors;
        let mut places = HashMap::new();
        let mut one = |(name, tensor): &(String, Tensor)| {
            Ok((Arc::from(name.as_str()), self.array(name, tensor, &mut places)?))
        };
        match wanted {
            None if tensors.is_empty() => {
                Err(Error::argument(format!("there is no tensor in `{}`", self.object.name())))
            }
            None => tensors.iter().map(one).collect(),
            Some(wanted) => {
                let (mut out, by_name) = (Vec::new(), tensors.iter().map(|pair| (pair.0.as_str(), pair)));
                let by_name: HashMap<&str, &(String, Tensor)> = by_name.collect();
                for name in wanted {
                    let has = tensors.iter().map(|(name, _)| name.as_str());
                    let place = || format!("`{}`", self.object.name());
                    out.push(one(by_name.get(name.as_str()).ok_or_else(|| missing(&place(), name, has))?)?);
                }
                Ok(out)
            }
        }
    }

    /// Makes an array of a tensor. `places` has where the elements of members begin.
    fn array(
        &self,
        name: &str,
        tensor: &Tensor,
        places: &mut HashMap<String, u64>,
    ) -> Result<Arc<dyn Array>> {
        let object = self.object;
        let dtype = match tensor.kind {
            Kind::Known(dtype) => dtype,
            Kind::Other(kind) => return Err(unknown(object, name, kind)),
            Kind::Untyped => return Err(unknown(object, name, "untyped")),
        };
        let key = &tensor.storage.key;
        let unit = tensor.storage.kind.size().unwrap_or(1);
        let needs = tensor.storage.elements.checked_mul(unit);
        let member = self.member(&format!("data/{key}"));
        let Some((member, needs)) = member.zip(needs).filter(|(member, needs)| *needs <= member.size) else {
            let has = member.map_or("is not there".to_owned(), |member| format!("has {} bytes", member.size));
            let what = format!(
                "`{name}` needs {} bytes of member `data/{key}`, which {has}",
                needs.unwrap_or(u64::MAX)
            );
            return Err(object.damaged(0, what));
        };
        let at = match places.get(key) {
            Some(at) => *at,
            None => *places.entry(key.clone()).or_insert(zip::data_at(object, member)?),
        };
        let mut plain = plain(tensor, dtype, self.big_endian);
        Ok(match member.method {
            Method::Deflated => Arc::new(Packed::new(plain, member, at..at + member.packed)),
            Method::Stored => {
                let all = plain.shape.iter().product::<u64>() * dtype.size() as u64;
                let whole = plain.strides == Plain::strides(&plain.shape, dtype.size() as u64)
                    && all == needs
                    && needs == member.size;
                // Only what is read whole can be compared with the checksum, which torch can be told not to write.
                plain.seal = (whole && all > 0 && member.crc != 0)
                    .then(|| Seal { crc: member.crc, head: Bytes::new() });
                plain.at += at;
                Arc::new(plain)
            }
        })
    }
}

/// The elements of a tensor, counted from the beginning of its member.
fn plain(tensor: &Tensor, dtype: Dtype, big_endian: bool) -> Plain {
    let size = dtype.size() as u64;
    let shape = tensor.shape.clone();
    let packed = Plain::strides(&shape, size);
    // Strides of one element mean nothing, and neither do those of none.
    let empty = shape.contains(&0);
    let stride = |axis: usize| match empty || shape[axis] <= 1 {
        true => packed[axis],
        false => tensor.strides[axis] * size,
    };
    let strides: Vec<u64> = (0..shape.len()).map(stride).collect();
    // Rows that lie across each other are turned around many at a time.
    let wide = (1..shape.len()).filter(|axis| shape[*axis] > 1).map(|axis| strides[axis]).max();
    let across = !empty && shape.first().is_some_and(|rows| *rows > 1) && strides[0] > 0;
    let chunk = wide.filter(|wide| across && *wide > strides[0]).map(|_| {
        let mut chunk = shape.clone();
        let row = shape[1..].iter().fold(size, |all, side| all.saturating_mul(*side));
        chunk[0] = (TURNED / row.max(1)).clamp(1, shape[0]);
        chunk
    });
    let turned = big_endian != cfg!(target_endian = "big") && size > 1;
    let at = if empty { 0 } else { tensor.offset * size };
    Plain { element: Element::Number(dtype), shape, strides, at, turned, wide: false, chunk, seal: None }
}

fn unknown(object: &Object, name: &str, kind: &str) -> Error {
    let file = object.name();
    Error::argument(format!(
        "`{file}`: `{name}` is of type {kind}, which infeed has not; name the other tensors with fields="
    ))
}
