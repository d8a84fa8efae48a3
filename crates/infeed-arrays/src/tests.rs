//! Tests over whole files, in a store in memory.

use crate::{ArraySource, ENTRIES};
use bytes::Bytes;
use infeed_core::{
    Dtype, Error, FormatEntry, Found, Hold, OpenRequest, Opened, Result, Shard, Source, Store, Value,
    parallel,
    signals::{self, Signals},
};
use infeed_records::npy::Header;
use serde_json::{Map, json};
use std::{
    collections::BTreeMap,
    ops::Range,
    sync::{Arc, Mutex},
};

/// Files in memory, which notes what is read and announced.
#[derive(Debug, Default)]
pub(crate) struct Files {
    pub(crate) files: BTreeMap<String, Bytes>,
    pub(crate) far: bool,
    pub(crate) announced: Mutex<Vec<Range<u64>>>,
    pub(crate) reads: Mutex<Vec<Range<u64>>>,
}

impl Files {
    pub(crate) fn new(files: &[(&str, Vec<u8>)]) -> Self {
        let files = files.iter().map(|(name, bytes)| ((*name).to_owned(), bytes.clone().into()));
        Files { files: files.collect(), ..Files::default() }
    }
}

impl Store for Files {
    fn list(&self, prefix: &str) -> Result<Vec<Shard>> {
        let names: Vec<String> = self.files.keys().filter(|name| name.starts_with(prefix)).cloned().collect();
        self.stat(&names)
    }

    fn stat(&self, names: &[String]) -> Result<Vec<Shard>> {
        let one = |name: &String| match self.files.get(name) {
            Some(bytes) => {
                let size = bytes.len() as u64;
                Ok(Shard { name: name.as_str().into(), size, modified: Some(1), version: None })
            }
            None => Err(Error::NotFound { path: name.clone(), hint: String::new() }),
        };
        names.iter().map(one).collect()
    }

    fn read(&self, shard: &Shard, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        self.reads.hold().extend(ranges.iter().cloned());
        let file = &self.files[&*shard.name];
        Ok(ranges.iter().map(|range| file.slice(range.start as usize..range.end as usize)).collect())
    }

    fn will_read(&self, _: &Shard, ranges: &[Range<u64>]) {
        self.announced.hold().extend(ranges.iter().cloned());
    }

    fn room_ahead(&self) -> Option<u64> {
        self.far.then_some(1 << 30)
    }

    fn find(&self, path: &str) -> Result<Vec<Found>> {
        let folder = format!("{path}/");
        match self.files.keys().any(|name| name.starts_with(&folder)) {
            true => Ok(vec![Found::Folder(path.to_owned())]),
            false => self.stat(&[path.to_owned()]).map(|_| vec![Found::File(path.to_owned())]),
        }
    }
}

fn entry(name: &str) -> &'static FormatEntry {
    ENTRIES.iter().find(|entry| entry.name == name).unwrap()
}

pub(crate) fn open(
    store: &Arc<Files>,
    format: &str,
    paths: &[&str],
    args: serde_json::Value,
) -> Result<Arc<dyn Source>> {
    let store: Arc<dyn Store> = Arc::clone(store) as _;
    let paths: Vec<String> = paths.iter().map(|path| (*path).to_owned()).collect();
    let given: Map<String, serde_json::Value> = args.as_object().unwrap().clone();
    let request = OpenRequest {
        entry: entry(format),
        store: &store,
        paths: &paths,
        found: None,
        listed: None,
        given: &given,
        threads: 2,
    };
    match entry(format).open(request)? {
        Opened::Rows(source) => Ok(source),
        Opened::Stream(_) => panic!("a stream"),
    }
}

fn npy(rows: usize, width: usize) -> Vec<u8> {
    let mut out = Header::write(Dtype::U16, &[rows, width]);
    out.extend((0..rows * width).flat_map(|n| (n as u16).to_le_bytes()));
    out
}

