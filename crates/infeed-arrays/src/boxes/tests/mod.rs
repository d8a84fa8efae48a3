//! Tests boxes over whole files, in a store in memory.

mod across;

use crate::tests::{Files, numbers, open, rows};
use infeed_core::{Dtype, Hold, Result, Source, Value, parallel};
use infeed_records::npy::Header;
use proptest::prelude::*;
use serde_json::{Value as Json, json};
use std::{io::Write, sync::Arc};

const SHAPE: [u64; 3] = [7, 5, 6];

/// The number at a place of an array in C order.
fn at(shape: &[u64; 3], [a, b, c]: [u64; 3]) -> u16 {
    ((a * shape[1] + b) * shape[2] + c) as u16
}

pub(super) fn npy(shape: [u64; 3]) -> Vec<u8> {
    npy_of(shape, &(0..shape.iter().product::<u64>()).map(|n| n as u16).collect::<Vec<_>>())
}

pub(super) fn npy_of(shape: [u64; 3], values: &[u16]) -> Vec<u8> {
    let sides: Vec<usize> = shape.iter().map(|side| *side as usize).collect();
    let mut out = Header::write(Dtype::U16, &sides);
    out.extend(values.iter().flat_map(|n| n.to_le_bytes()));
    out
}

/// A Zarr array of version 2 with compressed chunks. Those at the end reach over it.
fn zarr(shape: [u64; 3], chunk: [u64; 3]) -> Vec<(String, Vec<u8>)> {
    zarr_of("d", shape, chunk, |place| at(&shape, place))
}

pub(super) fn zarr_of(
    name: &str,
    shape: [u64; 3],
    chunk: [u64; 3],
    value: impl Fn([u64; 3]) -> u16,
) -> Vec<(String, Vec<u8>)> {
    let meta = json!({
        "zarr_format": 2, "shape": shape, "chunks": chunk, "dtype": "<u2", "fill_value": 0, "order": "C",
        "filters": null, "compressor": {"id": "zlib", "level": 1},
    });
    let mut out = vec![(format!("{name}/.zarray"), meta.to_string().into_bytes())];
    let along = |axis: usize| 0..shape[axis].div_ceil(chunk[axis]);
    for (i, j, k) in along(0).flat_map(|i| along(1).flat_map(move |j| along(2).map(move |k| (i, j, k)))) {
        let mut plain = Vec::new();
        for (a, b, c) in
            (0..chunk[0]).flat_map(|a| (0..chunk[1]).flat_map(move |b| (0..chunk[2]).map(move |c| (a, b, c))))
        {
            let place = [i * chunk[0] + a, j * chunk[1] + b, k * chunk[2] + c];
            let inside = place.iter().zip(&shape).all(|(at, side)| at < side);
            plain.extend(if inside { value(place) } else { 9999 }.to_le_bytes());
        }
        let mut packed = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(&plain).unwrap();
        out.push((format!("{name}/{i}.{j}.{k}"), packed.finish().unwrap()));
    }
    out
}

fn store(format: &str, shape: [u64; 3]) -> Arc<Files> {
    match format {
        "npy" => Arc::new(Files::new(&[("d/a.npy", npy(shape))])),
        _ => {
            let files = zarr(shape, [2, 2, 4]);
            let files: Vec<(&str, Vec<u8>)> =
                files.iter().map(|(name, b)| (name.as_str(), b.clone())).collect();
            Arc::new(Files::new(&files))
        }
    }
}

fn opened(format: &str, store: &Arc<Files>, args: Json) -> Result<Arc<dyn Source>> {
    open(store, format, &[if format == "npy" { "d/a.npy" } else { "d" }], args)
}

fn shown(source: &dyn Source) -> Vec<String> {
    source.spec().fields.iter().map(|(name, spec)| format!("{name}: {spec}")).collect()
}

/// The numbers of a field of a row, one by one.
pub(super) fn field(source: &dyn Source, name: &str, row: u64) -> Vec<u16> {
    numbers(&rows(source, name, &[row])[0])
}

fn origin(source: &dyn Source, row: u64) -> Vec<u64> {
    let bytes = rows(source, "origin", &[row]).remove(0);
    bytes.chunks(8).map(|n| u64::from_ne_bytes(n.try_into().unwrap())).collect()
}

