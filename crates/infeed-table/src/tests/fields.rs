//! Tests how columns are converted to fields.

use super::*;
use arrow_array::{
    Array, BinaryArray, BooleanArray, Date32Array, Decimal128Array, DictionaryArray, FixedSizeListArray,
    Float32Array, Int32Array, Int64Array, ListArray, StringArray, StructArray, TimestampMicrosecondArray,
    types::{Float32Type, Int32Type},
};
use serde_json::json;
use std::fs;

#[test]
fn every_kind_of_column_has_its_field() {
    let folder = tempfile::tempdir().unwrap();
    let inner = StructArray::from(vec![
        (
            Arc::new(arrow_schema::Field::new("x", arrow_schema::DataType::Int32, true)),
            Arc::new(Int32Array::from(vec![Some(1), None, Some(3)])) as ArrayRef,
        ),
        (
            Arc::new(arrow_schema::Field::new("t", arrow_schema::DataType::Utf8, true)),
            Arc::new(StringArray::from(vec!["a", "b", "c"])) as ArrayRef,
        ),
    ]);
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("flag", Arc::new(BooleanArray::from(vec![true, false, true]))),
        ("float", Arc::new(Float32Array::from(vec![Some(0.5), None, Some(2.0)]))),
        ("int", Arc::new(Int64Array::from(vec![Some(7), None, Some(9)]))),
        ("text", Arc::new(StringArray::from(vec![Some("é"), None, Some("")]))),
        ("blob", Arc::new(BinaryArray::from(vec![&b"x"[..], b"yy", b"zzz"]))),
        ("day", Arc::new(Date32Array::from(vec![1, 2, 3]))),
        ("time", Arc::new(TimestampMicrosecondArray::from(vec![10, 20, 30]))),
        (
            "money",
            Arc::new(Decimal128Array::from(vec![150, 225, -5]).with_precision_and_scale(10, 2).unwrap()),
        ),
        ("kind", Arc::new(["u", "v", "u"].into_iter().collect::<DictionaryArray<Int32Type>>())),
        (
            "list",
            Arc::new(ListArray::from_iter_primitive::<Float32Type, _, _>(vec![
                Some(vec![Some(1.0), Some(2.0)]),
                Some(vec![]),
                None,
            ])),
        ),
        (
            "fixed",
            Arc::new(FixedSizeListArray::from_iter_primitive::<Int32Type, _, _>(
                vec![Some(vec![Some(1), Some(2)]), Some(vec![Some(3), Some(4)]), None],
                2,
            )),
        ),
        ("inner", Arc::new(inner)),
    ];
    let path = parquet(&folder.path().join("a.parquet"), columns, 2);
    let source = open(&path, json!({})).unwrap();
    let specs: Vec<String> =
        source.spec().fields.iter().map(|(name, spec)| format!("{name}: {spec}")).collect();
    assert_eq!(
        specs,
        [
            "flag: bool",
            "float: f32",
            "int: i64",
            "text: text",
            "blob: encoded bytes",
            "day: i64",
            "time: i64",
            "money: f64",
            "kind: text",
            "list: f32[?]",
            "fixed: i32[2]",
            "inner.x: i32",
            "inner.t: text",
        ]
    );
    for (field, want) in [
        ("flag", ["1", "0", "1"]),
        ("float", ["0.5", "NaN", "2"]),
        ("int", ["7", "missing", "9"]),
        ("text", ["é", "missing", ""]),
        ("blob", ["b\"x\"", "b\"yy\"", "b\"zzz\""]),
        ("day", ["1", "2", "3"]),
        ("time", ["10", "20", "30"]),
        ("money", ["1.5", "2.25", "-0.05"]),
        ("kind", ["u", "v", "u"]),
        ("list", ["[1 2]", "[]", "missing"]),
        ("fixed", ["[1 2]", "[3 4]", "missing"]),
        ("inner.x", ["1", "missing", "3"]),
        ("inner.t", ["a", "b", "c"]),
    ] {
        assert_eq!(all(&source, field), want, "{field}");
    }
    assert_eq!(source.block_rows(), [2, 1]);
    assert_eq!((source.key(2), source.shard_of(2)), ("2".to_owned(), path.clone()));
    assert!(source.fills("fixed") && source.fills("int") && !source.fills("text") && !source.fills("list"));
    // A null in an integer column cannot be in a batch; the message names the column and the fix.
    let mut out = [0; 16];
    let error = source.fill(&[0, 1], &names(&["int"]), &mut [&mut out]).unwrap_err().to_string();
    assert!(error.contains("`int` is null") && error.contains("fill="), "{error}");
    source.fill(&[2, 0], &names(&["int"]), &mut [&mut out]).unwrap();
    assert_eq!((out[0], out[8]), (9, 7));

    let filled = open(
        &path,
        json!({"columns": ["int", "text", "float"], "fill": {"int": -1, "text": "?", "float": 0}}),
    );
    let filled = filled.unwrap();
    assert_eq!(all(&filled, "int"), ["7", "-1", "9"]);
    assert_eq!(all(&filled, "text"), ["é", "?", ""]);
    assert_eq!(all(&filled, "float"), ["0.5", "0", "2"]);
    let strict = open(&path, json!({"nulls": "error"})).unwrap();
    for field in ["float", "int", "text", "fixed"] {
        let error = fetch(&strict, &[0, 1, 2], field).unwrap_err().to_string();
        assert!(error.contains("is null"), "{field}: {error}");
    }
    assert!(source.column("int").unwrap_err().to_string().contains("row 1"));
    assert_eq!(source.column("day").unwrap().unwrap(), [1, 2, 3]);
    assert_eq!(source.column("text").unwrap(), None);
}

