//! Blocks are decoded once.

use super::*;
use arrow_array::Int64Array;
use serde_json::json;

fn numbers(folder: &Path) -> TableSource {
    let ints: Int64Array = (0..1000).collect();
    open(&parquet(&folder.join("n.parquet"), vec![("x", Arc::new(ints))], 100), json!({})).unwrap()
}

fn take(source: &TableSource, rows: &[u64]) -> Vec<i64> {
    let mut out = vec![0; rows.len() * 8];
    source.fill(rows, &names(&["x"]), &mut [&mut out]).unwrap();
    out.chunks(8).map(|x| i64::from_ne_bytes(x.try_into().unwrap())).collect()
}

#[test]
fn each_block_once_whoever_wants_it() {
    let folder = tempfile::tempdir().unwrap();
    let source = numbers(folder.path());
    let rows: Vec<u64> = (0..1000).map(|i| i * 7 % 1000).collect();
    let want: Vec<i64> = rows.iter().map(|row| *row as i64).collect();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| assert_eq!(take(&source, &rows), want));
        }
    });
    assert_eq!(source.work().0, 10);
}

#[test]
fn memory_is_kept_to() {
    let folder = tempfile::tempdir().unwrap();
    let source = numbers(folder.path());
    // Room for two blocks of 800 bytes.
    source.set_memory(1700);
    for row in [0, 100, 0, 200, 0, 100] {
        assert_eq!(take(&source, &[row]), [row as i64]);
    }
    // 0 and 100 are read, 200 pushes 100 out, so 100 is read again.
    assert_eq!(source.work().0, 4);
    // More than fits is still given, each block once.
    let rows: Vec<u64> = (0..1000).rev().collect();
    let before = source.work().0;
    assert_eq!(take(&source, &rows)[0], 999);
    assert!(source.work().0 - before <= 10);
}

#[test]
fn rows_come_in_any_order_and_more_than_once() {
    let folder = tempfile::tempdir().unwrap();
    let source = numbers(folder.path());
    assert_eq!(take(&source, &[999, 0, 999, 500, 0]), [999, 0, 999, 500, 0]);
    let mut out = [0; 8];
    assert!(source.fill(&[1000], &names(&["x"]), &mut [&mut out]).is_err());
}
