//! Tests what boxes cannot be made of, and what the errors say.

use super::tests::npy;
use crate::tests::{Files, npz, open};
use serde_json::json;
use std::sync::Arc;

#[test]
fn what_cannot_be_cut_is_named() {
    let pair = npz(&[("image.npy", npy([4, 5, 6])), ("mask.npy", npy([4, 5, 3]))]);
    let store = Arc::new(Files::new(&[("d/a.npz", pair), ("d/b.npy", npy([4, 5, 6]))]));
    for (path, args, message) in [
        ("d/b.npy", json!({"window": 5}), "a window of 5 steps takes 5, and the longest of 1 files has 4"),
        ("d/b.npy", json!({"window": 2, "horizon": 3, "gap": 1}), "a gap of 1 and a horizon of 3 takes 6"),
        ("d/b.npy", json!({"window": 5, "across": true}), "takes 5, and all 1 files have 4 together"),
        ("d/b.npy", json!({"rows": "file", "window": 2}), "window= takes steps along an axis"),
        (
            "d/b.npy",
            json!({"patch": [9, 9]}),
            "patch=[9, 9] does not fit into the last axes [5, 6] of `d/b.npy`",
        ),
        ("d/b.npy", json!({"patch": [9, 9], "patch_edge": "shift"}), "take patch_edge=\"pad\""),
        ("d/b.npy", json!({"patch": [1, 1, 1]}), "has the shape [5, 6], and patch=[1, 1, 1]"),
        (
            "d/b.npy",
            json!({"patch": [1], "patch_edge": "pad", "patch_fill": -1}),
            "`data` can have: it is u16",
        ),
        ("d/b.npy", json!({"window": 1, "horizon": 1, "targets": ["dato"]}), "did you mean `data`?"),
        ("d/b.npy", json!({"stack": "origin", "patch": [1]}), "there would be two fields `origin`"),
        ("d/b.npy", json!({"window": 1i64 << 62}), "the longest of 1 files has 4"),
        ("d/a.npz", json!({"patch": [2]}), "`image` has the shape [4, 5, 6] and one of `mask` [4, 5, 3]"),
        ("d/a.npz", json!({"stack": true}), "`image` is u16[4, 5, 6] a row and `mask` is u16[4, 5, 3]"),
    ] {
        let text = open(&store, &path[path.len() - 3..], &[path], args.clone()).unwrap_err().to_string();
        assert!(text.contains(message), "{args}: {text}");
    }
}
