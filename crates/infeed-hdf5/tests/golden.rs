//! Files that h5py and hdf5plugin wrote, against what they read of them. `golden/make.py` makes both.
#![allow(clippy::unwrap_used)]

mod common;

use bytes::Bytes;
use common::{Counting, FILES, all, crc32, golden, open};
use infeed_hdf5::{ChunkMap, Class, Error, File, Kind, Limits, Reader, Scalar, Slab, Value, trim};
use std::sync::{Arc, atomic::Ordering};

#[test]
fn every_data_set_is_what_h5py_reads() {
    let mut checked = 0;
    for line in std::str::from_utf8(&golden("sums.txt")).unwrap().lines() {
        let [name, path, sum] = line.split(' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let file = open(golden(name)).unwrap();
        let (path, field) = path.split_once('.').unwrap_or((path, ""));
        let reader = file.reader(file.dataset(path).unwrap(), field).unwrap();
        let mut bytes = all(&file, &reader).unwrap();
        let size = reader.datatype().size as usize;
        match &reader.datatype().class {
            Class::VarText => {
                bytes =
                    file.texts(&bytes).unwrap().iter().flat_map(|text| [&text[..], &[0]].concat()).collect();
            }
            Class::Text { padding } => {
                bytes = bytes.chunks(size).flat_map(|text| [trim(text, *padding), &[0]].concat()).collect();
            }
            _ => {}
        }
        assert_eq!(format!("{:08x}", crc32(&bytes)), sum, "{name}: {path} {field}");
        checked += 1;
    }
    assert_eq!(checked, 51);
}

#[test]
fn the_tree_with_its_links() {
    for name in FILES {
        let file = open(golden(name)).unwrap();
        let entries = file.list().unwrap();
        let kind = |path: &str| &entries.iter().find(|entry| entry.path == path).unwrap().kind;
        assert_eq!(kind("/deep"), &Kind::Group);
        assert_eq!(kind("/deep/er/bool"), &Kind::Dataset);
        assert_eq!(kind("/soft"), &Kind::Soft("/deep/er/bool".to_owned()));
        assert_eq!(kind("/outside"), &Kind::External { file: "other.h5".to_owned(), path: "/x".to_owned() });
        assert_eq!(file.dataset("soft").unwrap().datatype.scalar(), Some(Scalar::Bool));
        assert!(file.dataset("outside").unwrap_err().to_string().contains("/x of other.h5"));
        assert!(file.dataset("nowhere").unwrap_err().to_string().contains("there are: bits, blosc"));
        assert!(file.dataset("deep").unwrap_err().to_string().contains("deep is not a data set"));
        let dataset = file.dataset("references").unwrap();
        let refused = file.reader(dataset, "").unwrap_err();
        assert!(matches!(refused.cause(), Error::Unsupported(what) if what.contains("references")));
        let refused = file.reader(file.dataset("record").unwrap(), "z").unwrap_err().to_string();
        assert!(refused.contains("no field `z`, only a, b, c"), "{refused}");
    }
}

#[test]
fn shapes_chunks_and_attributes() {
    for name in FILES {
        let file = open(golden(name)).unwrap();
        let growing = file.dataset("growing").unwrap();
        assert_eq!(growing.space.shape, [10, 6]);
        assert_eq!(growing.space.max, [None, Some(6)]);
        assert_eq!(growing.chunk(), Some(&[3, 6][..]));
        assert_eq!(file.dataset("sparse").unwrap().fill.as_deref(), Some(&1.5f32.to_le_bytes()[..]));
        let tree = file.dataset("tree").unwrap();
        let filters: Vec<u16> = tree.pipeline.filters.iter().map(|filter| filter.id).collect();
        assert_eq!(filters, [2, 1, 3]);
        let values: Vec<(String, Value)> = file
            .attributes("tree")
            .unwrap()
            .iter()
            .map(|attribute| (attribute.name.clone(), file.value(attribute).unwrap()))
            .collect();
        let value = |name: &str| &values.iter().find(|(own, _)| own == name).unwrap().1;
        assert_eq!(value("scale_factor"), &Value::Floats(vec![0.5]));
        assert_eq!(value("units"), &Value::Texts(vec!["K".to_owned()]));
        assert_eq!(value("range"), &Value::Integers(vec![-1, 200]));
        // What netCDF keeps: for each axis the objects that name it.
        let rows =
            file.list().unwrap().into_iter().find(|entry| entry.path == "/rows").unwrap().address.unwrap();
        assert_eq!(value("DIMENSION_LIST"), &Value::Objects(vec![vec![rows], vec![]]));
    }
}

#[test]
fn a_small_file_costs_one_read_of_metadata() {
    for name in FILES {
        let source = Arc::new(Counting(Bytes::from(golden(name)), 0.into()));
        let file =
            File::open(Arc::clone(&source) as Arc<dyn infeed_hdf5::ByteSource>, Limits::small()).unwrap();
        for entry in file.list().unwrap() {
            file.attributes(&entry.path).ok();
            if entry.kind == Kind::Dataset && entry.path != "/references" {
                file.reader(file.dataset(&entry.path).unwrap(), "").unwrap();
            }
        }
        assert_eq!(source.1.load(Ordering::Relaxed), 1, "{name}");
    }
}

#[test]
fn slabs_are_parts_of_the_whole() {
    for name in FILES {
        let file = open(golden(name)).unwrap();
        for path in ["tree", "growing", "both", "one", "blosc2", "sparse", "plain"] {
            let reader = file.reader(file.dataset(path).unwrap(), "").unwrap();
            let (whole, size) = (all(&file, &reader).unwrap(), reader.datatype().size as usize);
            for (start, count) in
                [([0, 0], [1, 1]), ([3, 2], [5, 3]), ([9, 5], [1, 1]), ([2, 0], [8, 6]), ([0, 4], [10, 1])]
            {
                let slab = Slab { start: start.to_vec(), count: count.to_vec() };
                let mut out = vec![0; reader.bytes(&slab).unwrap()];
                file.read_slab(&reader, &slab, &mut out).unwrap();
                let rows = start[0]..start[0] + count[0];
                let row = |y: u64| {
                    ((y * 6 + start[1]) as usize * size)..((y * 6 + start[1] + count[1]) as usize * size)
                };
                let wanted: Vec<u8> = rows.flat_map(|y| whole[row(y)].to_vec()).collect();
                assert_eq!(out, wanted, "{name}: {path} {slab:?}");
            }
            let outside = Slab { start: vec![5, 0], count: vec![6, 6] };
            assert!(
                reader.plan(&outside).unwrap_err().to_string().contains("not inside of the shape [10, 6]")
            );
            assert!(reader.plan(&Slab { start: vec![0], count: vec![1] }).is_err());
            assert!(file.read_slab(&reader, &Slab::all(&[10, 6]), &mut whole.clone()[1..]).is_err());
        }
    }
}

#[test]
fn threads_fill_bands_without_a_lock() {
    let file = open(golden("latest.h5")).unwrap();
    for path in ["tree", "growing", "one", "plain"] {
        let reader = file.reader(file.dataset(path).unwrap(), "").unwrap();
        let whole = all(&file, &reader).unwrap();
        let mut out = vec![0; whole.len()];
        let mut rest = out.as_mut_slice();
        std::thread::scope(|scope| {
            for (slab, range) in reader.bands(&Slab::all(&[10, 6]), 3) {
                let (own, behind) = std::mem::take(&mut rest).split_at_mut(range.len());
                rest = behind;
                let (file, reader) = (&file, &reader);
                scope.spawn(move || file.read_slab(reader, &slab, own).unwrap());
            }
        });
        assert!(out == whole, "{path}");
    }
}

#[test]
fn a_saved_chunk_map_is_as_good_as_the_index() {
    for name in FILES {
        let file = open(golden(name)).unwrap();
        for path in ["tree", "growing", "both", "one", "sparse"] {
            let dataset = file.dataset(path).unwrap();
            let reader = file.reader(dataset.clone(), "").unwrap();
            let saved = reader.map().unwrap().to_bytes(file.size());
            let map = ChunkMap::from_bytes(&saved, file.size()).unwrap();
            assert_eq!(Some(&map), reader.map());
            let again = Reader::new(&file, dataset, "", Some(map.clone())).unwrap();
            assert_eq!(all(&file, &again).unwrap(), all(&file, &reader).unwrap());
            assert!(
                ChunkMap::from_bytes(&saved, file.size() - 1)
                    .unwrap_err()
                    .to_string()
                    .contains("another length")
            );
            for at in 0..saved.len() {
                assert!(ChunkMap::from_bytes(&saved[..at], file.size()).is_err());
                let mut changed = saved.clone();
                changed[at] ^= 1 << (at % 8);
                assert!(ChunkMap::from_bytes(&changed, file.size()).is_err(), "{name} {path} byte {at}");
            }
            let other = file.dataset("lz4").unwrap();
            assert!(
                Reader::new(&file, other, "", Some(map))
                    .unwrap_err()
                    .to_string()
                    .contains("another data set")
            );
        }
    }
}

#[test]
fn missing_chunks_take_the_fill_value_and_no_bytes() {
    let file = open(golden("latest.h5")).unwrap();
    let reader = file.reader(file.dataset("sparse").unwrap(), "").unwrap();
    let map = reader.map().unwrap();
    assert_eq!((map.grid(), map.stored()), (&[5, 2][..], 2));
    assert!(map.get(&[0, 0]).is_none() && map.get(&[2, 1]).is_some());
    let plan = reader.plan(&Slab::rows(&[10, 6], 3..6)).unwrap();
    let ranges: Vec<bool> = plan.pieces().iter().map(|piece| piece.range().is_some()).collect();
    assert_eq!(ranges, [false, false, true, true]);
}