/// An archive as `numpy.savez` writes it, with the sizes in 64 bits.
pub(crate) fn npz(members: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let (mut out, mut directory) = (Vec::new(), Vec::new());
    for (name, bytes) in members {
        let mut crc = crate::zip::Crc::new();
        crc.update(bytes);
        let at = out.len() as u64;
        let size = bytes.len() as u64;
        // What stands in both headers: sizes that do not fit are in the extra field.
        let shared = |extra: &[u8]| {
            let mut head = vec![45, 0, 0, 0, 0, 0, 0, 0, 0, 0];
            head.extend(crc.sum().to_le_bytes());
            head.extend([0xff; 8]);
            head.extend((name.len() as u16).to_le_bytes());
            head.extend((extra.len() as u16).to_le_bytes());
            head
        };
        let wide = |numbers: &[u64]| {
            let mut extra = vec![1, 0];
            extra.extend((numbers.len() as u16 * 8).to_le_bytes());
            extra.extend(numbers.iter().flat_map(|n| n.to_le_bytes()));
            extra
        };
        let extra = wide(&[size, size]);
        out.extend(b"PK\x03\x04");
        out.extend(shared(&extra));
        out.extend(name.bytes());
        out.extend(&extra);
        out.extend(bytes);
        let extra = wide(&[size, size, at]);
        directory.extend(b"PK\x01\x02\x2d\x03");
        directory.extend(shared(&extra));
        directory.extend([0; 10]);
        directory.extend([0xff; 4]);
        directory.extend(name.bytes());
        directory.extend(&extra);
    }
    let (start, len) = (out.len() as u64, directory.len() as u64);
    out.extend(directory);
    let end = out.len() as u64;
    out.extend(b"PK\x06\x06\x2c\0\0\0\0\0\0\0\x2d\0\x2d\0\0\0\0\0\0\0\0\0");
    for number in [members.len() as u64, members.len() as u64, len, start] {
        out.extend(number.to_le_bytes());
    }
    out.extend(b"PK\x06\x07\0\0\0\0");
    out.extend(end.to_le_bytes());
    out.extend(b"\x01\0\0\0PK\x05\x06\0\0\0\0");
    out.extend([0xff; 12]);
    out.extend([0, 0]);
    out
}

/// The rows of a field, through `fill` and through `fetch`, which must agree.
pub(crate) fn rows(source: &dyn Source, field: &str, wanted: &[u64]) -> Vec<Vec<u8>> {
    let fields = [Arc::from(field)];
    let place = source.spec().position(field).unwrap();
    let width = source.spec().fields[place].1.fixed_bytes().unwrap();
    let mut out = vec![0; width * wanted.len()];
    source.fill(wanted, &fields, &mut [&mut out]).unwrap();
    let filled: Vec<Vec<u8>> = out.chunks(width).map(<[u8]>::to_vec).collect();
    let fetched = source.fetch(wanted, &fields).unwrap();
    let fetched = fetched.into_iter().map(|mut record| match record.fields.remove(0) {
        Value::Tensor(tensor) => tensor.data.to_vec(),
        other => panic!("{other:?}"),
    });
    assert_eq!(fetched.collect::<Vec<_>>(), filled);
    filled
}

pub(crate) fn numbers(row: &[u8]) -> Vec<u16> {
    row.chunks(2).map(|n| u16::from_ne_bytes([n[0], n[1]])).collect()
}

#[test]
fn rows_of_several_files_in_any_order() {
    let store = Arc::new(Files::new(&[("a.npy", npy(5, 3)), ("b.npy", npy(4, 3))]));
    let source = open(&store, "npy", &["a.npy", "b.npy"], json!({})).unwrap();
    assert_eq!((source.shard_rows(), source.rows()), (&[5, 4][..], 9));
    let got = rows(&*source, "data", &[8, 0, 1, 2, 8, 5]);
    let got: Vec<u16> = got.iter().map(|row| numbers(row)[0]).collect();
    assert_eq!(got, [9, 0, 3, 6, 9, 0]);
    assert_eq!(
        (source.shard_of(6), source.key(6), source.row_bytes(6, &["data".into()])),
        ("b.npy".into(), "1".into(), 6)
    );
    assert!(source.fetch(&[9], &["data".into()]).unwrap_err().to_string().contains("there is no row 9"));
    // Neighbours are one read.
    store.reads.hold().clear();
    let mut out = vec![0; 18];
    source.fill(&[1, 2, 3], &["data".into()], &mut [&mut out]).unwrap();
    assert_eq!(store.reads.hold().first(), Some(&(134..152)));
    let stamps = source.stamps(&[0, 1, 5], &["data".into()]).unwrap();
    assert!(stamps.iter().all(Option::is_some) && stamps[0] != stamps[1] && stamps[0] != stamps[2]);
}

#[test]
fn archives_with_sizes_in_64_bits() {
    let bytes = npz(&[("x.npy", npy(6, 2)), ("y.npy", npy(6, 1))]);
    let store = Arc::new(Files::new(&[("d/a.npz", bytes.clone()), ("d/b.npz", bytes)]));
    let source = open(&store, "npz", &["d"], json!({})).unwrap();
    assert_eq!((source.rows(), source.key(1)), (2, "b".to_owned()));
    assert_eq!(numbers(&rows(&*source, "x", &[1])[0]), (0..12).collect::<Vec<u16>>());
    let source = open(&store, "npz", &["d"], json!({"rows": "axis", "fields": ["y"]})).unwrap();
    assert_eq!(rows(&*source, "y", &[7, 11, 3]).iter().map(|row| row[0]).collect::<Vec<_>>(), [1, 5, 3]);
}

