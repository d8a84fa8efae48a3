//! Prints what is in Zarr stores, a line per thing, with checksums of all elements:
//! `cargo run -p infeed-zarr --example dump -- FOLDER ...`. `scripts/zarr_matrix.py` compares the lines with zarr-python.
//!
//! Fields of structures and parts of complex numbers have lines of their own. Every array is read as a whole, and then again in boxes,
//! which must be equal to the same boxes of the whole, with chunks decoded anew and with chunks that were kept.
#![allow(clippy::print_stdout, clippy::unwrap_used)]

use bytes::Bytes;
use infeed_zarr::{
    Class, Datatype, Kind, Limits, Objects, ReadError, Reader, Result, Scratch, Slab, Span, Tree,
};
use std::{
    collections::{HashMap, hash_map::Entry},
    env, fs,
    path::PathBuf,
    sync::Arc,
};

/// A folder.
struct Folder(PathBuf);

impl Objects for Folder {
    fn size(&self, key: &str) -> Result<Option<u64>, ReadError> {
        match fs::metadata(self.0.join(key)) {
            Ok(found) => Ok(found.is_file().then_some(found.len())),
            Err(_) => Ok(None),
        }
    }

    fn read(&self, key: &str, span: &Span) -> Result<Option<Bytes>, ReadError> {
        let Ok(data) = fs::read(self.0.join(key)) else { return Ok(None) };
        let len = data.len() as u64;
        let range = match span {
            Span::All => 0..len,
            Span::Range(range) => range.clone(),
            Span::Last(last) => len.checked_sub(*last).ok_or("too short")?..len,
        };
        if range.end > len {
            return Err("too short".into());
        }
        Ok(Some(Bytes::from(data).slice(range.start as usize..range.end as usize)))
    }

    fn children(&self, folder: &str) -> Result<Vec<String>, ReadError> {
        let names = fs::read_dir(self.0.join(folder))?
            .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
        names.collect()
    }
}

fn main() {
    for path in env::args().skip(1) {
        println!("store {path}");
        if let Err(error) = store(&path) {
            println!("error {error}");
        }
    }
}

fn store(path: &str) -> Result<()> {
    let objects: Arc<dyn Objects> = Arc::new(Folder(path.into()));
    let tree = Tree::open(Arc::clone(&objects), "", Limits::default())?;
    println!("version\t{}\t{}", tree.version(), tree.is_consolidated());
    for entry in tree.list()? {
        for (name, value) in tree.attributes(&entry.path)? {
            println!("attribute\t{}\t{name}\t{value}", entry.path);
        }
        match entry.kind {
            Kind::Group => println!("group\t{}", entry.path),
            Kind::Array => array(&*objects, &tree, &entry.path),
        }
    }
    Ok(())
}

fn array(objects: &dyn Objects, tree: &Tree, path: &str) {
    let found = match tree.array(path) {
        Ok(found) => found,
        Err(error) => return println!("array-error\t{path}\t{error}"),
    };
    println!(
        "array\t{path}\t{}\t{:?}\t{:?}\t{:?}\t{:?}",
        found.datatype,
        found.shape,
        found.chunk,
        found.names,
        found.codecs()
    );
    let mut fields = Vec::new();
    leaves(&found.datatype, String::new(), &mut fields);
    for field in fields {
        let name = if field.is_empty() { path.to_owned() } else { format!("{path}.{field}") };
        match tree.reader(found.clone(), &field).and_then(|reader| sum(objects, tree, &reader)) {
            Ok(sum) => println!("sum\t{name}\t{sum:08x}"),
            Err(error) => println!("sum-error\t{name}\t{error}"),
        }
    }
}

fn leaves(datatype: &Datatype, path: String, out: &mut Vec<String>) {
    let join = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    match &datatype.class {
        Class::Structure(fields) => {
            fields.iter().for_each(|field| leaves(&field.datatype, join(&field.name), out))
        }
        Class::Complex(..) => out.extend([join("r"), join("i")]),
        _ => out.push(path),
    }
}

