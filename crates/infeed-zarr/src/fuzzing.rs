//! Arbitrary bytes as a store.

use crate::{Json, Kind, Limits, Slab, Tree};
use bytes::Bytes;
use std::{collections::BTreeMap, sync::Arc};

/// Bytes that are read of one array at most: more would show nothing new.
const MOST: usize = 1 << 16;

/// The objects of a store that was written into one file, as the seeds of fuzzing and the golden files have it: a line
/// with the length of an object and its key, then its bytes. What makes no sense ends the list.
pub fn unpacked(mut data: &[u8]) -> BTreeMap<String, Bytes> {
    let mut out = BTreeMap::new();
    while let Some(end) = data.iter().take(4096).position(|&b| b == b'\n') {
        let line = String::from_utf8_lossy(&data[..end]).into_owned();
        let Some((len, key)) = line.split_once(' ') else { break };
        let Ok(len) = len.parse::<usize>() else { break };
        let rest = &data[end + 1..];
        let len = len.min(rest.len());
        out.insert(key.to_owned(), Bytes::copy_from_slice(&rest[..len]));
        data = &rest[len..];
    }
    out
}

/// Opens arbitrary bytes as a store and reads what there is. Parts of an array must be equal to the same parts of the whole.
pub fn fuzz_zarr(data: &[u8]) {
    if let Ok(json) = Json::parse(data, 32) {
        let again = Json::parse(json.to_string().as_bytes(), 32);
        assert!(again.is_ok_and(|again| again.to_string() == json.to_string()), "JSON does not come home");
    }
    let Ok(tree) = Tree::open(Arc::new(unpacked(data)), "", Limits::small()) else { return };
    let Ok(entries) = tree.list() else { return };
    for entry in entries.iter().take(64) {
        let _ = tree.attributes(&entry.path);
        if entry.kind == Kind::Array {
            one(&tree, &entry.path);
        }
    }
}

fn one(tree: &Tree, path: &str) {
    let Ok(array) = tree.array(path) else { return };
    let Ok(reader) = tree.reader(array, "") else { return };
    let mut slab = Slab::all(&reader.array().shape);
    // Large arrays are only read at their front.
    let mut room = MOST as u64 / (reader.datatype().size as u64).max(1);
    for n in slab.count.iter_mut().rev() {
        *n = (*n).min(room);
        room = (room / (*n).max(1)).min(64);
    }
    let Some(len) = reader.bytes(&slab).filter(|&len| len <= MOST) else { return };
    let mut whole = vec![0; len];
    if tree.read_slab(&reader, &slab, &mut whole).is_err() {
        return;
    }
    let rows = slab.count.first().copied().unwrap_or(0);
    if rows > 1 {
        let (from, to) = (rows / 3, rows - rows / 4);
        let (mut part, row) = (slab.clone(), len / rows as usize);
        (part.start[0], part.count[0]) = (from, to - from);
        let mut out = vec![0; row * (to - from) as usize];
        let read = tree.read_slab(&reader, &part, &mut out);
        assert!(read.is_ok(), "a part of {path} cannot be read, the whole can");
        assert!(
            out == whole[from as usize * row..to as usize * row],
            "a part of {path} differs from the whole"
        );
    }
}
