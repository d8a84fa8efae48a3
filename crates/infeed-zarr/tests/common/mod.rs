//! What the tests share.
#![allow(dead_code, clippy::unwrap_used)]

use bytes::Bytes;
use infeed_zarr::{Limits, Objects, Reader, Result, Slab, Tree, unpacked};
use std::{collections::BTreeMap, path::Path, sync::Arc};

pub(crate) const STORES: [&str; 4] =
    ["v2.store", "v3.store", "v2-consolidated.store", "v3-consolidated.store"];

pub(crate) fn golden(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden").join(name);
    std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}; golden/make.py makes it", path.display()))
}

pub(crate) fn objects(name: &str) -> BTreeMap<String, Bytes> {
    unpacked(&golden(name))
}

pub(crate) fn open(objects: impl Objects + 'static) -> Result<Tree> {
    Tree::open(Arc::new(objects), "", Limits::small())
}

/// All elements of an array.
pub(crate) fn all(tree: &Tree, reader: &Reader) -> Result<Vec<u8>> {
    let slab = Slab::all(&reader.array().shape);
    let mut out = vec![0xa5; reader.bytes(&slab).unwrap()];
    tree.read_slab(reader, &slab, &mut out)?;
    Ok(out)
}

pub(crate) fn read(tree: &Tree, path: &str) -> Result<Vec<u8>> {
    all(tree, &tree.reader(tree.array(path)?, "")?)
}

/// One array of version 3 by itself, with changes to its metadata and no chunks.
pub(crate) fn single(changes: &[(&str, &str)]) -> BTreeMap<String, Bytes> {
    let mut fields = BTreeMap::from([
        ("zarr_format", "3"),
        ("node_type", "\"array\""),
        ("shape", "[4, 4]"),
        ("data_type", "\"float32\""),
        ("chunk_grid", r#"{"name": "regular", "configuration": {"chunk_shape": [2, 2]}}"#),
        ("chunk_key_encoding", r#"{"name": "default"}"#),
        ("fill_value", "1.5"),
        ("codecs", r#"[{"name": "bytes", "configuration": {"endian": "little"}}]"#),
    ]);
    fields.extend(changes.iter().copied());
    let fields: Vec<String> = fields.iter().map(|(name, value)| format!("\"{name}\": {value}")).collect();
    BTreeMap::from([("zarr.json".to_owned(), Bytes::from(format!("{{{}}}", fields.join(", "))))])
}

pub(crate) fn crc32(data: &[u8]) -> u32 {
    let step = |crc: u32, _| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
    !data.iter().fold(!0, |crc, &byte| (0..8).fold(crc ^ u32::from(byte), step))
}
