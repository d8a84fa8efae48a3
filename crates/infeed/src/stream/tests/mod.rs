//! Streams compared with the indexed format, and with all kinds of faults.

mod compress;
mod open;
mod pipe;
mod rows;
mod tar;
mod wrapped;

use super::{
    compress::unpack,
    input::{Input, Stop},
    parts::Keep,
    tar::{TarRow, TarRows},
    *,
};
use crate::store::Pool;
use infeed_core::{Flow, Packing, Result, Stream, Value};
use std::{io::Write, path::Path, sync::Arc};

/// Key and fields, sorted by name.
type Plain = (String, Vec<(String, Vec<u8>)>);

fn plain(row: TarRow) -> Plain {
    let mut fields: Vec<_> = row.fields.into_iter().map(|(n, b)| (n.to_string(), b.to_vec())).collect();
    fields.sort();
    (row.key, fields)
}

/// All rows of a part, and how it ended.
fn rows_of(name: &str, bytes: &[u8]) -> (Vec<Plain>, Result<()>) {
    let shard: Arc<str> = name.into();
    let input = Input::new(Box::new(std::io::Cursor::new(bytes.to_vec())), Stop::default());
    let (reader, packing) = match unpack(&shard, input) {
        Ok(unpacked) => unpacked,
        Err(error) => return (Vec::new(), Err(error)),
    };
    let mut rows = TarRows::new(&shard, reader, packing, &Pool::new(1 << 20));
    let mut found = Vec::new();
    loop {
        match rows.next(Keep::Data) {
            Ok(Some(row)) => found.push(plain(row)),
            Ok(None) => return (found, Ok(())),
            Err(error) => return (found, Err(error)),
        }
    }
}

/// A tar with these members.
fn tar_of<'a>(members: impl IntoIterator<Item = (&'a str, &'a [u8])>) -> Vec<u8> {
    let mut out = ::tar::Builder::new(Vec::new());
    for (name, data) in members {
        let mut head = ::tar::Header::new_gnu();
        head.set_size(data.len() as u64);
        head.set_mode(0o444);
        out.append_data(&mut head, name, data).unwrap();
    }
    out.into_inner().unwrap()
}

/// A tar of rows with a number and some bytes that do not compress well.
fn numbered(rows: std::ops::Range<u32>, size: usize) -> Vec<u8> {
    let members: Vec<(String, Vec<u8>)> = rows
        .flat_map(|row| {
            let noise =
                |i: usize| (row.wrapping_mul(747_796_405) ^ (i as u32).wrapping_mul(0x9e37_79b9)) >> 13;
            let data = (0..size + row as usize % 7).map(|i| noise(i) as u8).collect();
            [(format!("{row:05}.cls"), row.to_string().into_bytes()), (format!("{row:05}.bin"), data)]
        })
        .collect();
    tar_of(members.iter().map(|(name, data)| (name.as_str(), data.as_slice())))
}

/// One member of compressed data, with a checksum.
fn pack(packing: Packing, bytes: &[u8]) -> Vec<u8> {
    match packing {
        Packing::Gzip => {
            let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            out.write_all(bytes).unwrap();
            out.finish().unwrap()
        }
        Packing::Zstd => {
            let mut out = zstd::stream::Encoder::new(Vec::new(), 1).unwrap();
            out.include_checksum(true).unwrap();
            out.write_all(bytes).unwrap();
            out.finish().unwrap()
        }
        Packing::Bzip2 => {
            let mut out = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
            out.write_all(bytes).unwrap();
            out.finish().unwrap()
        }
        Packing::Xz => {
            let mut out = liblzma::write::XzEncoder::new(Vec::new(), 1);
            out.write_all(bytes).unwrap();
            out.finish().unwrap()
        }
        Packing::Lz4 => {
            use lz4_flex::frame::{BlockSize, FrameEncoder, FrameInfo};
            let info = FrameInfo::new().block_size(BlockSize::Max64KB).content_checksum(true);
            let mut out = FrameEncoder::with_frame_info(info, Vec::new());
            out.write_all(bytes).unwrap();
            out.finish().unwrap()
        }
    }
}

fn file(folder: &Path, name: &str, bytes: &[u8]) -> Opening {
    let path = folder.join(name);
    std::fs::write(&path, bytes).unwrap();
    Opening::File(path.to_str().unwrap().to_owned())
}

fn names(fields: &[&str]) -> Vec<Arc<str>> {
    fields.iter().map(|f| (*f).into()).collect()
}

/// The keys of all remaining rows, and how the flow ended.
fn keys(flow: &mut dyn Flow) -> (Vec<String>, Result<()>) {
    let mut keys = Vec::new();
    loop {
        match flow.next(&[]) {
            Ok(Some(row)) => keys.push(row.key),
            Ok(None) => return (keys, Ok(())),
            Err(error) => return (keys, Err(error)),
        }
    }
}

fn key_of(rows: std::ops::Range<u32>) -> Vec<String> {
    rows.map(|row| format!("{row:05}")).collect()
}

fn text(value: &Value) -> String {
    match value {
        Value::Bytes(bytes) => String::from_utf8(bytes.to_vec()).unwrap(),
        other => other.what().to_owned(),
    }
}
