use super::*;
use bytes::Bytes;
use proptest::prelude::*;
use std::{fs, io::Read};

type Sample = (String, Vec<(String, Vec<u8>)>);

fn pack(samples: &[Sample]) -> Vec<u8> {
    let mut tar = TarWriter::new(Vec::new(), "test.tar");
    for (key, fields) in samples {
        let fields: Vec<(&str, &[u8])> = fields.iter().map(|(n, b)| (n.as_str(), b.as_slice())).collect();
        tar.write(key, &fields).unwrap();
    }
    tar.finish().unwrap()
}

fn members(bytes: &[u8]) -> Vec<(String, Vec<u8>)> {
    let mut archive = ::tar::Archive::new(bytes);
    let entries = archive.entries().unwrap().map(|entry| {
        let mut entry = entry.unwrap();
        assert_eq!(entry.header().mode().unwrap(), 0o444);
        assert_eq!(entry.header().uid().unwrap(), 0);
        let name = String::from_utf8(entry.path_bytes().into_owned()).unwrap();
        let mut data = Vec::new();
        entry.read_to_end(&mut data).unwrap();
        (name, data)
    });
    entries.collect()
}

#[test]
fn another_reader_agrees() {
    let long = "x".repeat(150);
    let deep = format!("{}/{}", "d".repeat(120), "b".repeat(80));
    let samples: Vec<Sample> = ["a", "dir/b", &long, &deep, "grüße"]
        .iter()
        .map(|key| {
            ((*key).to_owned(), vec![("jpg".to_owned(), vec![7; 700]), ("cls".to_owned(), b"3".to_vec())])
        })
        .collect();
    let bytes = pack(&samples);
    let names: Vec<String> = members(&bytes).into_iter().map(|(name, _)| name).collect();
    let wanted: Vec<String> =
        samples.iter().flat_map(|(k, _)| [format!("{k}.cls"), format!("{k}.jpg")]).collect();
    assert_eq!(names, wanted);
    // Plain names need one header: 2 fields, 512 bytes each, 512 and 1024 bytes of data.
    assert_eq!(pack(&samples[..1]).len(), 2 * 512 + 512 + 1024 + 1024);
    assert_eq!(pack(&samples), bytes);
}

#[test]
fn what_could_not_be_read_back_is_refused() {
    let mut tar = TarWriter::new(Vec::new(), "test.tar");
    let mut refused = |key: &str, fields: &[(&str, &[u8])], why: &str| {
        let message = tar.write(key, fields).unwrap_err().to_string();
        assert!(message.contains(why), "{message}");
    };
    let one: &[(&str, &[u8])] = &[("x", b"")];
    refused("", one, "is empty");
    refused("a/", one, "ends in a slash");
    refused("img.001", one, "would be read as `img`");
    refused("a\0", one, "zero byte");
    refused("__notes__/a", one, "readers skip");
    refused("a", &[], "no fields");
    refused("a", &[("", b"")], "is empty");
    refused("a", &[("x/y", b"")], "slash");
    refused("a", &[("JPG", b"")], "upper-case");
    refused("a", &[("__key__", b"")], "starts with `__`");
    refused("a", &[("x", b""), ("x", b"")], "twice");
    tar.write("a.b/c", &[("seg.png", b"1")]).unwrap();
    assert!(tar.write("a.b/c", one).unwrap_err().to_string().contains("twice in a row"));
    assert_eq!(members(&tar.finish().unwrap()), [("a.b/c.seg.png".to_owned(), b"1".to_vec())]);
}

#[test]
fn a_failed_write_ends_the_archive() {
    #[derive(Debug)]
    struct Broken;
    impl std::io::Write for Broken {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::Error::other("disk full"))
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut tar = TarWriter::new(Broken, "full.tar");
    let message = tar.write("a", &[("x", b"1")]).unwrap_err().to_string();
    assert!(message.contains("cannot write `full.tar`: disk full"), "{message}");
    assert!(tar.write("b", &[("x", b"1")]).is_err());
    assert!(tar.finish().is_err());
}

