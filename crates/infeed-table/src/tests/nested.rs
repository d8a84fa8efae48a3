//! Types that are nested deep: read as far as it goes, refused beyond, and never the end of the stack.

use super::*;
use arrow_array::{Array, Int32Array, ListArray, new_null_array};
use arrow_buffer::OffsetBuffer;
use arrow_ipc::writer::FileWriter;
use arrow_schema::Field;
use serde_json::json;
use std::{fs, thread};

/// Writers go down by recursion, too.
fn with_much_stack<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    thread::Builder::new().stack_size(1 << 30).spawn(work).unwrap().join().unwrap()
}

/// One row: a number inside so many lists.
fn lists(depth: usize) -> ArrayRef {
    let mut array: ArrayRef = Arc::new(Int32Array::from(vec![7]));
    for _ in 0..depth {
        let field = Arc::new(Field::new("item", array.data_type().clone(), true));
        array = Arc::new(ListArray::new(field, OffsetBuffer::from_lengths([1]), array, None));
    }
    array
}

fn in_words(depth: usize) -> String {
    format!("{}7{}", "[".repeat(depth), "]".repeat(depth))
}

#[test]
fn parquet_lists_inside_lists() {
    let folder = tempfile::tempdir().unwrap();
    for depth in [40, 100, 101, 300] {
        let path = folder.path().join(format!("{depth}.parquet"));
        let path = with_much_stack(move || parquet(&path, vec![("x", lists(depth))], 10));
        match open(&path, json!({})) {
            Ok(source) => assert_eq!((depth <= 100, all(&source, "x")[0].clone()), (true, in_words(depth))),
            Err(e) => {
                assert!(depth > 100 && e.to_string().contains("more than 100 levels deep"), "{depth}: {e}")
            }
        }
    }
}

#[test]
fn arrow_lists_inside_lists() {
    let folder = tempfile::tempdir().unwrap();
    for depth in [40, 100, 101, 300] {
        let path = folder.path().join(format!("{depth}.arrow"));
        let name = path.display().to_string();
        with_much_stack(move || {
            let batch = RecordBatch::try_from_iter_with_nullable([("x", lists(depth), true)]).unwrap();
            let mut out = FileWriter::try_new(File::create(path).unwrap(), &batch.schema()).unwrap();
            out.write(&batch).unwrap();
            out.finish().unwrap();
        });
        match opened("arrow", &[name], &json!({})) {
            Ok(source) => assert_eq!((depth <= 100, all(&source, "x")[0].clone()), (true, in_words(depth))),
            Err(e) => {
                assert!(depth > 100 && e.to_string().contains("more than 100 levels deep"), "{depth}: {e}")
            }
        }
    }
}

#[test]
fn a_footer_of_nothing_but_groups() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.parquet");
    for depth in [1000u32, 10_000, 100_000] {
        let mut footer = vec![0x15, 2, 0x19, 0xfc];
        let mut count = depth + 1;
        while count > 127 {
            footer.push(count as u8 & 127 | 128);
            count >>= 7;
        }
        footer.push(count as u8);
        (0..depth).for_each(|_| footer.extend([0x35, 0, 0x18, 1, b'k', 0x15, 2, 0]));
        footer.extend([0x15, 2, 0x25, 0, 0x18, 1, b'k', 0]);
        footer.extend([0x16, 0, 0x19, 0x0c, 0]);
        let len = (footer.len() as u32).to_le_bytes();
        fs::write(&path, [b"PAR1", &footer[..], &len, b"PAR1"].concat()).unwrap();
        let error = open(&path.display().to_string(), json!({})).unwrap_err().to_string();
        assert!(error.contains("more than 100 levels deep") && error.contains("t.parquet"), "{error}");
    }
}

#[test]
fn structs_inside_structs_are_fields() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.parquet");
    let mut kind = arrow_schema::DataType::Int32;
    for _ in 0..60 {
        kind = arrow_schema::DataType::Struct(vec![Field::new("k", kind, true)].into());
    }
    let path = with_much_stack(move || parquet(&path, vec![("x", new_null_array(&kind, 2))], 10));
    let source = open(&path, json!({})).unwrap();
    assert_eq!(all(&source, &format!("x{}", ".k".repeat(60))), ["missing", "missing"]);
}
