//! Prints what is in HDF5 files, a line per thing, with checksums of all elements:
//! `cargo run -p infeed-hdf5 --example dump -- FILE ...`. `scripts/hdf5_matrix.py` compares the lines with h5py.
//!
//! Texts are joined by zeros. Fields of compounds have lines of their own. Every data set is read as a whole, and then again in boxes,
//! which must be equal to the same boxes of the whole.
#![allow(clippy::print_stdout, clippy::unwrap_used)]

use bytes::Bytes;
use infeed_hdf5::{Class, Datatype, File, Kind, Limits, Reader, Result, Slab, Value, trim};
use std::{env, fs, sync::Arc};

fn main() {
    for path in env::args().skip(1) {
        println!("file {path}");
        let bytes = Bytes::from(fs::read(&path).unwrap());
        if let Err(error) = file(bytes) {
            println!("error {error}");
        }
    }
}

fn file(bytes: Bytes) -> Result<()> {
    let file = File::open(Arc::new(bytes), Limits::default())?;
    attributes(&file, "/");
    for entry in file.list()? {
        match &entry.kind {
            Kind::Dataset => dataset(&file, &entry.path),
            Kind::Soft(target) => {
                println!("soft\t{}\t{target}", entry.path);
                if file.dataset(&entry.path).is_ok() {
                    dataset(&file, &entry.path);
                }
            }
            Kind::External { file, path } => println!("external\t{}\t{file}\t{path}", entry.path),
            other => println!("{}\t{}", format!("{other:?}").to_lowercase(), entry.path),
        }
        if entry.address.is_some() {
            attributes(&file, &entry.path);
        }
    }
    Ok(())
}

fn attributes(file: &File, path: &str) {
    match file.attributes(path) {
        Ok(all) => {
            for attribute in all {
                let shown = match file.value(&attribute) {
                    Ok(Value::Integers(n)) => format!("{n:?}"),
                    Ok(Value::Floats(n)) => format!("{n:?}"),
                    Ok(Value::Texts(n)) => format!("{n:?}"),
                    Ok(Value::Objects(n)) => {
                        format!("objects {:?}", n.iter().map(Vec::len).collect::<Vec<_>>())
                    }
                    Ok(other) => format!("{other:?}"),
                    Err(error) => format!("error {error}"),
                };
                println!("attribute\t{path}\t{}\t{shown}", attribute.name);
            }
        }
        Err(error) => println!("attributes-error\t{path}\t{error}"),
    }
}

fn dataset(file: &File, path: &str) {
    let found = match file.dataset(path) {
        Ok(found) => found,
        Err(error) => return println!("dataset-error\t{path}\t{error}"),
    };
    let max: Vec<String> =
        found.space.max.iter().map(|n| n.map_or("None".to_owned(), |n| n.to_string())).collect();
    println!(
        "dataset\t{path}\t{}\t{:?}\t[{}]\t{:?}",
        found.datatype,
        found.space.shape,
        max.join(", "),
        found.chunk()
    );
    let mut fields = Vec::new();
    leaves(&found.datatype, String::new(), &mut fields);
    for field in fields {
        let name = if field.is_empty() { path.to_owned() } else { format!("{path}.{field}") };
        match file.reader(found.clone(), &field).and_then(|reader| sum(file, &reader)) {
            Ok(sum) => println!("sum\t{name}\t{sum:08x}"),
            Err(error) => println!("sum-error\t{name}\t{error}"),
        }
    }
}

fn leaves(datatype: &Datatype, path: String, out: &mut Vec<String>) {
    match &datatype.class {
        Class::Compound(fields) => {
            for field in fields {
                let path =
                    if path.is_empty() { field.name.clone() } else { format!("{path}.{}", field.name) };
                leaves(&field.datatype, path, out);
            }
        }
        _ => out.push(path),
    }
}

fn sum(file: &File, reader: &Reader) -> Result<u32> {
    let shape = reader.dataset().space.shape.clone();
    let slab = Slab::all(&shape);
    let len = if reader.dataset().space.null { 0 } else { reader.bytes(&slab).unwrap() };
    let mut whole = vec![0xa5; len];
    if len > 0 {
        file.read_slab(reader, &slab, &mut whole)?;
        boxes(file, reader, &shape, &whole)?;
        bands(file, reader, &slab, &whole)?;
    }
    Ok(match &reader.datatype().class {
        Class::VarText => crc32(
            &file.texts(&whole)?.iter().flat_map(|text| [&text[..], &[0]].concat()).collect::<Vec<u8>>(),
        ),
        Class::Text { padding } => {
            let size = reader.datatype().size as usize;
            crc32(
                &whole
                    .chunks(size)
                    .flat_map(|text| [trim(text, *padding), &[0]].concat())
                    .collect::<Vec<u8>>(),
            )
        }
        _ => crc32(&whole),
    })
}

/// Boxes at places that depend on the shape alone, compared element by element.
fn boxes(file: &File, reader: &Reader, shape: &[u64], whole: &[u8]) -> Result<()> {
    let size = reader.datatype().size as usize;
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
        file.read_slab(reader, &slab, &mut out)?;
        for (number, element) in out.chunks_exact(size).enumerate() {
            let (mut rest, mut place, mut stride) = (number as u64, 0, 1);
            for axis in (0..shape.len()).rev() {
                place += (start[axis] + rest % count[axis]) * stride;
                rest /= count[axis];
                stride *= shape[axis];
            }
            let place = place as usize * size;
            assert_eq!(element, &whole[place..place + size], "{} {slab:?}", reader.dataset().path);
        }
    }
    Ok(())
}

/// Bands, with a chunk map that was saved and loaded again.
fn bands(file: &File, reader: &Reader, slab: &Slab, whole: &[u8]) -> Result<()> {
    let map = reader.map().map(|map| map.to_bytes(file.size()));
    let map = map.map(|map| infeed_hdf5::ChunkMap::from_bytes(&map, file.size())).transpose()?;
    if let (Some(map), true) = (map, reader.datatype() == &reader.dataset().datatype) {
        let again = Reader::new(file, reader.dataset().clone(), "", Some(map))?;
        let mut out = vec![0; whole.len()];
        for (part, range) in again.bands(slab, 3) {
            file.read_slab(&again, &part, &mut out[range])?;
        }
        assert!(out == whole, "{}: bands differ", reader.dataset().path);
    }
    Ok(())
}

fn crc32(data: &[u8]) -> u32 {
    let table: Vec<u32> = (0..256u32)
        .map(|byte| (0..8).fold(byte, |crc, _| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 }))
        .collect();
    !data.iter().fold(!0, |crc, &byte| crc >> 8 ^ table[((crc ^ u32::from(byte)) & 255) as usize])
}
