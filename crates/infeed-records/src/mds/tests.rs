use super::*;
use infeed_core::{Bytes, Dtype, Value};
use proptest::prelude::*;

const INDEX: &str = r#"{"version": 2, "shards": [{"format": "mds", "samples": 2, "compression": "zstd:3", "hashes": ["sha1"],
    "column_names": ["a", "b"], "column_encodings": ["int", "str"], "column_sizes": [8, null], "size_limit": 1,
    "raw_data": {"basename": "shard.00000.mds", "bytes": 60, "hashes": {"sha1": "00"}},
    "zip_data": {"basename": "shard.00000.mds.zstd", "bytes": 50, "hashes": {}}}]}"#;

#[test]
fn indices_are_read_and_checked() {
    let shards = parse(INDEX).unwrap();
    assert_eq!((shards[0].samples, shards[0].columns.len()), (2, 2));
    assert_eq!(shards[0].zip.as_ref().unwrap().1, "zstd");
    assert_eq!(shards[0].raw.hashes["sha1"], "00");
    for (from, to, what) in [
        ("\"version\": 2", "\"version\": 3", "version 2 is read"),
        ("\"mds\"", "\"csv\"", "format `csv`"),
        ("[8, null]", "[4, null]", "cannot have 4 bytes"),
        ("[8, null]", "[8]", "different numbers of columns"),
        ("\"shard.00000.mds\"", "\"../x\"", "outside the folder"),
        ("\"samples\"", "\"sample\"", "samples"),
    ] {
        let error = parse(&INDEX.replace(from, to)).unwrap_err().to_string();
        assert!(error.contains(what), "{error}");
    }
}

#[test]
fn arrays_of_every_form() {
    let made =
        |text: &str, bytes: &[u8]| decode(&Bytes::copy_from_slice(bytes), &Encoding::parse(text).unwrap());
    let shape = |value: Value| match value {
        Value::Tensor(t) => (t.dtype, t.shape, t.data.len()),
        other => panic!("{other:?}"),
    };
    assert_eq!(shape(made("ndarray:int16:2,1", &[1, 0, 2, 0]).unwrap()), (Dtype::I16, vec![2, 1], 4));
    assert_eq!(shape(made("ndarray:int16", &[1 << 2, 2, 1, 0, 2, 0]).unwrap()), (Dtype::I16, vec![2], 4));
    assert_eq!(shape(made("ndarray", &[8, (1 << 2) | 1, 3, 0, 1, 2, 3]).unwrap()), (Dtype::U8, vec![3], 3));
    assert_eq!(shape(made("int", &7i64.to_le_bytes()).unwrap()), (Dtype::I64, vec![], 8));
    assert_eq!(shape(made("str_int", b"-12").unwrap()), (Dtype::I64, vec![], 8));
    assert!(made("ndarray", &[8, 255]).is_err());
    assert!(made("ndarray", &[7, 4, 1, 1]).unwrap_err().to_string().contains("no element type"));
    assert!(made("ndarray:int16", &[1 << 2, 200, 1]).is_err());
    assert!(made("json", b"{").is_err());
    assert!(made("str", b"\xff").is_err());
    assert_eq!(Encoding::parse("ndarray:bool"), None);
    assert_eq!(Encoding::parse("video"), None);
}

#[test]
fn tables_of_samples_are_checked() {
    let head = |numbers: &[u32]| numbers.iter().flat_map(|n| n.to_le_bytes()).collect::<Vec<u8>>();
    assert_eq!(samples(&head(&[2, 16, 20, 30]), 30).unwrap(), (16, vec![4, 10]));
    for wrong in [&[2, 16, 20, 31][..], &[2, 16, 20, 19], &[2, 15, 20, 30], &[2, 16, 20], &[u32::MAX, 1], &[]]
    {
        assert!(samples(&head(wrong), 30).is_err(), "{wrong:?}");
    }
}

#[test]
fn columns_fill_their_sample() {
    let all = &parse(INDEX).unwrap()[0].columns;
    let mut found = vec![];
    let sample = [&3u32.to_le_bytes()[..], &7u64.to_le_bytes(), b"abc"].concat();
    columns(&sample, all, &mut found).unwrap();
    assert_eq!(found, [4..12, 12..15]);
    assert!(columns(&sample[..14], all, &mut found).unwrap_err().to_string().contains("cut off"));
    assert!(columns(&[&sample[..], b"x"].concat(), all, &mut found).is_err());
    assert!(columns(b"", all, &mut found).is_err());
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(data in prop::collection::vec(prop_oneof![0u8..20, any::<u8>()], 0..80)) {
        fuzz_mds(&data);
    }
}

#[test]
fn an_empty_shard_begins_inside_itself() {
    let table = |start: u32| [0u32.to_le_bytes(), start.to_le_bytes()].concat();
    assert_eq!(samples(&table(8), 8).unwrap(), (8, vec![]));
    assert!(samples(&table(18), 8).unwrap_err().to_string().contains("byte 18 of a shard of 8"));
}