#[test]
fn files_in_columns_are_bytes_or_paths() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("beside.bin"), b"from the file").unwrap();
    let image = StructArray::from(vec![
        (
            Arc::new(arrow_schema::Field::new("bytes", arrow_schema::DataType::Binary, true)),
            Arc::new(BinaryArray::from(vec![Some(&b"held"[..]), None, None, None])) as ArrayRef,
        ),
        (
            Arc::new(arrow_schema::Field::new("path", arrow_schema::DataType::Utf8, true)),
            Arc::new(StringArray::from(vec![Some("a.jpg"), Some("beside.bin"), None, Some("gone.jpg")]))
                as ArrayRef,
        ),
    ]);
    let path = parquet(&folder.path().join("a.parquet"), vec![("image", Arc::new(image))], 10);
    let source = open(&path, json!({})).unwrap();
    assert_eq!(source.spec().fields.len(), 1);
    let got = fetch(&source, &[0, 1, 2], "image").unwrap();
    assert_eq!(got.iter().map(words).collect::<Vec<_>>(), ["b\"held\"", "b\"from the file\"", "missing"]);
    let error = fetch(&source, &[3], "image").unwrap_err().to_string();
    assert!(error.contains("gone.jpg"), "{error}");
}

/// A table of images that are only named.
fn named_files(path: &Path, paths: &[&str]) -> String {
    let bytes = BinaryArray::from(vec![None::<&[u8]>; paths.len()]);
    let field = |name: &str, kind| Arc::new(arrow_schema::Field::new(name, kind, true));
    let image = StructArray::from(vec![
        (field("bytes", arrow_schema::DataType::Binary), Arc::new(bytes) as ArrayRef),
        (
            field("path", arrow_schema::DataType::Utf8),
            Arc::new(StringArray::from(paths.to_vec())) as ArrayRef,
        ),
    ]);
    parquet(path, vec![("image", Arc::new(image))], 100)
}

#[test]
fn cells_name_files_of_their_folder_only() {
    let folder = tempfile::tempdir().unwrap();
    let (inside, outside) = (folder.path().join("table"), folder.path().join("other"));
    fs::create_dir_all(inside.join("images")).unwrap();
    fs::create_dir_all(&outside).unwrap();
    fs::write(inside.join("images/a.bin"), b"mine").unwrap();
    fs::write(outside.join("secret.bin"), b"not mine").unwrap();
    std::os::unix::fs::symlink(outside.join("secret.bin"), inside.join("link.bin")).unwrap();
    std::os::unix::fs::symlink("images/a.bin", inside.join("good_link.bin")).unwrap();
    std::os::unix::net::UnixListener::bind(inside.join("socket")).unwrap();
    let absolute = outside.join("secret.bin").display().to_string();
    let paths = [
        "images/a.bin",
        "good_link.bin",
        &absolute,
        "../other/secret.bin",
        "images/../../other/secret.bin",
        "link.bin",
        "/dev/zero",
        "socket",
        "images",
        "file:///etc/passwd",
        "",
    ];
    let path = named_files(&inside.join("t.parquet"), &paths);
    let source = open(&path, json!({})).unwrap();
    for row in [0, 1] {
        assert_eq!(words(&fetch(&source, &[row], "image").unwrap()[0]), "b\"mine\"");
    }
    for row in 2..paths.len() as u64 {
        let error = fetch(&source, &[row], "image").unwrap_err().to_string();
        let cure = error.contains("files=\"FOLDER\"") || error.contains("no regular file");
        assert!(cure && error.contains(paths[row as usize]), "{row} {error}");
    }
    // A folder that the user names is one more that counts.
    let given = outside.display().to_string();
    let source = open(&path, json!({"files": given})).unwrap();
    for row in [0, 2, 5] {
        let want = if row == 0 { "b\"mine\"" } else { "b\"not mine\"" };
        assert_eq!(words(&fetch(&source, &[row], "image").unwrap()[0]), want, "{row}");
    }
    assert!(fetch(&source, &[3], "image").is_err());
    let path = named_files(&inside.join("u.parquet"), &["secret.bin"]);
    let source = open(&path, json!({"files": given})).unwrap();
    assert_eq!(words(&fetch(&source, &[0], "image").unwrap()[0]), "b\"not mine\"");
}

