//! Parquet files as other programs write them.

use super::*;
use ::parquet::{
    basic::Compression,
    data_type::{ByteArray, ByteArrayType, Int32Type, Int64Type, Int96, Int96Type},
    file::{
        metadata::{
            FileMetaData, ParquetMetaData, ParquetMetaDataBuilder, ParquetMetaDataReader,
            ParquetMetaDataWriter,
        },
        properties::{EnabledStatistics, WriterPropertiesBuilder, WriterVersion},
        writer::SerializedFileWriter,
    },
    schema::parser::parse_message_type,
};
use arrow_array::{Float64Array, Int64Array};
use serde_json::json;
use std::fs;

/// A file that is written column by column.
fn written(
    path: &Path,
    schema: &str,
    properties: WriterPropertiesBuilder,
    columns: &[&dyn Fn(&mut ::parquet::file::writer::SerializedColumnWriter<'_>)],
) -> String {
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let mut out =
        SerializedFileWriter::new(File::create(path).unwrap(), schema, Arc::new(properties.build())).unwrap();
    let mut group = out.next_row_group().unwrap();
    for write in columns {
        let mut column = group.next_column().unwrap().unwrap();
        write(&mut column);
        column.close().unwrap();
    }
    group.close().unwrap();
    out.close().unwrap();
    path.display().to_string()
}

/// The same file with another footer.
fn changed(path: &str, change: impl FnOnce(ParquetMetaData) -> ParquetMetaData) {
    let bytes = fs::read(path).unwrap();
    let tail = bytes.len() - 8;
    let len = u32::from_le_bytes(bytes[tail..tail + 4].try_into().unwrap()) as usize;
    let meta = ParquetMetaDataReader::decode_metadata(&bytes[tail - len..tail]).unwrap();
    let mut out = bytes[..tail - len].to_vec();
    ParquetMetaDataWriter::new(&mut out, &change(meta)).finish().unwrap();
    fs::write(path, out).unwrap();
}

#[test]
fn repeated_columns_without_a_note_are_lists() {
    let folder = tempfile::tempdir().unwrap();
    let path = written(
        &folder.path().join("t.parquet"),
        "message user { required int32 id; repeated int32 n; optional group phones { repeated group phone {
            required int64 number; optional binary kind (UTF8); } } }",
        WriterProperties::builder(),
        &[
            &|c| _ = c.typed::<Int32Type>().write_batch(&[1, 2, 3], None, None).unwrap(),
            &|c| {
                _ = c
                    .typed::<Int32Type>()
                    .write_batch(&[7, 8, 9], Some(&[1, 1, 0, 1]), Some(&[0, 1, 0, 0]))
                    .unwrap()
            },
            &|c| _ = c.typed::<Int64Type>().write_batch(&[555], Some(&[0, 1, 2]), Some(&[0, 0, 0])).unwrap(),
            &|c| {
                let home = [ByteArray::from("home")];
                _ = c
                    .typed::<ByteArrayType>()
                    .write_batch(&home, Some(&[0, 1, 3]), Some(&[0, 0, 0]))
                    .unwrap();
            },
        ],
    );
    let check = || {
        let source = open(&path, json!({})).unwrap();
        assert_eq!(all(&source, "id"), ["1", "2", "3"]);
        assert_eq!(all(&source, "n"), ["[7 8]", "[]", "[9]"]);
        assert_eq!(all(&source, "phones.phone"), ["missing", "[]", r#"[{"number":555,"kind":"home"}]"#]);
    };
    check();
    // Old writers leave the number of all rows at zero.
    changed(&path, |meta| {
        let about = meta.file_metadata();
        let about = FileMetaData::new(about.version(), 0, None, None, about.schema_descr_ptr(), None);
        ParquetMetaDataBuilder::new(about).set_row_groups(meta.row_groups().to_vec()).build()
    });
    check();
}

#[test]
fn a_dictionary_at_byte_zero_is_none() {
    let folder = tempfile::tempdir().unwrap();
    let path = written(
        &folder.path().join("t.parquet"),
        "message m { required int32 x; }",
        WriterProperties::builder().set_dictionary_enabled(false),
        &[&|c| _ = c.typed::<Int32Type>().write_batch(&[5, 6, 7], None, None).unwrap()],
    );
    changed(&path, |meta| {
        let group = meta.row_group(0).clone();
        let column =
            group.column(0).clone().into_builder().set_dictionary_page_offset(Some(0)).build().unwrap();
        let group = group.into_builder().set_column_metadata(vec![column]).build().unwrap();
        meta.into_builder().set_row_groups(vec![group]).build()
    });
    assert_eq!(all(&open(&path, json!({})).unwrap(), "x"), ["5", "6", "7"]);
}

#[test]
fn pages_that_were_not_worth_compressing() {
    let folder = tempfile::tempdir().unwrap();
    // What does not become smaller is left as it is in pages of version 2.
    let floats: Vec<Option<f64>> =
        (0..1000).map(|i| if i % 7 == 0 { None } else { Some(f64::from(i).sin()) }).collect();
    let ints: Vec<i64> = (0..1000).map(|i| i / 100).collect();
    let batch = RecordBatch::try_from_iter_with_nullable([
        ("f", Arc::new(Float64Array::from(floats.clone())) as ArrayRef, true),
        ("i", Arc::new(Int64Array::from(ints.clone())) as ArrayRef, true),
    ])
    .unwrap();
    for dictionary in [false, true] {
        let path = folder.path().join(format!("{dictionary}.parquet"));
        let properties = WriterProperties::builder()
            .set_writer_version(WriterVersion::PARQUET_2_0)
            .set_compression(Compression::SNAPPY)
            .set_dictionary_enabled(dictionary)
            .set_data_page_row_count_limit(300)
            .set_write_batch_size(100)
            .build();
        let mut out =
            ArrowWriter::try_new(File::create(&path).unwrap(), batch.schema(), Some(properties)).unwrap();
        out.write(&batch).unwrap();
        out.close().unwrap();
        let source = open(&path.display().to_string(), json!({"columns": ["f", "i"]})).unwrap();
        let want: Vec<String> = floats.iter().map(|f| f.unwrap_or(f64::NAN).to_string()).collect();
        assert_eq!(all(&source, "f"), want);
        assert_eq!(all(&source, "i"), ints.iter().map(i64::to_string).collect::<Vec<_>>());
    }
}

#[test]
fn encrypted_files_are_called_so() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.parquet");
    // With its footer, or with columns alone: the eighth field of the footer says how.
    let columns = [0x15, 2, 0x19, 0x1c, 0x48, 1, b'r', 0, 0x16, 0, 0x19, 0x0c, 0x4c, 0, 0];
    let signed = |end: u8| [&columns[..], &[7; 27], &[end]].concat();
    for (footer, magic) in [(vec![1; 40], b"PARE"), (signed(0), b"PAR1"), (signed(9), b"PAR1")] {
        let len = (footer.len() as u32).to_le_bytes();
        fs::write(&path, [&magic[..], &footer, &len, &magic[..]].concat()).unwrap();
        let found = open(&path.display().to_string(), json!({})).map(|_| ());
        let error = found.unwrap_err().to_string();
        assert!(error.contains("is encrypted") && !error.contains("damaged"), "{error}");
    }
}

