//! Tests of matrices: columns in one array.

use super::*;
use arrow_array::{BooleanArray, Float32Array, Int32Array, Int64Array, StringArray};
use infeed_core::Dtype;
use serde_json::json;

fn table(folder: &Path) -> String {
    parquet(
        &folder.join("t.parquet"),
        vec![
            ("a", Arc::new(Float32Array::from(vec![Some(0.0), Some(1.0), None, Some(f32::NAN)])) as ArrayRef),
            ("b", Arc::new(Int32Array::from(vec![Some(10), Some(-20), Some(30), None]))),
            ("c", Arc::new(StringArray::from(vec![Some("x"), Some("y"), Some("?"), None]))),
            ("d", Arc::new(BooleanArray::from(vec![true, false, true, true]))),
            ("y", Arc::new(Int64Array::from(vec![4, 3, 2, 1]))),
        ],
        3,
    )
}

fn matrix(folder: &Path, about: Json) -> Result<Vec<String>> {
    let source = open(&table(folder), json!({"columns": ["y"], "matrix": {"m": about}}))?;
    let rows: Vec<u64> = (0..4).collect();
    let values = fetch(&source, &rows, "m")?;
    // Filling gives the same bytes as fetching.
    let width = source.spec().fields[1].1.fixed_bytes().unwrap();
    let (mut m, mut y) = (vec![1; 4 * width], vec![1; 32]);
    source.fill(&[3, 1, 0, 2], &names(&["m", "y"]), &mut [&mut m, &mut y]).unwrap();
    for (place, row) in [3, 1, 0, 2].into_iter().enumerate() {
        let Value::Tensor(tensor) = &values[row] else { panic!("no array") };
        assert_eq!(&tensor.data[..], &m[place * width..][..width]);
        assert_eq!(y[place * 8], [4, 3, 2, 1][row]);
    }
    Ok(values.iter().map(words).collect())
}

#[test]
fn numbers_of_many_types_in_one() {
    let folder = tempfile::tempdir().unwrap();
    let got = matrix(folder.path(), json!({"columns": ["d", "a", "b"], "dtype": "f32"})).unwrap();
    assert_eq!(got, ["[1 0 10]", "[0 1 -20]", "[1 NaN 30]", "[1 NaN NaN]"]);
    let fill = json!({"columns": ["b", "a"], "dtype": "f64", "ops": {"*": [{"op": "fill", "value": 5}]}});
    let got = matrix(folder.path(), fill).unwrap();
    assert_eq!(got, ["[10 0]", "[-20 1]", "[30 5]", "[5 5]"]);
}

#[test]
fn operations_in_their_order() {
    let folder = tempfile::tempdir().unwrap();
    let about = json!({"columns": ["a", "b", "c"], "dtype": "f64", "ops": {
        "a": [{"op": "fill", "value": 3}, {"op": "log1p"}, {"op": "standardize", "mean": 1, "std": 2}],
        "b": [{"op": "clip", "min": 0, "max": 20}, {"op": "minmax", "min": 10, "max": 20}, {"op": "fill", "value": 7}],
        "c": [{"op": "categories", "values": ["y", "x"]}],
    }});
    let got = matrix(folder.path(), about).unwrap();
    let a = |x: f64| (x.ln_1p() - 1.0) / 2.0;
    let want = [(a(0.0), 0.0, 1), (a(1.0), -1.0, 0), (a(3.0), 1.0, -1), (a(3.0), 7.0, -1)];
    let want: Vec<String> = want.iter().map(|(a, b, c)| format!("[{a} {b} {c}]")).collect();
    assert_eq!(got, want);
    // A constant column becomes zero.
    let flat =
        json!({"columns": ["y"], "dtype": "f64", "ops": {"y": [{"op": "standardize", "mean": 4, "std": 0}]}});
    assert_eq!(matrix(folder.path(), flat).unwrap()[0], "[0]");
}

