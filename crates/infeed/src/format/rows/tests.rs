use super::{make::RowFormat, *};
use crate::{
    format::{layout_of, saved::IndexCache},
    layout::rows::RowLayout,
    store::{LocalStore, MemoryStore},
};
use infeed_core::{Format, Index, Result, Shard, Shards, StoreExt, Value};
use proptest::prelude::*;
use serde_json::json;
use std::sync::Arc;

fn layout(name: &str, args: serde_json::Value) -> Arc<dyn RowLayout> {
    layout_of(name, args.as_object().unwrap()).unwrap()
}

fn store(files: &[(&str, &str)]) -> MemoryStore {
    files.iter().map(|(name, text)| (*name, text.as_bytes().to_vec())).collect()
}

fn index(name: &str, args: serde_json::Value, text: &str) -> Result<Arc<dyn Index>> {
    let store = store(&[("x", text)]);
    let format = RowFormat::new(layout_of(name, args.as_object().unwrap())?, IndexCache::Off);
    format.index(&store, &store.stat_one("x").unwrap())
}

/// Values of all rows, as text.
fn values(name: &str, args: serde_json::Value, text: &str) -> Result<Vec<String>> {
    let index = index(name, args, text)?;
    let fields: Vec<Arc<str>> = index.fields().into_iter().map(|(name, _)| name).collect();
    let mut out = vec![];
    for row in 0..index.rows() {
        let bytes = index
            .ranges(&[row], &fields)?
            .into_iter()
            .map(|r| text.as_bytes()[r.start as usize..r.end as usize].to_vec().into());
        let record = index.cut(&[row], &fields, bytes.collect())?.remove(0);
        let word = |value: &Value| match value {
            Value::Text(text) | Value::Json(text) => text.clone(),
            Value::Tensor(t) => format!("{}{:?}{:?}", t.dtype, t.shape, &t.data[..]),
            other => other.what().to_owned(),
        };
        out.push(record.fields.iter().map(word).collect::<Vec<_>>().join("|"));
    }
    Ok(out)
}

#[test]
fn rows_of_text() {
    assert_eq!(values("text", json!({}), "a\r\n\nb").unwrap(), ["a", "", "b"]);
    assert_eq!(values("text", json!({"by": "paragraph"}), "\na\nb\n\n\nc\n").unwrap(), ["a\nb", "c"]);
    assert_eq!(values("text", json!({"by": "file"}), "\u{feff}a\n").unwrap(), ["a\n"]);
}

#[test]
fn rows_of_json_lines() {
    let text = "{\"a\":\"x\",\"b\":true}\n\n{\"b\":false,\"c\":{\"d\":\"e\"}}\n";
    let bools = |b: u8| format!("bool[][{b}]");
    assert_eq!(
        values("jsonl", json!({}), text).unwrap(),
        [format!("x|{}|nothing", bools(1)), format!("nothing|{}|{{\"d\":\"e\"}}", bools(0))]
    );
    assert_eq!(values("jsonl", json!({"fields": ["c.d"]}), text).unwrap(), ["nothing", "e"]);
    let error = values("jsonl", json!({"fields": ["z"]}), text).unwrap_err().to_string();
    assert!(error.contains("no field `z`"), "{error}");
    let error = values("jsonl", json!({}), "{\"a\":1}\n\n{\"a\":").unwrap_err().to_string();
    assert!(error.contains("line 3: JSON ends in the middle"), "{error}");
    // A file without a single good line is an error.
    let error = values("jsonl", json!({}), "{\"a\":").unwrap_err().to_string();
    assert!(error.contains("shard `x`: line 1: JSON ends in the middle"), "{error}");
    let error = values("jsonl", json!({}), "[{\"a\":1}]").unwrap_err().to_string();
    assert!(error.contains("one JSON document"), "{error}");
}

#[test]
fn rows_beyond_the_first_must_fit_them() {
    let mut text = "{\"a\":1}\n".repeat(100);
    text.push_str("{\"a\":1.5}\n{\"a\":2}\n");
    let index = index("jsonl", json!({}), &text).unwrap();
    let cut = |row: u64| {
        let range = index.ranges(&[row], &[]).unwrap().remove(0);
        let bytes = text.as_bytes()[range.start as usize..range.end as usize].to_vec().into();
        index.cut(&[row], &["a".into()], vec![bytes])
    };
    let error = cut(100).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("line 101: expected a whole number, as in the first rows, found the number 1.5"),
        "{error}"
    );
    assert!(matches!(error, infeed_core::Error::Sample { at, .. } if at.field.as_deref() == Some("a")));
    assert!(cut(101).is_ok());
}