#[test]
fn files_that_cells_name_are_limited() {
    let folder = tempfile::tempdir().unwrap();
    File::create(folder.path().join("huge.bin")).unwrap().set_len(1 << 40).unwrap();
    let path = named_files(&folder.path().join("t.parquet"), &["huge.bin"]);
    let error = fetch(&open(&path, json!({})).unwrap(), &[0], "image").unwrap_err().to_string();
    assert!(error.contains("1.0 TiB") && error.contains("memory="), "{error}");
}

#[test]
fn nested_columns_are_json() {
    let folder = tempfile::tempdir().unwrap();
    let mut builder = arrow_array::builder::ListBuilder::new(arrow_array::builder::StringBuilder::new());
    builder.append_value([Some("a\"b"), None]);
    builder.append_value(Vec::<Option<&str>>::new());
    let path = parquet(&folder.path().join("a.parquet"), vec![("l", Arc::new(builder.finish()))], 10);
    let source = open(&path, json!({})).unwrap();
    assert_eq!(all(&source, "l"), ["[\"a\\\"b\",null]", "[]"]);
    assert!(source.row_bytes(0, &names(&["l"])) > 0);
}

#[test]
fn both_ways_of_reading_numbers_agree() {
    // Nulls, few and many distinct values, one group and several, and runs of nulls.
    let folder = tempfile::tempdir().unwrap();
    for (case, null, distinct) in [(0, 0, 5), (1, 3, 7), (2, 1, 100_000), (3, 0, 100_000), (4, 97, 3)] {
        let value = |i: i64| i * 7919 % distinct;
        let ints: Int64Array = (0..20_000i64)
            .map(|i| if null > 0 && i % (null + 1) < null.min(40) { None } else { Some(value(i)) })
            .collect();
        let floats: Float32Array = ints.iter().map(|x| x.map(|x| x as f32 / 3.0)).collect();
        let path = folder.path().join(format!("{case}.parquet"));
        let path = parquet(&path, vec![("i", Arc::new(ints.clone())), ("f", Arc::new(floats.clone()))], 7001);
        let source = open(&path, json!({})).unwrap();
        assert_eq!(source.block_rows(), [7001, 7001, 5998]);
        let want: Vec<String> =
            ints.iter().map(|x| x.map_or("missing".to_owned(), |x| x.to_string())).collect();
        assert_eq!(all(&source, "i"), want, "case {case}");
        let want: Vec<String> = floats.iter().map(|x| x.unwrap_or(f32::NAN).to_string()).collect();
        assert_eq!(all(&source, "f"), want, "case {case}");
        assert_eq!(ints.null_count() > 0, null > 0);
    }
}

#[test]
fn files_must_agree() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let ints = || Arc::new(Int64Array::from(vec![1, 2])) as ArrayRef;
    let texts = || Arc::new(StringArray::from(vec!["a", "b"])) as ArrayRef;
    let a = parquet(&at("a.parquet"), vec![("x", ints()), ("y", texts())], 10);
    let b = parquet(&at("b.parquet"), vec![("y", texts()), ("x", ints())], 10);
    let c = parquet(&at("c.parquet"), vec![("x", texts()), ("y", texts())], 10);
    let d = parquet(&at("d.parquet"), vec![("y", texts())], 10);
    let open = |paths: &[&String], args: Json| {
        let paths: Vec<String> = paths.iter().map(|path| (*path).clone()).collect();
        opened("parquet", &paths, &args)
    };
    // A different column order is allowed.
    let source = open(&[&a, &b], json!({})).unwrap();
    assert_eq!(all(&source, "x"), ["1", "2", "1", "2"]);
    assert_eq!(all(&source, "y"), ["a", "b", "a", "b"]);
    assert_eq!(source.shard_rows(), [2, 2]);
    for (files, words) in [
        (vec![&a, &c], vec!["`x`", "Int64", "Utf8", "a.parquet", "c.parquet", "columns="]),
        (vec![&a, &d], vec!["`x`", "missing", "a.parquet", "d.parquet"]),
        (vec![&d, &a], vec!["`x`", "missing", "a.parquet", "d.parquet"]),
    ] {
        let error = open(&files, json!({})).unwrap_err().to_string();
        assert!(words.iter().all(|word| error.contains(word)), "{error}");
    }
    let source = open(&[&a, &c, &d], json!({"columns": ["y"]})).unwrap();
    assert_eq!(source.rows(), 6);
    let error = open(&[&a], json!({"columns": ["z"]})).unwrap_err().to_string();
    assert!(error.contains("no column `z`") && error.contains("x, y"), "{error}");
    let error = open(&[&a], json!({"colums": ["y"]})).unwrap_err().to_string();
    assert!(error.contains("did you mean `columns`"), "{error}");
}