#[test]
fn narrow_types() {
    let folder = tempfile::tempdir().unwrap();
    for (dtype, bits) in
        [("f16", half::f16::from_f32(-20.0).to_bits()), ("bf16", half::bf16::from_f32(-20.0).to_bits())]
    {
        for ops in [json!({}), json!({"b": [{"op": "clip", "min": -50}]})] {
            let about = json!({"columns": ["b"], "dtype": dtype, "ops": ops});
            let got = matrix(folder.path(), about).unwrap();
            let bytes = bits.to_ne_bytes();
            assert_eq!(got[1], format!("[{dtype} [{}, {}]]", bytes[0], bytes[1]));
        }
    }
    let scalar = json!({"columns": ["y"], "dtype": "i32", "scalar": true});
    assert_eq!(matrix(folder.path(), scalar).unwrap(), ["4", "3", "2", "1"]);
    assert_eq!(Dtype::parse("i32"), Some(Dtype::I32));
}

#[test]
fn what_has_no_number_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = table(folder.path());
    for (about, row, wanted) in [
        (json!({"columns": ["y", "b"], "dtype": "i64"}), 3, "column `b` is null here"),
        (json!({"columns": ["b"], "dtype": "u8"}), 1, "does not fit u8"),
        (
            json!({"columns": ["b"], "dtype": "u8", "ops": {"b": [{"op": "clip", "max": 25}]}}),
            1,
            "does not fit u8",
        ),
        (
            json!({"columns": ["c"], "ops": {"c": [{"op": "categories", "values": ["x", "y"], "unknown": "error"}]}}),
            2,
            "not among its categories",
        ),
        (
            json!({"columns": ["a"], "dtype": "i64", "ops": {"a": [{"op": "clip", "max": 25}]}}),
            3,
            "not a number here",
        ),
    ] {
        let source = open(&path, json!({"columns": [], "matrix": {"m": about}})).unwrap();
        // Only that row is bad.
        assert!(fetch(&source, &[0], "m").is_ok());
        let error = fetch(&source, &[row], "m").unwrap_err().to_string();
        assert!(error.contains(wanted), "{error}");
        let mut out = vec![0; source.spec().fields[0].1.fixed_bytes().unwrap()];
        assert!(source.fill(&[row], &names(&["m"]), &mut [&mut out]).is_err());
    }
    for (about, wanted) in [
        (json!({"columns": ["c"]}), "categories="),
        (json!({"columns": []}), "at least one column"),
        (json!({"columns": ["a"], "dtype": "q8"}), "no dtype"),
        (json!({"columns": ["a"], "ops": {"a": [{"op": "sqrt"}]}}), "no operation `sqrt`"),
        (json!({"columns": ["a"], "ops": {"b": []}}), "not one of its columns"),
        (json!({"columns": ["a"], "ops": {"a": [{"op": "standardize"}]}}), "needs a number as `std`"),
    ] {
        let error = open(&path, json!({"columns": [], "matrix": {"m": about}})).unwrap_err().to_string();
        assert!(error.contains(wanted), "{error}");
    }
}

#[test]
fn statistics_of_columns() {
    let folder = tempfile::tempdir().unwrap();
    let path = table(folder.path());
    let none = serde_json::Map::new();
    let name = |names: &[&str]| names.iter().map(|n| (*n).to_owned()).collect::<Vec<_>>();
    let got = crate::column_stats(
        &disk(),
        "parquet",
        std::slice::from_ref(&path),
        &none,
        &name(&["a", "b"]),
        &name(&["c", "y"]),
        &none,
    );
    let got = got.unwrap();
    assert_eq!(got["a"], json!({"count": 2, "nulls": 2, "mean": 0.5, "std": 0.5, "min": 0.0, "max": 1.0}));
    assert_eq!(got["b"]["count"], 3);
    assert!((got["b"]["mean"].as_f64().unwrap() - 20.0 / 3.0).abs() < 1e-12);
    assert_eq!(got["c"], json!({"count": 3, "nulls": 1, "values": ["?", "x", "y"]}));
    assert_eq!(got["y"]["values"], json!([1, 2, 3, 4]));
    let ops = json!({"b": [{"op": "clip", "min": 0}]});
    let got =
        crate::column_stats(&disk(), "parquet", &[path], &none, &name(&["b"]), &[], ops.as_object().unwrap())
            .unwrap();
    assert_eq!(got["b"]["min"], 0.0);
}