#[test]
fn rows_of_tables() {
    let text = "\u{feff}name;n;x\r\n\"a;\"\"b\";1;0.5\r\n\r\nc;;\r\n";
    let floats = |x: f64| format!("f64[]{:?}", x.to_ne_bytes());
    assert_eq!(
        values("csv", json!({"columns": ["name", "n"]}), text).unwrap(),
        [format!("a;\"b|{}", floats(1.0)), format!("c|{}", floats(f64::NAN))]
    );
    assert_eq!(values("csv", json!({"columns": {"n": "text"}}), text).unwrap(), ["1", ""]);
    for (args, text, what) in [
        (json!({}), "a,b\n1,2\n3\n", "line 3: the row has 1 fields, and there are 2 columns"),
        (json!({}), "a,b\n1,\"2\n", "opened in line 2 and never closed"),
        (json!({}), "a,a\n1,2\n", "two columns are called `a`"),
        (json!({"columns": ["c"]}), "a,b\n1,2\n", "no column `c`; the columns are a, b"),
        (json!({"types": {"a": "int8"}}), "a,b\n300,2\n", "line 2: expected i8, found `300`"),
        (json!({"delimiter": "--"}), "a,b\n1,2\n", "must be one character"),
        (json!({"columns": {"a": "int65"}}), "a,b\n1,2\n", "`int65` is not a type"),
    ] {
        let error = values("csv", args, text).unwrap_err().to_string();
        assert!(error.contains(what), "{error}");
    }
}

