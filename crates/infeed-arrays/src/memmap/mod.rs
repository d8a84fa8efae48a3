//! Files of nothing but elements, as `numpy.memmap` and `tofile` write them.

mod described;

use crate::{
    array::Dimensions,
    boxes::with_boxes,
    npy,
    object::Object,
    open::{FoundArrays, READ, files, open as open_files, stem},
    source::RowKind,
};
use described::Described;
use infeed_core::{Can, Error, FormatEntry, OpenRequest, Opened, Param, Result, Store, StoreExt};
use infeed_records::npy::{Element, Layout, Member};

/// The table row of this format.
pub(crate) const ENTRY: FormatEntry = FormatEntry {
    name: "memmap",
    about: "files of nothing but numbers (`numpy.memmap`, `tofile`): rows of one shape",
    details: "\
The field is called `data`. What the file holds is said by `dtype` and `shape`, or by a description beside it: `x.json` for `x.bin`, with \
`{\"dtype\": \"float32\", \"shape\": [-1, 32, 32, 3]}` and, if need be, `order` and `offset`. `shape` is that of a row, or that of all rows if \
it begins with -1; a description always has that of all rows. Types have the names of NumPy (`float32`, `<f4`), of torch, or of infeed \
(`f32`); `i8` and `u8` mean different things there and are refused.

Rows lie along the first axis. The file must have a whole number of them; several files are laid end to end. `infeed.open` does not \
recognise such files, because nothing in them says what they are.

Rows can be boxes: `window` takes several steps along the axis, with `horizon` steps behind them as `NAME.target`; `patch` cuts \
boxes out of the last axes and says in `origin` where they begin; `stack` makes one field of all. docs/arrays.md has examples.",
    params: &with_boxes::<18>(&[DTYPE, SHAPE, ORDER, OFFSET, READ]),
    endings: &[".bin", ".dat", ".raw", ".memmap"],
    magic: &[],
    can: Can { blocks: true, ..Can::ROWS },
    recognise: Some(|_| None),
    recognise_folder: Some(|_| Ok(None)),
    open,
};

const DTYPE: Param = Param {
    name: "dtype",
    python: "str | None",
    default: Some("null"),
    about: "the type of elements; from the description beside the file if not given",
};
const SHAPE: Param = Param {
    name: "shape",
    python: "Sequence[int] | None",
    default: Some("null"),
    about: "the shape of a row, or of all rows if it begins with -1; one number a row if not given",
};
const ORDER: Param = Param {
    name: "order",
    python: "MemoryOrder | None",
    default: Some("null"),
    about: "`C`, or `F` if the first axis varies fastest; `C` if not given",
};
const OFFSET: Param = Param {
    name: "offset",
    python: "int | None",
    default: Some("null"),
    about: "bytes before the first row; none if not given",
};

/// Bytes of a description.
const MOST_TEXT: u64 = 1 << 20;

fn open(request: &OpenRequest<'_>) -> Result<Opened> {
    let args = request.args()?;
    let given = Described::of_args(&args)?;
    let shards = files(request)?.shards;
    open_files(request, shards, (RowKind::Axis(0), String::new()), |object| {
        let described = match &given {
            Some(given) => given.clone(),
            None => beside(&**request.store, object.name())?,
        };
        let layout = layout(&described, object)?;
        let arrays = npy::split(&layout, 0, None);
        Ok(vec![FoundArrays { key: stem(object.name()), arrays, dimensions: Dimensions::new() }])
    })
}

/// Reads the description beside a file.
fn beside(store: &dyn Store, file: &str) -> Result<Described> {
    let ending = file.rfind('.').filter(|dot| !file[*dot..].contains('/'));
    let name = format!("{}.json", &file[..ending.unwrap_or(file.len())]);
    let shard = store.stat_one(&name).map_err(|error| match error {
        Error::NotFound { .. } => Error::argument(format!(
            "`{file}`: nothing says what it holds: there is no `{name}` beside it; give dtype= and shape="
        )),
        other => other,
    })?;
    if shard.size > MOST_TEXT {
        return Err(Error::argument(format!(
            "`{name}` has {} bytes, which is no description of `{file}`",
            shard.size
        )));
    }
    Described::of_json(&name, &store.read_one(&shard, 0..shard.size)?)
}

