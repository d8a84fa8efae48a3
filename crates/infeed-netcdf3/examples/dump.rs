//! Prints what is in classic NetCDF files, a line per thing, with checksums of all elements:
//! `cargo run -p infeed-netcdf3 --example dump -- FILE ...`. `scripts/netcdf3_matrix.py` compares the lines with netCDF4 and SciPy.
#![allow(clippy::print_stdout, clippy::unwrap_used)]

use bytes::Bytes;
use infeed_netcdf3::{File, Limits, Result, Slab, Value, Variable};
use std::{env, fs, sync::Arc};

fn main() {
    for path in env::args().skip(1) {
        println!("file {path}");
        if let Err(error) = file(Bytes::from(fs::read(&path).unwrap())) {
            println!("error {error}");
        }
    }
}

fn file(bytes: Bytes) -> Result<()> {
    let mut limits = Limits::default();
    // Short runs, so that they are cut.
    limits.max_run = 1000;
    let file = File::open(Arc::new(bytes), limits)?;
    println!("version\t{}", file.version());
    attributes("/", file.attributes());
    for variable in file.variables() {
        println!(
            "variable\t{}\t{:?}\t{:?}\t{:?}",
            variable.name, variable.kind, variable.shape, variable.dimensions
        );
        attributes(&variable.name, &variable.attributes);
        match sum(&file, variable) {
            Ok(sum) => println!("sum\t{}\t{sum:08x}", variable.name),
            Err(error) => println!("sum-error\t{}\t{error}", variable.name),
        }
    }
    Ok(())
}

fn attributes(owner: &str, all: &[(String, Value)]) {
    for (name, value) in all {
        match value {
            Value::Text(text) => println!("attribute\t{owner}\t{name}\t{text:?}"),
            Value::Integers(n) => println!("attribute\t{owner}\t{name}\t{n:?}"),
            Value::Floats(n) => println!("attribute\t{owner}\t{name}\t{n:?}"),
        }
    }
}

/// The checksum of all elements. Boxes are read as well, and compared with the whole.
fn sum(file: &File, variable: &Variable) -> Result<u32> {
    let (shape, size) = (&variable.shape, variable.kind.size());
    let slab = Slab::all(shape);
    let mut whole = vec![0; file.plan(variable, &slab)?.bytes()];
    file.read_slab(variable, &slab, &mut whole)?;
    for cut in 1..4u64 {
        let start: Vec<u64> = shape.iter().map(|n| n * cut / 5).collect();
        let count: Vec<u64> = shape.iter().zip(&start).map(|(n, at)| (n - at).div_ceil(cut)).collect();
        let slab = Slab { start: start.clone(), count: count.clone() };
        let mut out = vec![0; file.plan(variable, &slab)?.bytes()];
        file.read_slab(variable, &slab, &mut out)?;
        for (number, element) in out.chunks_exact(size).enumerate() {
            let (mut rest, mut place, mut stride) = (number as u64, 0, 1);
            for axis in (0..shape.len()).rev() {
                place += (start[axis] + rest % count[axis]) * stride;
                rest /= count[axis];
                stride *= shape[axis];
            }
            assert_eq!(element, &whole[place as usize * size..][..size], "{} {slab:?}", variable.name);
        }
    }
    let step = |crc: u32, _| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
    Ok(!whole.iter().fold(!0, |crc, &byte| (0..8).fold(crc ^ u32::from(byte), step)))
}