#[test]
fn shards_roll_over() {
    let dir = tempfile::tempdir().unwrap();
    let pattern = format!("{}/sub/t-%03d.tar", dir.path().display());
    let seen = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let log = std::sync::Arc::clone(&seen);
    let mut writer = ShardWriter::new(ShardOptions { maxcount: 2, start: 7, ..ShardOptions::new(pattern) })
        .unwrap()
        .after_each(move |shard| {
            log.lock().unwrap().push((fs::metadata(&shard.name).unwrap().len(), shard.clone()));
            Ok(())
        });
    for i in 0..5 {
        writer.write(&format!("{i:06}"), &[("txt", b"hello")]).unwrap();
    }
    let done = writer.finish().unwrap();
    assert_eq!(done.iter().map(|w| w.rows).collect::<Vec<_>>(), [2, 2, 1]);
    assert!(done[0].name.ends_with("sub/t-007.tar") && done[2].name.ends_with("t-009.tar"));
    for (size, shard) in seen.lock().unwrap().iter() {
        assert_eq!(*size, shard.bytes);
    }
    assert_eq!(fs::read_dir(dir.path().join("sub")).unwrap().count(), 3);
    assert_eq!(members(&fs::read(&done[2].name).unwrap()), [("000004.txt".to_owned(), b"hello".to_vec())]);
}

#[test]
fn shards_keep_below_their_size() {
    let dir = tempfile::tempdir().unwrap();
    let pattern = format!("{}/{{:02}}.tar", dir.path().display());
    let mut writer = ShardWriter::new(ShardOptions { maxsize: 5_000, ..ShardOptions::new(pattern) }).unwrap();
    for i in 0..4 {
        writer.write(&format!("k{i}"), &[("bin", &[0; 2000])]).unwrap();
    }
    writer.write("large", &[("bin", &[0; 9000])]).unwrap();
    let done = writer.finish().unwrap();
    assert_eq!(done.iter().map(|w| w.rows).collect::<Vec<_>>(), [1, 1, 1, 1, 1]);
    assert!(done[0].name.ends_with("/00.tar"));
}

#[test]
fn an_unfinished_shard_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let pattern = format!("{}/t-%d.tar", dir.path().display());
    let mut writer = ShardWriter::new(ShardOptions::new(&*pattern)).unwrap();
    writer.write("a", &[("x", b"1")]).unwrap();
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    drop(writer);
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    let mut refusing = ShardWriter::new(ShardOptions::new(&*pattern)).unwrap();
    assert!(refusing.write("a.b", &[("x", b"1")]).is_err());
    assert!(refusing.finish().unwrap().is_empty());
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn patterns_need_one_number() {
    for pattern in ["train.tar", "a-%d-%d.tar", "a-%5d.tar", "{x}.tar"] {
        assert!(ShardWriter::new(ShardOptions::new(pattern)).is_err(), "{pattern}");
    }
    let zero = ShardOptions { maxcount: 0, ..ShardOptions::new("%d.tar") };
    assert!(ShardWriter::new(zero).is_err());
}

proptest! {
    /// Samples that are written and read back are unchanged.
    #[test]
    fn written_samples_are_read_back(
        raw in prop::collection::btree_map(
            "([a-z.]{1,5}/)?[a-zA-Z0-9_ü-]{1,140}",
            prop::collection::btree_map("[a-z0-9]{1,4}(\\.[a-z]{1,3})?", prop::collection::vec(any::<u8>(), 0..1500), 1..4),
            1..8,
        ),
    ) {
        use crate::format::{IndexCache, TarFormat};
        use infeed_core::{Format, StoreExt, Value};
        let samples: Vec<Sample> = raw.into_iter().map(|(k, f)| (k, f.into_iter().collect())).collect();
        let store: crate::store::MemoryStore = [("x.tar", Bytes::from(pack(&samples)))].into_iter().collect();
        let shard = store.stat_one("x.tar").unwrap();
        let format = TarFormat { lenient: false, cache: IndexCache::Off };
        let index = format.index(&store, &shard).unwrap();
        prop_assert_eq!(index.rows(), samples.len() as u64);
        let fields: Vec<std::sync::Arc<str>> = index.fields().into_iter().map(|(name, _)| name).collect();
        let rows: Vec<u64> = (0..index.rows()).rev().collect();
        let bytes = infeed_core::Store::read(&store, &shard, &index.ranges(&rows, &fields).unwrap()).unwrap();
        let records = index.cut(&rows, &fields, bytes).unwrap();
        for (row, record) in rows.iter().zip(records) {
            let (key, wanted) = &samples[*row as usize];
            prop_assert_eq!(&index.key(*row), key);
            let found = fields.iter().zip(&record.fields).filter_map(|(name, value)| match value {
                Value::Bytes(bytes) => Some((name.to_string(), bytes.to_vec())),
                _ => None,
            });
            prop_assert_eq!(&found.collect::<Vec<_>>(), wanted);
        }
    }
}
