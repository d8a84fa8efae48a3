//! Tests windows that go from one file to the next.

use super::{expected, field, npy_of, zarr_of};
use crate::tests::{Files, open};
use proptest::prelude::*;
use serde_json::json;
use std::sync::Arc;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn windows_across_files_are_those_of_one_array(
        zarr: bool, lens in prop::collection::vec(0u64..6, 1..5), axis in 0usize..3, length in 1u64..6,
        stride in 1u64..5, horizon in 0u64..4, gap in 0u64..3, patch: bool,
    ) {
        let gap = if horizon > 0 { gap } else { 0 };
        // Files of these lengths along the axis, cut out of one array.
        let mut whole = [3u64, 4, 5];
        whole[axis] = lens.iter().sum();
        let (mut files, mut from) = (Vec::new(), 0);
        for (number, len) in lens.iter().enumerate() {
            let (mut shape, mut start) = (whole, [0; 3]);
            (shape[axis], start[axis]) = (*len, from);
            from += len;
            let values = expected(whole, start, shape);
            let own = |[a, b, c]: [u64; 3]| values[((a * shape[1] + b) * shape[2] + c) as usize];
            match zarr {
                true => files.extend(zarr_of(&format!("d/{number}"), shape, [2, 3, 2], own)),
                false => files.push((format!("d/{number}.npy"), npy_of(shape, &values))),
            }
        }
        let files: Vec<(&str, Vec<u8>)> = files.iter().map(|(name, b)| (name.as_str(), b.clone())).collect();
        let store = Arc::new(Files::new(&files));
        let mut args = json!({
            "window": length, "stride": stride, "horizon": horizon, "gap": gap, "across": true, "axis": axis,
        });
        if patch {
            args["patch"] = json!([2]);
        }
        if !zarr {
            args["rows"] = "axis".into();
        }
        let source = open(&store, if zarr { "zarr" } else { "npy" }, &["d"], args);
        let span = length + if horizon > 0 { horizon + gap } else { 0 };
        let begins: Vec<u64> = (0..whole[axis]).step_by(stride as usize).filter(|b| b + span <= whole[axis]).collect();
        let last = if axis == 2 { 4 } else { 5 };
        let patches = if patch { last / 2 } else { 1 };
        prop_assert_eq!(source.is_ok(), !begins.is_empty(), "{:?}", source.err());
        let Ok(source) = source else { return Ok(()) };
        prop_assert_eq!(source.rows(), begins.len() as u64 * patches);
        prop_assert_eq!(source.shard_rows().iter().sum::<u64>(), source.rows());
        let fields: Vec<Arc<str>> = source.spec().fields.iter().map(|(name, _)| name.clone()).collect();
        for row in 0..source.rows() {
            let begin = begins[(row / patches) as usize];
            let file = source.shard_of(row);
            let before: u64 = lens.iter().enumerate().take_while(|(n, _)| !file.contains(&format!("d/{n}"))).map(|(_, len)| len).sum();
            let key = source.key(row);
            prop_assert_eq!(key.split('@').next().unwrap(), (begin - before).to_string());
            let wanted = |steps: std::ops::Range<u64>| {
                let mut out = Vec::new();
                for step in steps {
                    let (mut start, mut count) = ([0; 3], whole);
                    (start[axis], count[axis]) = (step, 1);
                    if patch {
                        let cut = if axis == 2 { 1 } else { 2 };
                        (start[cut], count[cut]) = (2 * (row % patches), 2);
                    }
                    out.extend(expected(whole, start, count));
                }
                out
            };
            prop_assert_eq!(field(&*source, "data", row), wanted(begin..begin + length));
            if horizon > 0 {
                let first = begin + length + gap;
                prop_assert_eq!(field(&*source, "data.target", row), wanted(first..first + horizon));
            }
        }
        let stamps = source.stamps(&(0..source.rows()).collect::<Vec<_>>(), &fields).unwrap();
        let different: std::collections::HashSet<_> = stamps.iter().collect();
        prop_assert_eq!(different.len() as u64, source.rows());
    }
}
