//! Prints the columns of trees of ROOT files, a line each, with checksums of all entries:
//! `cargo run -p infeed-root --example dump -- FILE ...`. `scripts/root_matrix.py` compares the lines with uproot.
#![allow(clippy::print_stdout, clippy::unwrap_used)]

use bytes::Bytes;
use infeed_root::{Contents, Result};
use std::{env, fs};

fn main() {
    for path in env::args().skip(1) {
        println!("file\t{path}");
        if let Err(error) = file(&Bytes::from(fs::read(&path).unwrap())) {
            println!("error\t{error}");
        }
    }
}

fn file(bytes: &Bytes) -> Result<()> {
    let contents = Contents::read(bytes)?;
    for found in contents.trees() {
        let tree = match contents.tree(bytes, found) {
            Ok(tree) => tree,
            Err(error) => {
                println!("tree-error\t{}\t{error}", found.path);
                continue;
            }
        };
        println!("tree\t{}\t{}", found.path, tree.entries);
        tree.refused().for_each(|(name, why)| println!("refused\t{}\t{name}\t{why}", found.path));
        for name in tree.names() {
            match tree.read_column(bytes, name) {
                Ok(column) => {
                    let (spec, data, ends) = (&column.spec, crc(&column.data), crc(&column.ends()));
                    println!("sum\t{}\t{name}\t{spec}\t{data:08x}\t{ends:08x}", found.path);
                }
                Err(error) => println!("sum-error\t{}\t{name}\t{error}", found.path),
            }
        }
    }
    Ok(())
}

fn crc(data: &[u8]) -> u32 {
    let step = |crc: u32, _| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
    !data.iter().fold(!0, |crc, &byte| (0..8).fold(crc ^ u32::from(byte), step))
}
