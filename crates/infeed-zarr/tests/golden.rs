//! Stores that zarr-python wrote, compared with what it reads. `golden/make.py` makes them.
#![allow(clippy::unwrap_used)]

mod common;

use common::{STORES, all, crc32, golden, objects, open, read};
use infeed_zarr::{Entry, Json, Kind, Limits, Objects, Reader, Scratch, Slab, Span, Tree};
use std::{collections::HashMap, sync::Arc};

fn expected(version: u8) -> Vec<(String, u32)> {
    let text = String::from_utf8(golden("sums.txt")).unwrap();
    let line = |line: &str| {
        let (name, sum) = line.strip_prefix(&format!("v{version} "))?.rsplit_once(' ').unwrap();
        Some((name.to_owned(), u32::from_str_radix(sum, 16).unwrap()))
    };
    text.lines().filter_map(line).collect()
}

fn reader(tree: &Tree, name: &str) -> Reader {
    let (path, field) = name.split_once('.').unwrap_or((name, ""));
    tree.reader(tree.array(path).unwrap(), field).unwrap()
}

fn compare(tree: &Tree) {
    let sums = expected(tree.version());
    assert!(sums.len() > 7);
    for (name, sum) in sums {
        assert_eq!(crc32(&all(tree, &reader(tree, &name)).unwrap()), sum, "v{} {name}", tree.version());
    }
}

#[test]
fn everything_is_what_zarr_python_reads() {
    for name in STORES {
        let tree = open(objects(name)).unwrap();
        assert_eq!(tree.is_consolidated(), name.contains("consolidated"));
        compare(&tree);
        assert_eq!(tree.attributes("/").unwrap(), [("title".to_owned(), Json::Text("größe".to_owned()))]);
        let names = tree.array("plain").unwrap().names;
        assert_eq!(names, [Some("time".to_owned()), Some("x".to_owned())]);
    }
}

#[test]
fn lists_are_the_same_with_and_without_consolidated_metadata() {
    for version in [2, 3] {
        let walked = open(objects(&format!("v{version}.store"))).unwrap().list().unwrap();
        let told = open(objects(&format!("v{version}-consolidated.store"))).unwrap().list().unwrap();
        assert_eq!(walked, told);
        assert!(walked.contains(&Entry { path: "/deep/er".to_owned(), kind: Kind::Group }));
        assert!(walked.contains(&Entry { path: "/turned".to_owned(), kind: Kind::Array }));
    }
}

#[test]
fn an_array_can_be_the_root() {
    let tree = Tree::open(Arc::new(objects("v3.store")), "/shards/", Limits::small()).unwrap();
    assert_eq!(tree.list().unwrap(), [Entry { path: "/".to_owned(), kind: Kind::Array }]);
    let group = open(objects("v3.store")).unwrap();
    assert_eq!(read(&tree, "/").unwrap(), read(&group, "shards").unwrap());
    assert!(tree.array("/other").unwrap_err().to_string().contains("/other"));
}

#[test]
fn boxes_are_equal_to_the_same_boxes_of_the_whole() {
    for name in STORES {
        let tree = open(objects(name)).unwrap();
        for entry in tree.list().unwrap().iter().filter(|entry| entry.kind == Kind::Array) {
            let reader = reader(&tree, &entry.path);
            let whole = all(&tree, &reader).unwrap();
            let (shape, size) = (reader.array().shape.clone(), reader.datatype().size);
            let [rows, columns] = shape[..] else { continue };
            for (start, count) in
                [([0, 0], [1, 1]), ([3, 1], [5, 4]), ([rows - 1, 0], [1, columns]), ([2, 5], [8, 1])]
            {
                let slab = Slab { start: start.to_vec(), count: count.to_vec() };
                let mut out = vec![0x5a; reader.bytes(&slab).unwrap()];
                tree.read_slab(&reader, &slab, &mut out).unwrap();
                for (at, element) in out.chunks(size).enumerate() {
                    let (row, column) = (start[0] + at as u64 / count[1], start[1] + at as u64 % count[1]);
                    let place = (row * columns + column) as usize * size;
                    assert_eq!(element, &whole[place..place + size], "{name} {} {slab:?}", entry.path);
                }
            }
        }
    }
}

#[test]
fn plans_name_bytes_and_read_none() {
    let store = objects("v3.store");
    let tree = open(store.clone()).unwrap();
    let reader = reader(&tree, "deep/er/holes");
    let slab = Slab::all(&[10, 6]);
    assert!(reader.plan(&slab).unwrap_err().to_string().contains("is not known yet"));
    let needs = reader.needs(&slab).unwrap();
    let keys: Vec<&str> = needs.iter().map(|need| need.key.as_str()).collect();
    assert_eq!(keys, ["deep/er/holes/c/0/0", "deep/er/holes/c/1/0", "deep/er/holes/c/2/0"]);
    for need in &needs {
        reader.learn(need, store.read(&need.key, &need.span).unwrap().as_deref()).unwrap();
    }
    assert!(reader.clone().needs(&slab).unwrap().is_empty());
    let plan = reader.plan(&slab).unwrap();
    let stored: Vec<_> = plan.pieces().iter().filter_map(|piece| piece.key()).collect();
    assert_eq!((plan.pieces().len(), stored.len()), (10, 2), "chunks that were never written need nothing");
    // Decoded chunks can be kept.
    let (mut chunks, mut scratch, mut out) = (HashMap::new(), Scratch::default(), vec![0; 240]);
    for piece in plan.pieces() {
        let bytes = piece.key().and_then(|key| store.read(key, piece.span()).unwrap());
        match piece.chunk() {
            Some(number) => {
                let mut chunk = Vec::new();
                reader.decode(piece, bytes.as_deref(), &mut chunk, &mut scratch).unwrap();
                reader.place_decoded(&plan, piece, &chunk, &mut out).unwrap();
                chunks.insert(number, chunk);
            }
            None => reader.place(&plan, piece, None, &mut scratch, &mut out).unwrap(),
        }
    }
    assert_eq!(out, all(&tree, &reader).unwrap());
    // Of chunks without compression only what is needed is asked for.
    let plain = self::reader(&tree, "plain");
    let plan = plain.plan(&Slab { start: vec![1, 2], count: vec![1, 1] }).unwrap();
    assert_eq!(
        (plan.pieces()[0].key(), plan.pieces()[0].span()),
        (Some("plain/c/0/0"), &Span::Range(24..28))
    );
}

#[test]
fn threads_share_a_reader() {
    for (store, name) in [("v2.store", "blosc"), ("v3.store", "shards"), ("v3.store", "nested")] {
        let tree = open(objects(store)).unwrap();
        let reader = reader(&tree, name);
        let whole = all(&tree, &reader).unwrap();
        let mut out = vec![0; whole.len()];
        let mut rest = out.as_mut_slice();
        std::thread::scope(|scope| {
            for (slab, range) in reader.bands(&Slab::all(&reader.array().shape), 4) {
                let (own, behind) = std::mem::take(&mut rest).split_at_mut(range.len());
                rest = behind;
                let (tree, reader) = (&tree, &reader);
                scope.spawn(move || tree.read_slab(reader, &slab, own).unwrap());
            }
        });
        assert!(out == whole, "{name}");
    }
}
