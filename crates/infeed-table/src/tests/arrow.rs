//! Arrow files and streams, Avro headers.

use super::*;
use arrow_array::{DictionaryArray, Int64Array, StringArray, types::Int32Type};
use arrow_ipc::{
    CompressionType,
    writer::{FileWriter, IpcWriteOptions, StreamWriter},
};
use serde_json::json;
use std::fs;

fn batch(from: i64) -> RecordBatch {
    let ints: Int64Array = (from..from + 10).collect();
    let texts: StringArray = (from..from + 10).map(|i| Some(format!("t{i}"))).collect();
    let kinds: DictionaryArray<Int32Type> = (0..10).map(|i| Some(["a", "b"][i % 2])).collect();
    let columns: [(&str, ArrayRef, bool); 3] =
        [("x", Arc::new(ints), true), ("t", Arc::new(texts), true), ("k", Arc::new(kinds), true)];
    RecordBatch::try_from_iter_with_nullable(columns).unwrap()
}

fn open_arrow(path: &Path, args: Json) -> Result<TableSource> {
    opened("arrow", &[path.display().to_string()], &args)
}

fn stream(path: &Path, count: i64, compression: Option<CompressionType>) {
    let options = IpcWriteOptions::default().try_with_compression(compression).unwrap();
    let file = File::create(path).unwrap();
    let mut out = StreamWriter::try_new_with_options(file, &batch(0).schema(), options).unwrap();
    (0..count).for_each(|i| out.write(&batch(i * 10)).unwrap());
    out.finish().unwrap();
}

#[test]
fn files_and_streams_of_every_codec() {
    let folder = tempfile::tempdir().unwrap();
    for (case, compression) in
        [None, Some(CompressionType::LZ4_FRAME), Some(CompressionType::ZSTD)].into_iter().enumerate()
    {
        let path = folder.path().join(format!("{case}.arrows"));
        stream(&path, 3, compression);
        let file = folder.path().join(format!("{case}.arrow"));
        let options = IpcWriteOptions::default().try_with_compression(compression).unwrap();
        let mut out =
            FileWriter::try_new_with_options(File::create(&file).unwrap(), &batch(0).schema(), options)
                .unwrap();
        (0..3).for_each(|i| out.write(&batch(i * 10)).unwrap());
        out.finish().unwrap();
        for path in [path, file] {
            for read in ["mmap", "pread"] {
                let source = open_arrow(&path, json!({"read": read})).unwrap();
                assert_eq!(source.block_rows(), [10, 10, 10]);
                let want: Vec<String> = (0..30).map(|i| i.to_string()).collect();
                assert_eq!(all(&source, "x"), want);
                assert_eq!(all(&source, "t")[29], "t29");
                assert_eq!(all(&source, "k")[..3], ["a", "b", "a"]);
                let one =
                    open_arrow(&path, json!({"columns": ["t"], "where": "x == 17", "read": read})).unwrap();
                assert_eq!((all(&one, "t"), one.key(0)), (vec!["t17".to_owned()], "17".to_owned()));
            }
        }
    }
}

#[test]
fn damaged_streams() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.arrow");
    stream(&path, 3, Some(CompressionType::ZSTD));
    let bytes = fs::read(&path).unwrap();
    for at in 0..bytes.len() {
        for value in [0, 0x7f, 0xff] {
            let mut bytes = bytes.clone();
            bytes[at] = value;
            fs::write(&path, bytes).unwrap();
            if let Ok(source) = open_arrow(&path, json!({})) {
                let rows: Vec<u64> = (0..source.rows().min(30)).collect();
                let fields: Vec<Arc<str>> = source.spec().fields.iter().map(|f| f.0.clone()).collect();
                let _ = source.fetch(&rows, &fields);
            }
        }
    }
    for cut in [bytes.len() - 20, bytes.len() / 2, 100, 3] {
        fs::write(&path, &bytes[..cut]).unwrap();
        let error = open_arrow(&path, json!({})).unwrap_err().to_string();
        assert!(error.contains("a.arrow") && error.contains("byte"), "{error}");
    }
    fs::write(&path, b"PAR1 and more").unwrap();
    assert!(open_arrow(&path, json!({})).unwrap_err().to_string().contains("infeed.parquet"));
}

#[test]
fn avro_blocks_are_walked_and_checked() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.avro");
    // Written by hand from the format's description: long and string, two blocks.
    let zigzag = |n: i64| -> Vec<u8> {
        let mut rest = ((n << 1) ^ (n >> 63)) as u64;
        let mut out = vec![];
        while rest > 127 {
            out.push(rest as u8 | 128);
            rest >>= 7;
        }
        out.push(rest as u8);
        out
    };
    let text = |text: &str| [zigzag(text.len() as i64), text.as_bytes().to_vec()].concat();
    let schema =
        r#"{"type":"record","name":"r","fields":[{"name":"x","type":"long"},{"name":"t","type":"string"}]}"#;
    let sync = [7u8; 16];
    let mut bytes = b"Obj\x01".to_vec();
    bytes.extend([zigzag(1), text("avro.schema"), text(schema), zigzag(0)].concat());
    bytes.extend(sync);
    for block in [vec![(1, "a"), (-2, "bb")], vec![(300, "")]] {
        let rows: Vec<u8> = block.iter().flat_map(|(x, t)| [zigzag(*x), text(t)].concat()).collect();
        bytes.extend([zigzag(block.len() as i64), zigzag(rows.len() as i64), rows, sync.to_vec()].concat());
    }
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