/// A box by the definition, 77 where there is nothing.
pub(super) fn expected(shape: [u64; 3], start: [u64; 3], count: [u64; 3]) -> Vec<u16> {
    let mut out = Vec::new();
    for a in start[0]..start[0] + count[0] {
        for b in start[1]..start[1] + count[1] {
            for c in start[2]..start[2] + count[2] {
                let inside = a < shape[0] && b < shape[1] && c < shape[2];
                out.push(if inside { at(&shape, [a, b, c]) } else { 77 });
            }
        }
    }
    out
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn boxes_are_what_they_should_be(
        zarr: bool, length in 1u64..5, stride in 1u64..4, horizon in 0u64..3, gap in 0u64..2,
        size in (1u64..7, 1u64..8), step in (1u64..5, 1u64..5), edge in 0usize..3, drawn: bool,
    ) {
        let format = if zarr { "zarr" } else { "npy" };
        let store = store(format, SHAPE);
        let gap = if horizon > 0 { gap } else { 0 };
        let edges = ["drop", "shift", "pad"];
        let mut args = json!({
            "window": length, "stride": stride, "horizon": horizon, "gap": gap,
            "patch": [size.0, size.1], "patch_edge": edges[edge],
        });
        if drawn {
            args["patches"] = 3.into();
        } else {
            args["patch_stride"] = json!([step.0, step.1]);
        }
        if edge == 2 {
            args["patch_fill"] = 77.into();
        }
        let fits = size.0 <= SHAPE[1] && size.1 <= SHAPE[2];
        let long = length + if horizon > 0 { horizon + gap } else { 0 } <= SHAPE[0];
        let source = opened(format, &store, args);
        prop_assert_eq!(source.is_ok(), long && (fits || edge == 2));
        let Ok(source) = source else { return Ok(()) };
        let fields: Vec<Arc<str>> = source.spec().fields.iter().map(|(name, _)| name.clone()).collect();
        for row in 0..source.rows() {
            let key = source.key(row);
            let begin: u64 = key.split('@').next().unwrap().parse().unwrap();
            prop_assert_eq!(begin % stride, 0);
            let origin = origin(&*source, row);
            prop_assert_eq!(key, format!("{begin}@{},{}", origin[0], origin[1]));
            let start = [begin, origin[0], origin[1]];
            prop_assert_eq!(field(&*source, "data", row), expected(SHAPE, start, [length, size.0, size.1]));
            if horizon > 0 {
                let start = [begin + length + gap, origin[0], origin[1]];
                prop_assert_eq!(
                    field(&*source, "data.target", row),
                    expected(SHAPE, start, [horizon, size.0, size.1])
                );
            }
            let bytes = 2 * (length + horizon) * size.0 * size.1 + 16;
            prop_assert_eq!(source.row_bytes(row, &fields), bytes);
        }
        let stamps = source.stamps(&(0..source.rows()).collect::<Vec<_>>(), &fields).unwrap();
        let different: std::collections::HashSet<_> = stamps.iter().collect();
        prop_assert_eq!(different.len() as u64, source.rows());
    }

    #[test]
    fn windows_along_any_axis(zarr: bool, axis in 0usize..3, length in 1u64..4) {
        let format = if zarr { "zarr" } else { "npy" };
        let source = opened(format, &store(format, SHAPE), json!({"window": length, "axis": axis})).unwrap();
        prop_assert_eq!(source.rows(), SHAPE[axis] - length + 1);
        let others: Vec<usize> = (0..3).filter(|other| *other != axis).collect();
        for row in 0..source.rows() {
            let mut wanted = Vec::new();
            for step in row..row + length {
                for i in 0..SHAPE[others[0]] {
                    for j in 0..SHAPE[others[1]] {
                        let mut place = [0; 3];
                        (place[axis], place[others[0]], place[others[1]]) = (step, i, j);
                        wanted.push(at(&SHAPE, place));
                    }
                }
            }
            prop_assert_eq!(field(&*source, "data", row), wanted);
        }
    }
}

#[test]
fn chunks_are_decoded_once_by_all_threads() {
    let store = store("zarr", SHAPE);
    let args = json!({"window": 3, "patch": [3, 3], "patch_stride": 1, "patch_edge": "shift"});
    let source = opened("zarr", &store, args).unwrap();
    assert_eq!((source.rows(), source.block_rows()), (5 * 3 * 4, &[][..]));
    store.reads.hold().clear();
    let wanted: Vec<u64> = (0..source.rows()).rev().collect();
    parallel::map(4, 4, |_| Ok(rows(&*source, "data", &wanted))).unwrap();
    // Four by three by two chunks, each read once.
    assert_eq!(store.reads.hold().len(), 24);
    source.set_memory(Some(0));
    store.reads.hold().clear();
    rows(&*source, "data", &[0]);
    assert!(!store.reads.hold().is_empty(), "memory was given back");
}

#[test]
fn windows_of_long_chunks_are_blocks() {
    let source = opened("zarr", &store("zarr", SHAPE), json!({"window": 2})).unwrap();
    assert_eq!((source.block_rows(), source.rows()), (&[2, 2, 2][..], 6));
    assert!(source.most_mixed().is_some());
    let source = opened("zarr", &store("zarr", SHAPE), json!({"window": 2, "stride": 2})).unwrap();
    assert_eq!((source.block_rows(), source.rows()), (&[][..], 3));
}

