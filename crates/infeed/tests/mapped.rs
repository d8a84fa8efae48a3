//! Files that are changed while they are mapped. What was checked must be what is used.

#![allow(clippy::unwrap_used)] // A test: failing is what it is for.

use infeed::{
    Value,
    decode::DECODERS,
    store::{LocalStore, MemoryStore},
};
use infeed_core::{Bytes, Scratch, Store, StoreExt, lent, registry::find};
use std::{fs::File, io::Read, os::unix::fs::FileExt};

/// A progressive picture: only libjpeg-turbo decodes it, and it reads the header twice.
const JPEG: &[u8] = include_bytes!("../src/decode/jpeg/golden/progressive.jpg");

fn decode(name: &str, bytes: &Bytes) -> Value {
    let decoder = find(DECODERS, name, "decoder").unwrap().make(&Default::default()).unwrap();
    decoder.decode(bytes, &mut Scratch::new()).unwrap()
}

fn pixels(value: &Value) -> Vec<u8> {
    let Value::Image(image) = value else { panic!("not an image") };
    let mut out = vec![0; image.bytes()];
    image.render(&mut Scratch::new(), &mut out).unwrap();
    out
}

#[test]
fn an_image_is_what_it_was_when_its_header_was_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.jpg");
    std::fs::write(&path, JPEG).unwrap();
    let store = LocalStore::new();
    let shard = store.stat_one(path.to_str().unwrap()).unwrap();
    let mapped = store.map(&shard).unwrap().unwrap();
    let image = decode("rgb", &mapped);
    let expected = pixels(&decode("rgb", &Bytes::from_static(JPEG)));

    // The frame header now says 16384 rows: with the size that was checked before, decoding would write past its buffer.
    let frame = JPEG.windows(2).position(|pair| pair == [0xff, 0xc2]).unwrap();
    File::options().write(true).open(&path).unwrap().write_at(&[0x40, 0], frame as u64 + 5).unwrap();
    let mut now = Vec::new();
    File::open(&path).unwrap().read_to_end(&mut now).unwrap();
    assert_eq!(mapped[..], now[..], "the mapping shows what is written");
    assert_eq!(pixels(&image), expected);
}

#[test]
fn only_mapped_bytes_are_copied() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.txt");
    std::fs::write(&path, [b'a'; 5000]).unwrap();
    let store = LocalStore::new();
    let shard = store.stat_one(path.to_str().unwrap()).unwrap();
    let mapped = store.map(&shard).unwrap().unwrap();
    let part = mapped.slice(1000..2000);
    assert_ne!(lent::owned(&part).unwrap().as_ptr(), part.as_ptr());
    let read = store.read_one(&shard, 0..5000).unwrap();
    let memory: MemoryStore = [("m", vec![b'a'; 5000])].into_iter().collect();
    let held = memory.map(&memory.stat_one("m").unwrap()).unwrap().unwrap();
    for own in [read, held] {
        // While another test maps a file everything counts as mapped.
        assert!((0..1000).any(|_| lent::owned(&own).unwrap().as_ptr() == own.as_ptr()));
    }
}
