//! Avro files, written by hand from the format's description.

use super::*;
use serde_json::json;
use std::{fs, io::Write};

fn zigzag(n: i64) -> Vec<u8> {
    let mut rest = ((n << 1) ^ (n >> 63)) as u64;
    let mut out = vec![];
    while rest > 127 {
        out.push(rest as u8 | 128);
        rest >>= 7;
    }
    out.push(rest as u8);
    out
}

fn text(text: &str) -> Vec<u8> {
    [zigzag(text.len() as i64), text.as_bytes().to_vec()].concat()
}

/// A file of blocks, each with the number of rows that it claims.
fn avro(schema: &str, codec: &str, blocks: &[(i64, Vec<u8>)]) -> Vec<u8> {
    let sync = [7u8; 16];
    let mut bytes = b"Obj\x01".to_vec();
    bytes.extend(
        [zigzag(2), text("avro.schema"), text(schema), text("avro.codec"), text(codec), zigzag(0)].concat(),
    );
    bytes.extend(sync);
    for (rows, data) in blocks {
        bytes.extend([zigzag(*rows), zigzag(data.len() as i64), data.clone(), sync.to_vec()].concat());
    }
    bytes
}

fn open_avro(folder: &Path, bytes: &[u8], args: Json) -> Result<TableSource> {
    let path = folder.join("a.avro");
    fs::write(&path, bytes).unwrap();
    opened("avro", &[path.display().to_string()], &args)
}

#[test]
fn avro_blocks_are_walked_and_checked() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.avro");
    // Long and string, two blocks.
    let schema =
        r#"{"type":"record","name":"r","fields":[{"name":"x","type":"long"},{"name":"t","type":"string"}]}"#;
    let rows = |rows: &[(i64, &str)]| -> (i64, Vec<u8>) {
        (rows.len() as i64, rows.iter().flat_map(|(x, t)| [zigzag(*x), text(t)].concat()).collect())
    };
    let bytes = avro(schema, "null", &[rows(&[(1, "a"), (-2, "bb")]), rows(&[(300, "")])]);
    fs::write(&path, &bytes).unwrap();
    let open = |args: Json| opened("avro", &[path.display().to_string()], &args);
    let source = open(json!({})).unwrap();
    assert_eq!(source.block_rows(), [2, 1]);
    assert_eq!(all(&source, "x"), ["1", "-2", "300"]);
    assert_eq!(all(&source, "t"), ["a", "bb", ""]);
    assert_eq!(all(&open(json!({"columns": ["t"]})).unwrap(), "t"), ["a", "bb", ""]);
    let mut wrong = bytes.clone();
    let last = wrong.len() - 1;
    wrong[last] = 8;
    fs::write(&path, wrong).unwrap();
    let error = open(json!({})).unwrap_err().to_string();
    assert!(error.contains("sync marker after block 1") && error.contains("a.avro"), "{error}");
    fs::write(&path, &bytes[..bytes.len() - 5]).unwrap();
    assert!(open(json!({})).unwrap_err().to_string().contains("cut off"));
    fs::write(&path, b"not avro").unwrap();
    assert!(open(json!({})).unwrap_err().to_string().contains("no Avro file"));
}

const LONG: &str = r#"{"type":"record","name":"r","fields":[{"name":"x","type":"long"}]}"#;

#[test]
fn bytes_behind_the_last_row_are_an_error() {
    let folder = tempfile::tempdir().unwrap();
    // Two rows where one is said to be; one of them half; many rows, more than the library takes at a time.
    let many: Vec<u8> = (0..100_000).flat_map(|_| zigzag(1)).collect();
    for (rows, data) in [(1, vec![2, 4]), (1, vec![2, 0x80]), (99_999, many.clone())] {
        let source = open_avro(folder.path(), &avro(LONG, "null", &[(rows, data)]), json!({})).unwrap();
        let error = fetch(&source, &[0], "x").unwrap_err().to_string();
        assert!(error.contains("behind the last") && error.contains("block 0 of"), "{error}");
    }
    let source = open_avro(folder.path(), &avro(LONG, "null", &[(100_000, many)]), json!({})).unwrap();
    assert_eq!(all(&source, "x").len(), 100_000);
}

#[test]
fn blocks_cannot_have_more_rows_than_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let error =
        open_avro(folder.path(), &avro(LONG, "null", &[(1_000_000, vec![2])]), json!({})).unwrap_err();
    assert!(error.to_string().contains("claims 1000000 rows and has 1 bytes"), "{error}");
    let error = open_avro(folder.path(), &avro(LONG, "null", &[(0, vec![2])]), json!({})).unwrap_err();
    assert!(error.to_string().contains("no rows"), "{error}");
    // What is compressed is seen when it is unpacked.
    let packed = zstd::encode_all(&[2u8][..], 3).unwrap();
    let source =
        open_avro(folder.path(), &avro(LONG, "zstandard", &[(100_000_000, packed)]), json!({})).unwrap();
    let error = fetch(&source, &[0], "x").unwrap_err().to_string();
    assert!(error.contains("claims 100000000 rows and has 1 bytes"), "{error}");
}