#[test]
fn only_what_a_box_needs_is_read() {
    let store = store("npy", [40, 300, 300]);
    let args = json!({"rows": "file", "patch": [2, 3, 4], "read": "pread"});
    let source = opened("npy", &store, args).unwrap();
    store.reads.hold().clear();
    let row = 1;
    assert_eq!((source.key(row), origin(&*source, row)), ("a@0,0,4".to_owned(), vec![0, 0, 4]));
    field(&*source, "data", row);
    let read: u64 = store.reads.hold().iter().map(|range| range.end - range.start).sum();
    // Two planes, in each three rows with what lies between; once to fill and once to fetch.
    assert_eq!(read, 2 * 2 * (2 * 300 + 4) * 2);
    let mut bytes = Vec::new();
    source.bytes_of(&[row], &["data".into()], &mut |object, range| bytes.push((object, range)));
    assert_eq!(bytes.len(), 2);
    let said = source.describe();
    assert!(said.contains("patches of [2, 3, 4] every [2, 3, 4]"), "{said}");
    assert!(
        said.contains("a byte of a row alone takes 50.33 bytes of files and 1.00 bytes decoded"),
        "{said}"
    );
}

#[test]
fn chunks_that_come_are_announced_once() {
    let files = Arc::into_inner(store("zarr", SHAPE)).unwrap();
    let store = Arc::new(Files { far: true, ..files });
    let source = opened("zarr", &store, json!({"window": 2})).unwrap();
    let fields: [Arc<str>; 1] = ["data".into()];
    source.will_fetch(&[0, 1], &fields);
    assert_eq!(store.announced.hold().len(), 12);
    source.will_fetch(&[0, 1, 2], &fields);
    assert_eq!(store.announced.hold().len(), 12, "they are on their way");
    let cost = source.read_cost(&[0, 1], &fields, infeed_core::Fetching::Rows).unwrap();
    assert_eq!((cost.used, cost.requests), (2 * 2 * 30 * 2, 12));
    rows(&*source, "data", &[0]);
    source.forget_ahead();
    source.will_fetch(&[0], &fields);
    assert_eq!(store.announced.hold().len(), 12, "they are decoded");
}

#[test]
fn fields_of_several_variables() {
    let x = npy([4, 3, 2]);
    let store =
        Arc::new(Files::new(&[("d/a.npz", crate::tests::npz(&[("x.npy", x.clone()), ("y.npy", x)]))]));
    let axis = json!({"rows": "axis", "window": 2, "horizon": 1, "targets": ["y"], "stack": "all"});
    let source = open(&store, "npz", &["d/a.npz"], axis).unwrap();
    assert_eq!(shown(&*source), ["all: u16[2, 2, 3, 2]", "all.target: u16[1, 1, 3, 2]"]);
    let step = |n: u16| (n * 6..n * 6 + 6).collect::<Vec<u16>>();
    assert_eq!(field(&*source, "all", 1), [step(1), step(1), step(2), step(2)].concat());
    assert_eq!(field(&*source, "all.target", 1), step(3));
    let said = source.describe();
    assert!(said.contains("2 boxes") && said.contains("0 of 4 steps at the ends of 1 files"), "{said}");
    let source = open(&store, "npz", &["d/a.npz"], json!({"stack": true})).unwrap();
    assert_eq!((shown(&*source), source.key(0)), (vec!["data: u16[2, 4, 3, 2]".to_owned()], "a".into()));
    let source = open(&store, "npz", &["d/a.npz"], json!({"patch": [2], "fields": ["x"]})).unwrap();
    assert_eq!(shown(&*source), ["x: u16[4, 3, 2]", "origin: i64[1]"]);
}

#[test]
fn volumes_of_different_sizes() {
    let store = Arc::new(Files::new(&[("d/a.npy", npy([4, 5, 6])), ("d/b.npy", npy([2, 9, 3]))]));
    let source = open(&store, "npy", &["d"], json!({"patch": [3, 3]})).unwrap();
    assert_eq!(
        (shown(&*source), source.shard_rows()),
        (vec!["data: u16[?, 3, 3]".into(), "origin: i64[2]".into()], &[2, 3][..])
    );
    let record = source.fetch(&[4], &["data".into(), "origin".into()]).unwrap().remove(0);
    match &record.fields[0] {
        Value::Tensor(tensor) => {
            assert_eq!(tensor.shape, [2, 3, 3]);
            assert_eq!(numbers(&tensor.data), expected([2, 9, 3], [0, 6, 0], [2, 3, 3]));
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(source.key(4), "b@6,0");
    let drawn = json!({"patch": [2, 3, 3], "patches": 5, "patch_seed": 4});
    let source = open(&store, "npy", &["d"], drawn).unwrap();
    assert_eq!((source.shard_rows(), source.fills("data")), (&[5, 5][..], true));
    let origins: std::collections::HashSet<_> = (0..5).map(|row| origin(&*source, row)).collect();
    assert!(origins.len() > 2, "{origins:?}");
}
