//! safetensors files: tensors by name, one behind the other.

mod header;

pub use header::fuzz_safetensors;

use crate::{
    array::{Array, Dimensions, Element, NamedArrays, Plain},
    boxes::with_boxes,
    object::Object,
    open::{
        AXIS, FIELDS, FILE_ROWS, FoundArrays, READ, files, kind, missing, open as open_files, row_kind, stem,
        wanted,
    },
};
use header::{Kind, Tensor};
use infeed_core::{Can, Error, FileLook, FormatEntry, Guess, OpenRequest, Opened, Result, Sure};
use std::sync::Arc;

/// The table row of this format.
pub(crate) const ENTRY: FormatEntry = FormatEntry {
    name: "safetensors",
    about: "safetensors files: one row a file, or rows along an axis",
    details: "\
The fields are the names of the tensors. Integers, floats (also half and bfloat16) and bool are read straight into batches; tensors of \
8-bit floats are refused by name, unless `fields` leaves them out. The header is checked as the library does it: tensors must lie one \
behind the other, and end where the file ends.

`rows` says what a row is:

* `\"file\"`: all of a file, which is what is meant if nothing is given. Tensors may differ in the lengths of their axes from file to file.
* `\"axis\"`: one step along `axis` of every tensor, which must be equally long. Several files are laid end to end.

Rows can be boxes: `window` takes several steps along the axis, with `horizon` steps behind them as `NAME.target`; `patch` cuts \
boxes out of the last axes and says in `origin` where they begin; `stack` makes one field of all. docs/arrays.md has examples.",
    params: &with_boxes::<17>(&[FILE_ROWS, AXIS, FIELDS, READ]),
    endings: &[".safetensors"],
    magic: &[],
    can: Can::ROWS,
    recognise: Some(recognise),
    recognise_folder: None,
    open,
};

/// Bytes at the start of a file that hold most headers.
const HEAD: u64 = 64 << 10;

/// Recognises a file by its name; its first bytes are a length, which could be anything.
fn recognise(file: &FileLook<'_>) -> Option<Guess> {
    let good = header::length(file.head, file.size).is_ok() && file.head.get(8) == Some(&b'{');
    ENTRY.has_ending(file.name).then(|| Guess::new(if good { Sure::Certain } else { Sure::Name }))
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

/// The wanted tensors of a file, by name.
fn arrays(object: &Object, wanted: Option<&[String]>) -> Result<NamedArrays> {
    let size = object.size();
    let head = object.get(0..size.min(HEAD))?;
    let len = header::length(&head, size).map_err(|what| object.damaged(0, what))?;
    let data_at = 8 + len;
    let text = match data_at <= head.len() as u64 {
        true => head.slice(8..data_at as usize),
        false => object.get(8..data_at)?,
    };
    let tensors = header::tensors(&text, size - data_at).map_err(|what| object.damaged(8, what))?;
    let place = || format!("`{}`", object.name());
    let one = |tensor: &Tensor| {
        let array: Arc<dyn Array> = Arc::new(plain(object, tensor, data_at)?);
        Ok((Arc::from(tensor.name.as_str()), array))
    };
    match wanted {
        None if tensors.is_empty() => Err(object.damaged(8, "there is no tensor in this file")),
        None => tensors.iter().map(one).collect(),
        Some(wanted) => {
            let has = || tensors.iter().map(|tensor| tensor.name.as_str());
            let find = |name: &String| tensors.iter().find(|tensor| tensor.name == *name);
            wanted.iter().map(|name| one(find(name).ok_or_else(|| missing(&place(), name, has()))?)).collect()
        }
    }
}

fn plain(object: &Object, tensor: &Tensor, data_at: u64) -> Result<Plain> {
    let dtype = match &tensor.kind {
        Kind::Known(dtype) => *dtype,
        Kind::Other(name) => {
            return Err(Error::argument(format!(
                "`{}`: `{}` is of type {name}, which infeed has not; name the other tensors with fields=",
                object.name(),
                tensor.name
            )));
        }
    };
    let turned = cfg!(target_endian = "big") && dtype.size() > 1;
    Ok(Plain {
        element: Element::Number(dtype),
        strides: Plain::strides(&tensor.shape, dtype.size() as u64),
        shape: tensor.shape.clone(),
        at: data_at + tensor.bytes.start,
        turned,
        wide: false,
        chunk: None,
        seal: None,
    })
}

#[cfg(test)]
mod tests {
    use crate::tests::{Files, numbers, open, rows};
    use serde_json::json;
    use std::sync::Arc;

    /// A file of two tensors: `x` of u16 [rows, 3] and `y` of u8 [rows], and one that cannot be read.
    fn file(rows: u64) -> Vec<u8> {
        let (x, y) = (rows * 6, rows * 7);
        let head = json!({
            "__metadata__": {"format": "np"},
            "x": {"dtype": "U16", "shape": [rows, 3], "data_offsets": [0, x]},
            "y": {"dtype": "U8", "shape": [rows], "data_offsets": [x, y]},
            "f8": {"dtype": "F8_E5M2", "shape": [2], "data_offsets": [y, y + 2]},
        });
        let mut head = head.to_string();
        head += "    ";
        let mut out = (head.len() as u64).to_le_bytes().to_vec();
        out.extend(head.bytes());
        out.extend((0..rows * 3).flat_map(|n| (n as u16).to_le_bytes()));
        out.extend((0..rows).map(|n| n as u8));
        out.extend([0, 0]);
        out
    }

    #[test]
    fn whole_files_and_rows_along_an_axis() {
        let store = Arc::new(Files::new(&[("d/a.safetensors", file(4)), ("d/b.safetensors", file(2))]));
        let source = open(&store, "safetensors", &["d"], json!({"fields": ["y", "x"]})).unwrap();
        assert_eq!((source.rows(), source.key(1)), (2, "b".to_owned()));
        let shapes: Vec<String> = source.spec().fields.iter().map(|(_, spec)| spec.to_string()).collect();
        assert_eq!(shapes, ["u8[?]", "u16[?, 3]"]);
        let args = json!({"fields": ["x", "y"], "rows": "axis"});
        let source = open(&store, "safetensors", &["d"], args).unwrap();
        assert_eq!(source.shard_rows(), [4, 2]);
        let got = rows(&*source, "x", &[5, 0, 3]);
        assert_eq!(
            got.iter().map(|row| numbers(row)).collect::<Vec<_>>(),
            [[3, 4, 5], [0, 1, 2], [9, 10, 11]]
        );
        assert_eq!(rows(&*source, "y", &[3, 4]), [[3], [0]]);
    }

    #[test]
    fn tensors_that_cannot_be_read_are_named() {
        let store = Arc::new(Files::new(&[("a.safetensors", file(4))]));
        let refused = |args| open(&store, "safetensors", &["a.safetensors"], args).unwrap_err().to_string();
        let error = refused(json!({}));
        assert!(error.contains("`f8` is of type F8_E5M2") && error.contains("fields="), "{error}");
        let error = refused(json!({"fields": ["X"]}));
        assert!(error.contains("has no `X`; did you mean `x`?"), "{error}");
    }

    #[test]
    fn every_cut_is_an_error() {
        let whole = file(4);
        for len in 0..whole.len() {
            let store = Arc::new(Files::new(&[("a.safetensors", whole[..len].to_vec())]));
            assert!(
                open(&store, "safetensors", &["a.safetensors"], json!({"fields": ["x"]})).is_err(),
                "{len}"
            );
        }
    }
}