#[test]
fn counts_inside_of_rows_are_bounded() {
    let folder = tempfile::tempdir().unwrap();
    let lists =
        r#"{"type":"record","name":"r","fields":[{"name":"x","type":{"type":"array","items":"long"}}]}"#;
    let maps =
        r#"{"type":"record","name":"r","fields":[{"name":"x","type":{"type":"map","values":"null"}}]}"#;
    for schema in [lists, maps] {
        for count in [i64::MAX, i64::MIN, -5, 1 << 30] {
            let row = [zigzag(count), zigzag(i64::MAX), zigzag(0)].concat();
            let source = open_avro(folder.path(), &avro(schema, "null", &[(1, row)]), json!({})).unwrap();
            assert!(fetch(&source, &[0], "x").is_err(), "{count}");
        }
    }
    let nulls = lists.replace("long", "null");
    let error = open_avro(folder.path(), &avro(&nulls, "null", &[]), json!({})).unwrap_err();
    assert!(error.to_string().contains("without any bytes"), "{error}");
}

#[test]
fn every_changed_byte_ends() {
    let folder = tempfile::tempdir().unwrap();
    let schema = r#"{"type":"record","name":"r","fields":[{"name":"a","type":"long"},{"name":"s","type":"string"},
        {"name":"f","type":["null","double"]},{"name":"l","type":{"type":"array","items":"int"}}]}"#;
    let row = |n: i64| {
        let double = [zigzag(1), 1.5f64.to_le_bytes().to_vec()].concat();
        [zigzag(n), text("some text"), double, zigzag(2), zigzag(n), zigzag(5), zigzag(0)].concat()
    };
    let block: Vec<u8> = (0..20).flat_map(row).collect();
    let good = avro(schema, "null", &[(20, block.clone()), (20, block)]);
    let start = good.iter().position(|b| *b == 7).unwrap() + 16;
    for at in start..good.len() {
        for value in [0, 1, 0x7f, 0x80, 0xff] {
            let mut bytes = good.clone();
            bytes[at] = value;
            let Ok(source) = open_avro(folder.path(), &bytes, json!({})) else { continue };
            let rows: Vec<u64> = (0..source.rows().min(40)).collect();
            let _ = fetch(&source, &rows, "a");
        }
    }
}

#[test]
fn codecs_are_known_at_opening() {
    let folder = tempfile::tempdir().unwrap();
    let data: Vec<u8> = (0..1000).flat_map(zigzag).collect();
    let mut deflate = flate2::write::DeflateEncoder::new(vec![], flate2::Compression::fast());
    deflate.write_all(&data).unwrap();
    let mut snappy = snap::raw::Encoder::new().compress_vec(&data).unwrap();
    snappy.extend(crc32fast::hash(&data).to_be_bytes());
    let zstd = zstd::encode_all(&data[..], 3).unwrap();
    let want: Vec<String> = (0..1000).map(|n| n.to_string()).collect();
    for (codec, packed) in
        [("deflate", deflate.finish().unwrap()), ("snappy", snappy), ("zstandard", zstd), ("null", data)]
    {
        let source = open_avro(folder.path(), &avro(LONG, codec, &[(1000, packed)]), json!({})).unwrap();
        assert_eq!(all(&source, "x"), want);
    }
    for codec in ["bzip2", "xz", "lzma9"] {
        let error = open_avro(folder.path(), &avro(LONG, codec, &[(1, vec![2])]), json!({})).unwrap_err();
        assert!(error.to_string().contains(&format!("`{codec}`")), "{error}");
    }
}

#[test]
fn types_that_are_named() {
    let folder = tempfile::tempdir().unwrap();
    // The right side is of the type that the left one defines; names are written in full.
    let schema = r#"{"type":"record","name":"test.Pair","fields":[
        {"name":"left","type":{"type":"record","name":"test.Triple","fields":[
            {"name":"a","type":"string"},
            {"name":"k","type":{"type":"enum","name":"Kind","symbols":["ONE","TWO"]}}]}},
        {"name":"right","type":"Triple"},
        {"name":"kind","type":["null","test.Kind"]}]}"#;
    let row = [text("l"), zigzag(0), text("r"), zigzag(1), zigzag(1), zigzag(0)].concat();
    let bytes = avro(schema, "null", &[(1, row)]);
    let whole = open_avro(folder.path(), &bytes, json!({})).unwrap();
    assert_eq!(
        (all(&whole, "left.a"), all(&whole, "right.k")),
        (vec!["l".to_owned()], vec!["TWO".to_owned()])
    );
    for columns in [json!(["right"]), json!(["right", "kind"]), json!(["kind"]), json!(["left", "kind"])] {
        let source = open_avro(folder.path(), &bytes, json!({"columns": columns})).unwrap();
        for (field, _) in &source.spec().fields {
            assert_eq!(all(&source, field), all(&whole, field), "{columns} {field}");
        }
    }
}
