//! Arbitrary bytes as a file.

use crate::{ChunkMap, File, Kind, Limits, Slab};
use bytes::Bytes;
use std::sync::Arc;

/// Bytes that are read of one data set at most: more would show nothing new.
const MOST: usize = 1 << 16;

/// Opens arbitrary bytes as a file and reads what there is. A saved chunk map must come back as it was, and parts of a data set
/// must be equal to the same parts of the whole.
pub fn fuzz_hdf5(data: &[u8]) {
    let _ = ChunkMap::from_bytes(data, data.len() as u64);
    let Ok(file) = File::open(Arc::new(Bytes::copy_from_slice(data)), Limits::small()) else { return };
    let Ok(entries) = file.list() else { return };
    for entry in entries.iter().take(64) {
        if let Ok(attributes) = file.attributes(&entry.path) {
            attributes.iter().take(64).for_each(|attribute| drop(file.value(attribute)));
        }
        if entry.kind == Kind::Dataset {
            one(&file, &entry.path);
        }
    }
}

fn one(file: &File, path: &str) {
    let Ok(dataset) = file.dataset(path) else { return };
    let Ok(reader) = file.reader(dataset, "") else { return };
    if let Some(map) = reader.map() {
        let saved = map.to_bytes(file.size());
        assert!(ChunkMap::from_bytes(&saved, file.size()).ok().as_ref() == Some(map), "a saved map differs");
    }
    let shape = reader.dataset().space.shape.clone();
    let mut slab = Slab::all(&shape);
    // Large data sets are only read at their front.
    let mut room = MOST as u64 / u64::from(reader.datatype().size).max(1);
    for n in slab.count.iter_mut().rev() {
        *n = (*n).min(room);
        room = (room / (*n).max(1)).min(64);
    }
    let Some(len) = reader.bytes(&slab).filter(|&len| len <= MOST) else { return };
    let mut whole = vec![0; len];
    if file.read_slab(&reader, &slab, &mut whole).is_err() {
        return;
    }
    if reader.datatype().is_var_text() {
        let _ = file.texts(&whole);
    }
    let rows = slab.count.first().copied().unwrap_or(0);
    if rows > 1 {
        let (from, to) = (rows / 3, rows - rows / 4);
        let (mut part, row) = (slab.clone(), len / rows as usize);
        (part.start[0], part.count[0]) = (from, to - from);
        let mut out = vec![0; row * (to - from) as usize];
        let read = file.read_slab(&reader, &part, &mut out);
        assert!(read.is_ok(), "a part of {path} cannot be read, the whole can");
        assert!(
            out == whole[from as usize * row..to as usize * row],
            "a part of {path} differs from the whole"
        );
    }
}
