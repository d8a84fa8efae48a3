//! Blocks are decoded once, kept when they come back, and gathered into batches.

use super::*;
use arrow_array::{BooleanArray, FixedSizeListArray, Float32Array, Int64Array, types::Int32Type};
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
    source.set_memory(Some(1700));
    for row in [0, 100, 0, 200, 0, 100] {
        assert_eq!(take(&source, &[row]), [row as i64]);
    }
    // 0 and 100 are read, 200 evicts 100, so 100 is read again.
    assert_eq!(source.work().0, 4);
    // A request larger than the cache still works, decoding each block once.
    let rows: Vec<u64> = (0..1000).rev().collect();
    let before = source.work().0;
    assert_eq!(take(&source, &rows)[0], 999);
    assert!(source.work().0 - before <= 10);
}

#[test]
fn what_comes_back_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let source = numbers(folder.path());
    // Room for ten blocks of 800 bytes, three of them for blocks decoded only once.
    source.set_memory(Some(8000));
    source.cache.set_passing(2400);
    let epoch: Vec<u64> = (0..1000).step_by(100).collect();
    let decoded = |rows: &[u64]| {
        let before = source.work().0;
        rows.iter().for_each(|row| assert_eq!(take(&source, &[*row]), [*row as i64]));
        source.work().0 - before
    };
    assert_eq!(decoded(&epoch), 10);
    assert_eq!(decoded(&epoch[7..]), 0, "the last three are still there");
    assert_eq!(decoded(&epoch[..7]), 7, "the others were evicted");
    assert_eq!(decoded(&epoch), 0, "and are kept once they came back");
}

#[test]
fn room_grows_for_blocks_that_went_too_early() {
    let folder = tempfile::tempdir().unwrap();
    let source = numbers(folder.path());
    source.set_memory(Some(6400));
    source.cache.set_passing(1600);
    // Four blocks are mixed at a time, and there is room for two.
    let window = [0, 100, 200, 300];
    (0..3).for_each(|_| window.iter().for_each(|row| assert_eq!(take(&source, &[*row]), [*row as i64])));
    let before = source.work().0;
    let next = [400, 500, 600, 700];
    (0..3).for_each(|_| next.iter().for_each(|row| assert_eq!(take(&source, &[*row]), [*row as i64])));
    assert!(source.work().0 - before <= 6, "{}", source.work().0 - before);
}

#[test]
fn rows_come_in_any_order_and_more_than_once() {
    let folder = tempfile::tempdir().unwrap();
    let source = numbers(folder.path());
    assert_eq!(take(&source, &[999, 0, 999, 500, 0]), [999, 0, 999, 500, 0]);
    let mut out = [0; 8];
    assert!(source.fill(&[1000], &names(&["x"]), &mut [&mut out]).is_err());
}

#[test]
fn many_fields_of_any_width_are_gathered() {
    // More rows than a tile; adjacent cells of 1, 4, 8, 12 and 80 bytes; several blocks.
    let folder = tempfile::tempdir().unwrap();
    let rows = 1000;
    let lists = |len: i32| {
        let items = (0..rows).map(|i| Some((0..len).map(|k| Some(i * 100 + k)).collect::<Vec<_>>()));
        Arc::new(FixedSizeListArray::from_iter_primitive::<Int32Type, _, _>(items, len)) as ArrayRef
    };
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("flag", Arc::new((0..rows).map(|i| Some(i % 3 == 0)).collect::<BooleanArray>())),
        ("long", Arc::new((0..i64::from(rows)).collect::<Int64Array>())),
        ("three", lists(3)),
        ("word", Arc::new((0..rows).map(|i| i as f32).collect::<Float32Array>())),
        ("wide", lists(20)),
    ];
    let source = open(&parquet(&folder.path().join("n.parquet"), columns, 170), json!({})).unwrap();
    let fields = names(&["flag", "long", "three", "word", "wide"]);
    let order: Vec<u64> = (0..1000).map(|i| i * 377 % 1000).collect();
    let widths = [1, 8, 12, 4, 80];
    let mut out: Vec<Vec<u8>> = widths.iter().map(|width| vec![0; 1000 * width]).collect();
    let mut spans: Vec<&mut [u8]> = out.iter_mut().map(Vec::as_mut_slice).collect();
    source.fill(&order, &fields, &mut spans).unwrap();
    for (at, row) in order.iter().enumerate() {
        let int = |bytes: &[u8]| i32::from_ne_bytes(bytes.try_into().unwrap());
        let n = *row as i32;
        assert_eq!(out[0][at], u8::from(n % 3 == 0));
        assert_eq!(out[1][at * 8..][..8], row.to_ne_bytes());
        assert_eq!(int(&out[2][at * 12 + 8..][..4]), n * 100 + 2);
        assert_eq!(out[3][at * 4..][..4], (n as f32).to_ne_bytes());
        assert_eq!(
            (int(&out[4][at * 80..][..4]), int(&out[4][at * 80 + 76..][..4])),
            (n * 100, n * 100 + 19)
        );
    }
    // Narrow fields around a wide one, too far apart for a tile.
    let mut some: Vec<Vec<u8>> = [4, 80, 1].iter().map(|width| vec![0; 1000 * width]).collect();
    let mut spans: Vec<&mut [u8]> = some.iter_mut().map(Vec::as_mut_slice).collect();
    source.fill(&order, &names(&["word", "wide", "flag"]), &mut spans).unwrap();
    assert!(some == [out[3].clone(), out[4].clone(), out[0].clone()]);
    // Alone, each field has the same bytes as among the others.
    for (at, (field, width)) in fields.iter().zip(widths).enumerate() {
        let mut own = vec![0; 1000 * width];
        source.fill(&order, std::slice::from_ref(field), &mut [&mut own]).unwrap();
        assert_eq!(own, out[at], "{field}");
    }
}
