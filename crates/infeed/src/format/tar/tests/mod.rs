//! Tars made block by block, so that a fault can be put anywhere.

mod damage;
mod reading;
mod saving;
mod sets;

use super::*;
use crate::{layout::tar::names, store::LocalStore};
use bytes::Bytes;
use infeed_core::{Error, StoreExt, Value};

/// A tar under construction.
#[derive(Default)]
struct Maker(Vec<u8>);

impl Maker {
    fn file(self, name: &str, data: &[u8]) -> Self {
        self.member(name, b'0', data)
    }

    fn member(mut self, name: &str, kind: u8, data: &[u8]) -> Self {
        self.0.extend_from_slice(&header(
            name.as_bytes(),
            kind,
            &format!("{:011o}\0", data.len()).into_bytes(),
        ));
        self.0.extend_from_slice(data);
        self.0.resize(self.0.len().next_multiple_of(512), 0);
        self
    }

    fn pax(self, kind: u8, records: &[(&str, &str)]) -> Self {
        let text: String = records.iter().map(|(k, v)| record(k, v)).collect();
        self.member("PaxHeaders/x", kind, text.as_bytes())
    }

    fn raw(mut self, bytes: &[u8]) -> Self {
        self.0.extend_from_slice(bytes);
        self
    }

    fn end(self) -> Self {
        self.raw(&[0; 1024])
    }
}

fn record(key: &str, value: &str) -> String {
    let bare = key.len() + value.len() + 3;
    let length = (bare..).find(|n| bare + n.to_string().len() == *n).unwrap();
    format!("{length} {key}={value}\n")
}

fn header(name: &[u8], kind: u8, size: &[u8]) -> [u8; 512] {
    let mut block = [0; 512];
    block[..name.len()].copy_from_slice(name);
    block[124..124 + size.len()].copy_from_slice(size);
    block[156] = kind;
    block[257..265].copy_from_slice(b"ustar\x0000");
    sign(block)
}

fn sign(mut block: [u8; 512]) -> [u8; 512] {
    block[148..156].fill(b' ');
    let sum: u32 = block.iter().map(|b| u32::from(*b)).sum();
    block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    block
}

fn store_of(bytes: &[u8]) -> (crate::store::MemoryStore, Shard) {
    let store: crate::store::MemoryStore = [("x.tar", Bytes::copy_from_slice(bytes))].into_iter().collect();
    let shard = store.stat_one("x.tar").unwrap();
    (store, shard)
}

fn index_of(bytes: &[u8], lenient: bool) -> Result<TarIndex> {
    let (store, shard) = store_of(bytes);
    TarFormat { lenient, cache: IndexCache::Off }.read_index(&store, &shard)
}

type Row = (String, Vec<(String, Vec<u8>)>);

/// Every row with all its fields, read through ranges and cut.
fn rows_of(bytes: &[u8], index: &TarIndex) -> Vec<Row> {
    let (store, shard) = store_of(bytes);
    let fields: Vec<Arc<str>> = index.fields().into_iter().map(|(name, _)| name).collect();
    let rows: Vec<u64> = (0..index.rows()).collect();
    let pieces = store.read(&shard, &index.ranges(&rows, &fields).unwrap()).unwrap();
    let records = index.cut(&rows, &fields, pieces).unwrap();
    let full = |record: infeed_core::Record| {
        let values = fields.iter().zip(record.fields).filter_map(|(name, value)| match value {
            Value::Bytes(bytes) => Some((name.to_string(), bytes.to_vec())),
            _ => None,
        });
        values.collect()
    };
    rows.iter().zip(records).map(|(row, record)| (index.key(*row), full(record))).collect()
}

fn read(bytes: &[u8]) -> Vec<Row> {
    rows_of(bytes, &index_of(bytes, false).unwrap())
}

fn row(key: &str, fields: &[(&str, &[u8])]) -> Row {
    (key.to_owned(), fields.iter().map(|(n, b)| ((*n).to_owned(), b.to_vec())).collect())
}