#[test]
fn times_of_96_bits_fit_or_are_bad_rows() {
    let folder = tempfile::tempdir().unwrap();
    let time = |day: u32, nanos: u64| {
        let mut time = Int96::new();
        time.set_data(nanos as u32, (nanos >> 32) as u32, day);
        time
    };
    // The days of 1970-01-01, of the day after, of the year 9999, and of one before 1677.
    let times = [time(2_440_588, 5), time(2_440_589, 0), time(5_373_484, 0), time(2_000_000, 0)];
    let path = written(
        &folder.path().join("t.parquet"),
        "message m { required int96 t; required int32 x; }",
        WriterProperties::builder().set_statistics_enabled(EnabledStatistics::Chunk),
        &[&|c| _ = c.typed::<Int96Type>().write_batch(&times, None, None).unwrap(), &|c| {
            _ = c.typed::<Int32Type>().write_batch(&[0, 1, 2, 3], None, None).unwrap()
        }],
    );
    let source = open(&path, json!({})).unwrap();
    let got: Vec<String> = fetch(&source, &[0, 1], "t").unwrap().iter().map(words).collect();
    assert_eq!(got, ["5", "86400000000000"]);
    for row in [2, 3] {
        let error = fetch(&source, &[row], "t").unwrap_err().to_string();
        assert!(error.contains("column `t`") && error.contains("1677 to 2262"), "{error}");
    }
    // Other columns of those rows are not touched by it.
    assert_eq!(all(&source, "x"), ["0", "1", "2", "3"]);
    let error = open(&path, json!({"where": "t > 10"})).unwrap_err().to_string();
    assert!(error.contains("1677 to 2262"), "{error}");
    assert_eq!(all(&open(&path, json!({"where": "x > 1", "columns": ["x"]})).unwrap(), "x"), ["2", "3"]);
}

#[test]
fn row_groups_beyond_the_memory_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    // A few hundred bytes that stand for eight megabytes, and for as many texts.
    let same: ArrayRef = Arc::new(Int64Array::from(vec![7; 1_000_000]));
    let texts: ArrayRef = Arc::new(arrow_array::StringArray::from(vec!["the same text"; 1_000_000]));
    let path = parquet(&folder.path().join("t.parquet"), vec![("x", same), ("t", texts)], 2_000_000);
    assert!(fs::metadata(&path).unwrap().len() < 100_000);
    for field in ["x", "t"] {
        let source = open(&path, json!({"columns": [field]})).unwrap();
        source.set_memory(Some(2 << 20));
        let error = fetch(&source, &[5], field).unwrap_err().to_string();
        assert!(error.contains("row group 0 of") && error.contains("memory="), "{error}");
        let source = open(&path, json!({"columns": [field]})).unwrap();
        source.set_memory(Some(64 << 20));
        fetch(&source, &[5], field).unwrap();
    }
}
