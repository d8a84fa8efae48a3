//! Arrow files and streams.

use super::*;
use arrow_array::{
    Array, DictionaryArray, Int32Array, Int64Array, StringArray, StructArray, UnionArray, types::Int32Type,
};
use arrow_ipc::{
    CompressionType,
    writer::{FileWriter, IpcWriteOptions, StreamWriter},
};
use arrow_schema::{DataType, Field as Column, Schema, UnionFields};
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

fn file_of(path: &Path, columns: Vec<(&str, ArrayRef)>) {
    let columns = columns.into_iter().map(|(name, array)| (name, array, true));
    let batch = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
    let mut out = FileWriter::try_new(File::create(path).unwrap(), &batch.schema()).unwrap();
    out.write(&batch).unwrap();
    out.finish().unwrap();
}

#[test]
fn numbers_in_the_other_order_of_bytes_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["a.arrow", "a.arrows"] {
        let path = folder.path().join(name);
        fs::write(&path, big_endian(name.ends_with("arrow"))).unwrap();
        let error = open_arrow(&path, json!({})).unwrap_err().to_string();
        assert!(error.contains("big-endian") && error.contains(name), "{error}");
    }
}

/// A file or a stream without columns, whose schema says that numbers are big-endian.
fn big_endian(is_file: bool) -> Vec<u8> {
    let mut builder = flatbuffers::FlatBufferBuilder::new();
    let mut schema = arrow_ipc::SchemaBuilder::new(&mut builder);
    schema.add_endianness(arrow_ipc::Endianness::Big);
    let schema = schema.finish();
    if is_file {
        let mut footer = arrow_ipc::FooterBuilder::new(&mut builder);
        footer.add_version(arrow_ipc::MetadataVersion::V5);
        footer.add_schema(schema);
        let footer = footer.finish();
        builder.finish(footer, None);
        let footer = builder.finished_data();
        let len = (footer.len() as u32).to_le_bytes();
        return [&b"ARROW1\0\0"[..], footer, &len, b"ARROW1"].concat();
    }
    let mut message = arrow_ipc::MessageBuilder::new(&mut builder);
    message.add_version(arrow_ipc::MetadataVersion::V5);
    message.add_header_type(arrow_ipc::MessageHeader::Schema);
    message.add_header(schema.as_union_value());
    let message = message.finish();
    builder.finish(message, None);
    let message = builder.finished_data();
    let len = (message.len() as u32).to_le_bytes();
    [&[0xff; 4][..], &len, message, &[0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0]].concat()
}

#[test]
fn structs_in_dictionaries_are_taken_apart() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.arrow");
    let ints: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), None, Some(3)]));
    let texts: ArrayRef = Arc::new(StringArray::from(vec!["a", "b", "c"]));
    let field = |name: &str, array: &ArrayRef| Arc::new(Column::new(name, array.data_type().clone(), true));
    let structs = StructArray::from(vec![(field("i", &ints), ints), (field("t", &texts), texts)]);
    let keys = Int32Array::from(vec![Some(2), None, Some(0), Some(1), Some(2)]);
    let array = DictionaryArray::<Int32Type>::try_new(keys, Arc::new(structs)).unwrap();
    file_of(&path, vec![("s", Arc::new(array))]);
    let source = open_arrow(&path, json!({})).unwrap();
    assert_eq!(all(&source, "s.i"), ["3", "missing", "1", "missing", "3"]);
    assert_eq!(all(&source, "s.t"), ["c", "missing", "a", "b", "c"]);
    assert_eq!(all(&open_arrow(&path, json!({"where": "s.t == 'b'"})).unwrap(), "s.t"), ["b"]);
}

#[test]
fn unions_are_json() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.arrow");
    let fields = UnionFields::try_new(
        [0, 1],
        [Column::new("i", DataType::Int64, true), Column::new("t", DataType::Utf8, true)],
    )
    .unwrap();
    let children: Vec<ArrayRef> =
        vec![Arc::new(Int64Array::from(vec![Some(5), None])), Arc::new(StringArray::from(vec!["x\"y"]))];
    let (ids, offsets) = (vec![0i8, 1, 0], vec![0i32, 0, 1]);
    let union = UnionArray::try_new(fields, ids.into(), Some(offsets.into()), children).unwrap();
    let ints: ArrayRef = Arc::new(Int64Array::from(vec![1, 2, 3]));
    file_of(&path, vec![("u", Arc::new(union)), ("x", ints)]);
    let source = open_arrow(&path, json!({})).unwrap();
    assert_eq!(all(&source, "u"), ["5", r#""x\"y""#, "null"]);
    assert_eq!(all(&open_arrow(&path, json!({"where": "x > 1"})).unwrap(), "u"), [r#""x\"y""#, "null"]);
}

#[test]
fn tables_without_columns_say_so() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.arrow");
    FileWriter::try_new(File::create(&path).unwrap(), &Schema::empty()).unwrap().finish().unwrap();
    assert!(open_arrow(&path, json!({})).unwrap_err().to_string().contains("has no columns"));
}