/// What `.npy` would say of it.
fn layout(described: &Described, object: &Object) -> Result<Layout> {
    let wrong = |what: String| Error::argument(format!("`{}`: {what}", object.name()));
    let rows = described.count(object.size()).map_err(wrong)?;
    let large = || wrong("it is larger than this machine can address".to_owned());
    let narrow = |number: &u64| usize::try_from(*number).map_err(|_| large());
    let shape = std::iter::once(&rows).chain(&described.row).map(narrow).collect::<Result<_>>()?;
    let element = Element::Number { dtype: described.dtype, big_endian: described.big_endian };
    let item = element.size();
    let members = vec![Member { name: String::new(), offset: 0, element, shape: vec![] }];
    let data_at = narrow(&described.offset)?;
    Ok(Layout { members, item, fortran: described.fortran, shape, data_at })
}

#[cfg(test)]
mod tests {
    use crate::tests::{Files, numbers, open, rows};
    use serde_json::json;
    use std::sync::Arc;

    fn file(count: u16) -> Vec<u8> {
        (0..count).flat_map(u16::to_le_bytes).collect()
    }

    #[test]
    fn by_arguments_and_by_descriptions() {
        let text = br#"{"dtype": "uint16", "shape": [-1, 3]}"#.to_vec();
        let store = Arc::new(Files::new(&[
            ("d/a.bin", file(12)),
            ("d/a.json", text.clone()),
            ("d/b.bin", file(6)),
            ("d/b.json", text),
        ]));
        for args in
            [json!({}), json!({"dtype": "<u2", "shape": [3]}), json!({"dtype": "u16", "shape": [-1, 3]})]
        {
            let source = open(&store, "memmap", &["d"], args).unwrap();
            assert_eq!(
                (source.shard_rows(), source.spec().fields[0].1.to_string().as_str()),
                (&[4, 2][..], "u16[3]")
            );
            let got = rows(&*source, "data", &[5, 0]);
            assert_eq!(got.iter().map(|row| numbers(row)).collect::<Vec<_>>(), [[3, 4, 5], [0, 1, 2]]);
        }
        let turned = json!({"dtype": ">u2", "shape": [2, 2], "order": "F", "offset": 8});
        let source = open(&store, "memmap", &["d/a.bin"], turned).unwrap();
        // Two rows of eight numbers from 4 on, the first axis fastest.
        let swapped: Vec<u16> = [4u16, 8, 6, 10].map(u16::swap_bytes).to_vec();
        assert_eq!((source.rows(), numbers(&rows(&*source, "data", &[0])[0])), (2, swapped));
        let source = open(&store, "memmap", &["d/a.bin"], json!({"dtype": "int16"})).unwrap();
        assert_eq!((source.rows(), source.spec().fields[0].1.to_string().as_str()), (12, "i16"));
    }

    #[test]
    fn what_does_not_fit_is_told_with_numbers() {
        let store =
            Arc::new(Files::new(&[("a.bin", file(10)), ("b", file(10)), ("b.json", vec![b' '; 2 << 20])]));
        let refused = |path: &str, args| open(&store, "memmap", &[path], args).unwrap_err().to_string();
        let error = refused("a.bin", json!({"dtype": "u16", "shape": [3]}));
        assert!(
            error.contains("`a.bin`: rows of u16[3] take 6 bytes each, and there are 20: 3 rows and 2 bytes"),
            "{error}"
        );
        assert!(
            refused("a.bin", json!({})).contains("there is no `a.json` beside it; give dtype= and shape=")
        );
        assert!(refused("b", json!({})).contains("no description"));
        assert!(refused("a.bin", json!({"shape": [2]})).contains("goes with dtype="));
        assert!(refused("a.bin", json!({"dtype": "u8"})).contains("say \"uint8\" or \"uint64\""));
        assert!(refused("a.bin", json!({"dtype": "u16", "shape": [0]})).contains("sides of at least 1"));
        assert!(
            refused("a.bin", json!({"dtype": "u16", "offset": 21}))
                .contains("it has 20 bytes, and rows begin at 21")
        );
    }
}