fn sum(objects: &dyn Objects, tree: &Tree, reader: &Reader) -> Result<u32> {
    let shape = reader.array().shape.clone();
    let slab = Slab::all(&shape);
    let mut whole = vec![0xa5; reader.bytes(&slab).unwrap()];
    tree.read_slab(reader, &slab, &mut whole)?;
    if !whole.is_empty() {
        boxes(tree, reader, &shape, &whole)?;
        kept(objects, reader, &slab, &whole)?;
        let mut out = vec![0; whole.len()];
        for (part, range) in reader.bands(&slab, 3) {
            tree.read_slab(reader, &part, &mut out[range])?;
        }
        assert!(out == whole, "{}: bands differ", reader.array().path);
    }
    Ok(crc32(&whole))
}

/// Boxes at places that depend on the shape alone, compared element by element.
fn boxes(tree: &Tree, reader: &Reader, shape: &[u64], whole: &[u8]) -> Result<()> {
    let size = reader.datatype().size;
    let mut state =
        shape.iter().fold(0x9E37_79B9_7F4A_7C15u64, |all, n| (all ^ n).wrapping_mul(0x2545_F491_4F6C_DD1D));
    let mut below = |n: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % n.max(1)
    };
    for _ in 0..4 {
        let start: Vec<u64> = shape.iter().map(|&n| below(n)).collect();
        let count: Vec<u64> = shape.iter().zip(&start).map(|(&n, &at)| 1 + below(n - at)).collect();
        let slab = Slab { start: start.clone(), count: count.clone() };
        let mut out = vec![0x5a; reader.bytes(&slab).unwrap()];
        reader.forget();
        tree.read_slab(reader, &slab, &mut out)?;
        for (number, element) in out.chunks_exact(size).enumerate() {
            let (mut rest, mut place, mut stride) = (number as u64, 0, 1);
            for axis in (0..shape.len()).rev() {
                place += (start[axis] + rest % count[axis]) * stride;
                rest /= count[axis];
                stride *= shape[axis];
            }
            let place = place as usize * size;
            assert_eq!(element, &whole[place..place + size], "{} {slab:?}", reader.array().path);
        }
    }
    Ok(())
}

/// Two halves with chunks that are decoded once and kept.
fn kept(objects: &dyn Objects, reader: &Reader, slab: &Slab, whole: &[u8]) -> Result<()> {
    let Some(&rows) = slab.count.first().filter(|&&n| n > 1) else { return Ok(()) };
    for need in reader.needs(slab)? {
        reader.learn(&need, objects.read(&need.key, &need.span).unwrap().as_deref())?;
    }
    let (mut chunks, mut scratch) = (HashMap::new(), Scratch::default());
    for (from, to) in [(0, rows / 2), (rows / 2, rows)] {
        let mut part = slab.clone();
        (part.start[0], part.count[0]) = (from, to - from);
        let plan = reader.plan(&part)?;
        let mut out = vec![0; reader.bytes(&part).unwrap()];
        for piece in plan.pieces() {
            let read = || piece.key().and_then(|key| objects.read(key, piece.span()).unwrap());
            let Some(number) = piece.chunk() else {
                reader.place(&plan, piece, read().as_deref(), &mut scratch, &mut out)?;
                continue;
            };
            let chunk = match chunks.entry(number) {
                Entry::Occupied(found) => found.into_mut(),
                Entry::Vacant(place) => {
                    let mut chunk = Vec::new();
                    reader.decode(piece, read().as_deref(), &mut chunk, &mut scratch)?;
                    place.insert(chunk)
                }
            };
            reader.place_decoded(&plan, piece, chunk, &mut out)?;
        }
        let row = whole.len() / rows as usize;
        assert!(
            out == whole[from as usize * row..to as usize * row],
            "{}: kept chunks differ",
            reader.array().path
        );
    }
    Ok(())
}

fn crc32(data: &[u8]) -> u32 {
    let table: Vec<u32> = (0..256u32)
        .map(|byte| (0..8).fold(byte, |crc, _| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 }))
        .collect();
    !data.iter().fold(!0, |crc, &byte| crc >> 8 ^ table[((crc ^ u32::from(byte)) & 255) as usize])
}