#[test]
fn large_members_of_archives_are_checked_whoever_reads_them() {
    let run = Arc::new(Signals::default().with_threads(3));
    let _entered = signals::enter(&run);
    let bytes = npz(&[("x.npy", npy(2500, 4096))]);
    let read = |bytes: Vec<u8>| {
        let store = Arc::new(Files::new(&[("a.npz", bytes)]));
        let source = open(&store, "npz", &["a.npz"], json!({}))?;
        let mut out = vec![0; 2500 * 4096 * 2];
        source.fill(&[0], &["x".into()], &mut [&mut out])?;
        Ok::<_, Error>(out)
    };
    let whole = read(bytes.clone()).unwrap();
    assert!(whole.chunks_exact(2).enumerate().all(|(n, two)| two == (n as u16).to_le_bytes()));
    for at in [1000, bytes.len() / 2, bytes.len() - 1000] {
        let mut changed = bytes.clone();
        changed[at] ^= 4;
        assert!(read(changed).unwrap_err().to_string().contains("checksum"), "{at}");
    }
}

#[test]
fn every_cut_and_change_of_an_archive_is_an_error_or_harmless() {
    let bytes = npz(&[("x.npy", npy(6, 2))]);
    let read = |bytes: Vec<u8>| {
        let store = Arc::new(Files::new(&[("a.npz", bytes)]));
        let source = open(&store, "npz", &["a.npz"], json!({}))?;
        source.fetch(&[0], &["x".into()]).map(|_| ())
    };
    read(bytes.clone()).unwrap();
    for len in 0..bytes.len() {
        assert!(read(bytes[..len].to_vec()).is_err(), "{len}");
    }
    for at in 0..bytes.len() {
        for bit in [1, 0x80] {
            let mut changed = bytes.clone();
            changed[at] ^= bit;
            // It may be a byte that means nothing; it must not panic.
            let _ = read(changed);
        }
    }
}

#[test]
fn blocks_are_decoded_once() {
    // In Fortran order rows share their bytes.
    let mut bytes = Header::write(Dtype::U16, &[50, 4]);
    let at = bytes.iter().position(|b| *b == b'F').unwrap();
    bytes[at..at + 5].copy_from_slice(b"True ");
    bytes.extend((0..4).flat_map(|b| (0..50).flat_map(move |a| (a * 4 + b as u16).to_le_bytes())));
    let store = Arc::new(Files::new(&[("a.npy", bytes)]));
    let source = open(&store, "npy", &["a.npy"], json!({})).unwrap();
    assert_eq!(source.block_rows(), [50]);
    let wanted: Vec<u64> = (0..50).rev().collect();
    let got = parallel::map(4, 4, |_| Ok(rows(&*source, "data", &wanted))).unwrap();
    for rows in got {
        let all: Vec<u16> = rows.iter().rev().flat_map(|row| numbers(row)).collect();
        assert_eq!(all, (0..200).collect::<Vec<u16>>());
    }
    // The header, and the elements once.
    assert_eq!(store.reads.hold().len(), 2);
}

#[test]
fn stores_far_away_are_told_what_comes() {
    let files = Files::new(&[("a.npy", npy(4096, 512)), ("b.npy", npy(10, 512))]);
    let store = Arc::new(Files { far: true, ..files });
    let source = open(&store, "npy", &["a.npy", "b.npy"], json!({})).unwrap();
    // Blocks of one request: 2 MiB.
    assert_eq!(source.block_rows(), [2048, 2048, 10]);
    let fields: [Arc<str>; 1] = ["data".into()];
    source.will_fetch(&[7, 8, 100], &fields);
    assert_eq!(*store.announced.hold(), [128 + 7 * 1024..128 + 9 * 1024, 128 + 100 * 1024..128 + 101 * 1024]);
    store.announced.hold().clear();
    source.will_fetch_blocks(&[7, 8, 100], &fields);
    assert_eq!(store.announced.hold().first(), Some(&(128..128 + (2 << 20))));
    let cost = source.read_cost(&[1, 2], &fields, infeed_core::Fetching::Rows).unwrap();
    assert_eq!((cost.used, cost.read, cost.requests), (2048, 2048, 1));
    let mut bytes = Vec::new();
    source.bytes_of(&[4097], &fields, &mut |object, range| bytes.push((object, range)));
    assert_eq!(bytes, [(1, 128 + 1024..128 + 2048)]);
    assert_eq!(source.objects().len(), 2);
}

#[test]
fn only_what_cannot_go_together_is_refused() {
    let store = Arc::new(Files::new(&[("d/a.npy", npy(5, 3)), ("d/b.npy", npy(5, 4))]));
    let source = open(&store, "npy", &["d"], json!({})).unwrap();
    assert_eq!(source.spec().fields[0].1.to_string(), "u16[5, ?]");
    assert!(!source.fills("data"));
    let text = open(&store, "npy", &["d"], json!({"rows": "axis"})).unwrap_err().to_string();
    assert_eq!(
        text,
        "`d/b.npy`: `data` is of shape [4] a row, and in `d/a.npy` it is of shape [3] a row; files that are read together must \
         agree"
    );
    fn shared<T: Send + Sync>() {}
    shared::<ArraySource>();
}
