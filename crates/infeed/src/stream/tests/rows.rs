use crate::{
    format::layout_of,
    store::Stores,
    stream::{Opening, RowStream},
};
use infeed_core::{Flow, Stream, Value};
use std::{io::Write, sync::Arc};
use tempfile::NamedTempFile;

fn file(text: &str) -> NamedTempFile {
    let mut file = NamedTempFile::new().unwrap();
    file.write_all(text.as_bytes()).unwrap();
    file
}

fn open(format: &str, args: serde_json::Value, files: &[&NamedTempFile]) -> infeed_core::Result<RowStream> {
    let layout = layout_of(format, args.as_object().unwrap())?;
    let parts = files.iter().map(|f| Opening::File(f.path().to_str().unwrap().to_owned())).collect();
    RowStream::open(Stores::shared(), layout, parts)
}

fn jsonl(rows: std::ops::Range<usize>) -> NamedTempFile {
    file(
        &rows
            .map(|i| format!("{{\"a\":\"{i}\",\"b\":\"b{i}\",\"pad\":\"{}\"}}\n", "x".repeat(i % 500)))
            .collect::<String>(),
    )
}

fn text(flow: &mut dyn Flow, field: &str) -> Option<String> {
    let passing = flow.next(&[field.into()]).unwrap()?;
    match &passing.record.unwrap().fields[0] {
        Value::Text(text) => Some(text.clone()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn rows_of_several_blocks_and_parts_come_in_order() {
    let (one, two) = (jsonl(0..9000), jsonl(9000..9100));
    let stream = open("jsonl", serde_json::json!({}), &[&one, &two]).unwrap();
    assert_eq!((stream.parts(), stream.spec().fields.len()), (2, 3));
    let mut flow = stream.start(&[0, 1]).unwrap();
    for row in 0..9100 {
        assert_eq!(text(&mut *flow, "a").unwrap(), row.to_string());
    }
    assert_eq!(text(&mut *flow, "a"), None);
    assert_eq!(text(&mut *stream.start(&[1, 0]).unwrap(), "a").unwrap(), "9000");
    assert!(stream.start(&[2]).is_err());
}

#[test]
fn rows_are_stepped_over_and_fields_may_change() {
    let one = jsonl(0..9000);
    let stream = open("jsonl", serde_json::json!({}), &[&one]).unwrap();
    for step in [1, 700, 2500, 8999] {
        let mut flow = stream.start(&[0]).unwrap();
        let mut row = 0u64;
        while row + 2 < 9000 {
            assert_eq!(text(&mut *flow, "a").unwrap(), row.to_string());
            assert_eq!(text(&mut *flow, "b").unwrap(), format!("b{}", row + 1));
            let skipped = flow.skip(step).unwrap();
            row += 2 + skipped;
            if skipped < step {
                break;
            }
        }
    }
    assert_eq!(stream.start(&[0]).unwrap().skip(10_000).unwrap(), 9000);
}

#[test]
fn a_bad_row_does_not_end_the_stream() {
    let one = file(&("{\"a\":\"x\"}\n".repeat(120) + "{\"a\":\n{\"a\":\"y\"}\n"));
    let stream = open("jsonl", serde_json::json!({}), &[&one]).unwrap();
    let mut flow = stream.start(&[0]).unwrap();
    flow.skip(120).unwrap();
    let bad = flow.next(&["a".into()]).unwrap().unwrap();
    assert_eq!(bad.key, "120");
    assert!(bad.record.unwrap_err().to_string().contains("line 121: JSON ends in the middle"));
    assert_eq!(text(&mut *flow, "a").unwrap(), "y");
}

#[test]
fn titles_of_each_part_count() {
    let (one, two) = (file("a,b\n1,x\n"), file("b,a\ny,2\n"));
    let stream = open("csv", serde_json::json!({}), &[&one, &two]).unwrap();
    let mut flow = stream.start(&[0, 1]).unwrap();
    assert_eq!(
        [text(&mut *flow, "b"), text(&mut *flow, "b"), text(&mut *flow, "b")],
        [Some("x".into()), Some("y".into()), None]
    );
}

#[test]
fn rows_that_are_too_long_name_part_and_row() {
    let one = file(&format!("short\n{}\n", "x".repeat(5 << 20)));
    let stream = open("text", serde_json::json!({"max_row": 1 << 20}), &[&one]);
    let error = stream.and_then(|s| s.start(&[0])?.skip(9)).unwrap_err().to_string();
    assert!(
        error.contains("row 0: it has more than 1048576 bytes") || error.contains("row 1: it has more"),
        "{error}"
    );
    let whole = open("text", serde_json::json!({}), &[&one]).unwrap();
    assert_eq!(whole.start(&[0]).unwrap().skip(9).unwrap(), 2);
    let fields: Vec<Arc<str>> = vec!["text".into()];
    let mut flow = whole.start(&[0]).unwrap();
    flow.skip(1).unwrap();
    assert!(
        matches!(&flow.next(&fields).unwrap().unwrap().record.unwrap().fields[0], Value::Text(t) if t.len() == 5 << 20)
    );
}