#[test]
fn fields_keep_the_order_of_the_file() {
    let named = |name: &str, args: serde_json::Value, text: &str| {
        let fields = index(name, args, text).unwrap().fields();
        fields.iter().map(|(name, _)| name.to_string()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(named("csv", json!({}), "z,a,m\n1,2,3\n"), "z a m");
    assert_eq!(named("jsonl", json!({}), "{\"z\":1,\"a\":2}\n{\"m\":1,\"a\":2}\n"), "z a m");
    // The first file counts; what only others have comes behind.
    let store = store(&[("1", "{\"z\":1,\"b\":1}\n"), ("2", "{\"a\":1,\"b\":1,\"z\":2}\n")]);
    let shards: Vec<Shard> = ["1", "2"].iter().map(|name| store.stat_one(name).unwrap()).collect();
    let format = RowFormat::new(layout("jsonl", json!({})), IndexCache::Off);
    let shards = Shards::new(&shards).unwrap();
    let set = format.indices(&store, &shards, 2).unwrap().unwrap();
    let source = crate::read::StoreSource::over(Arc::new(store), "jsonl", shards, set).unwrap();
    let order = |fields: &[(Arc<str>, infeed_core::FieldSpec)]| {
        fields.iter().map(|(name, _)| name.to_string()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(order(&infeed_core::Source::spec(&source).fields), "z b a");
    // States know them as they were before.
    assert_eq!(order(&infeed_core::Source::fields_of_states(&source)), "a b z");
}

#[test]
fn ragged_rows_are_bad_rows_wherever_they_are() {
    for (args, text) in [
        (json!({}), "a,b\n1\n2,x\n3,y,z\n4,w\n"),
        (json!({"header": false}), "1\n2,x\n3,y,z\n4,w\n"),
        (json!({"names": ["a", "b"]}), "t,t\n1\n2,x\n3,y,z\n4,w\n"),
    ] {
        let index = index("csv", args, text).unwrap();
        let fields: Vec<Arc<str>> = index.fields().into_iter().map(|(name, _)| name).collect();
        assert_eq!((index.rows(), fields.len()), (4, 2));
        for row in 0..4 {
            let range = index.ranges(&[row], &fields).unwrap().remove(0);
            let bytes = text.as_bytes()[range.start as usize..range.end as usize].to_vec().into();
            let cut = index.cut(&[row], &fields, vec![bytes]);
            assert_eq!(cut.is_ok(), row % 2 == 1, "{row}");
        }
    }
    // Nothing but such rows is an error at opening.
    let error = index("csv", json!({}), "a,b\n1\n2\n").unwrap_err().to_string();
    assert!(error.contains("line 2: the row has 1 fields"), "{error}");
}

#[test]
fn columns_are_filled() {
    let text = "a,b\n1,x\n2,y\n3,z\n";
    let index = index("csv", json!({"types": {"a": "int16"}}), text).unwrap();
    assert!(index.fills("a") && !index.fills("b"));
    let rows = [2, 0];
    let bytes = index.ranges(&rows, &[]).unwrap().into_iter();
    let bytes = bytes.map(|r| text.as_bytes()[r.start as usize..r.end as usize].to_vec().into()).collect();
    let mut out = [0u8; 6];
    index.fill(&rows, &[0, 2], &["a".into()], bytes, &mut [&mut out]).unwrap();
    assert_eq!(out, [3i16, 0, 1].map(i16::to_ne_bytes).concat()[..]);
}

#[test]
fn files_must_agree() {
    let store = store(&[("a", "{\"x\":1}\n"), ("b", "{\"x\":1.5}\n"), ("c", "{\"x\":\"t\"}\n"), ("d", "")]);
    let open = |names: &[&str]| {
        let shards: Vec<Shard> = names.iter().map(|name| store.stat_one(name).unwrap()).collect();
        let format = RowFormat::new(layout("jsonl", json!({})), IndexCache::Off);
        format.indices(&store, &Shards::new(&shards).unwrap(), 4).map(|set| set.unwrap())
    };
    let set = open(&["a", "d", "b"]).unwrap();
    assert_eq!((set.rows().lens(), set.fields()[0].1[0].1.to_string()), (&[1, 0, 1][..], "f64".to_owned()));
    let error = open(&["a", "c"]).unwrap_err().to_string();
    assert!(error.contains("the field `x` is a whole number in shard `a` but text in shard `c`"), "{error}");
}

#[test]
fn rows_that_are_too_long() {
    let error = index("text", json!({"max_row": 5}), "abc\nabcdefgh\n").unwrap_err().to_string();
    assert!(error.contains("row 1 has more than 5 bytes; max_row"), "{error}");
}

#[test]
fn rows_are_saved_and_used_again() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x.jsonl");
    std::fs::write(&file, "{\"a\":1}\n\n{\"a\":2}\n").unwrap();
    let store = LocalStore::new();
    let shard = store.stat_one(file.to_str().unwrap()).unwrap();
    let cache = IndexCache::Beside;
    let format = RowFormat::new(layout("jsonl", json!({})), cache.clone());
    assert_eq!(format.index(&store, &shard).unwrap().rows(), 2);
    let place = folder.path().join("x.jsonl.infeed-rows");
    let kept = std::fs::read(&place).unwrap();
    let dated = |seconds: i64| {
        let now = std::time::SystemTime::now();
        let shift = std::time::Duration::from_secs(seconds.unsigned_abs());
        let time = if seconds < 0 { now - shift } else { now + shift };
        std::fs::File::options().write(true).open(&place).unwrap().set_modified(time).unwrap();
    };
    // Older than the last change of the file: nothing says that it still fits.
    dated(-3600);
    assert!(saved::load(&cache, &store, &shard, "jsonl:").is_none());
    dated(3600);
    let found = saved::load(&cache, &store, &shard, "jsonl:").unwrap();
    assert_eq!((found.range(1), found.line_of(1)), (Some(8..17), Some(2)));
    assert!(saved::load(&cache, &store, &shard, "csv:").is_none());
    assert!(saved::load(&cache, &store, &Shard { modified: Some(1), ..shard.clone() }, "jsonl:").is_none());
    for at in 0..kept.len() {
        let mut bad = kept.clone();
        bad[at] ^= 1;
        std::fs::write(&place, &bad).unwrap();
        dated(3600);
        assert!(saved::load(&cache, &store, &shard, "jsonl:").is_none());
    }
}

proptest! {
    #[test]
    fn parts_of_a_file_give_the_same_rows(text in "[a\n]{0,80}", size in 1u64..30, blank in any::<bool>()) {
        let layout = if blank { layout("text", json!({})) } else { layout("jsonl", json!({})) };
        let store = store(&[("x", &text)]);
        let shard = store.stat_one("x").unwrap();
        let whole = scan::find(&*layout, &store, &shard, 1).unwrap();
        let parts = scan::find_in(&*layout, &store, &shard, 3, size).unwrap();
        prop_assert_eq!(whole.lens.lens(), parts.lens.lens());
        prop_assert_eq!(whole.start, parts.start);
        for row in 0..whole.rows() {
            prop_assert_eq!(whole.line_of(row), parts.line_of(row));
        }
    }
}
