//! Schemas that are right and those that are dangerous.

use super::*;
use serde_json::json;

fn types(schema: &Json) -> Result<AvroTypes, String> {
    AvroTypes::new(schema.to_string().as_bytes())
}

fn record(fields: Vec<Json>) -> Json {
    json!({"type": "record", "name": "r", "fields": fields})
}

#[test]
fn depth_is_limited() {
    let arrays = |depth: usize| {
        let text = format!("{}\"int\"{}", r#"{"type":"array","items":"#.repeat(depth), "}".repeat(depth));
        AvroTypes::new(
            format!(r#"{{"type":"record","name":"r","fields":[{{"name":"x","type":{text}}}]}}"#).as_bytes(),
        )
    };
    arrays(100).unwrap();
    for depth in [101, 120, 200, 10_000] {
        let error = arrays(depth).unwrap_err();
        assert!(error.contains("more than 100 levels"), "{error}");
    }
    // A chain of names: each type is one level deep, and all of them together are not.
    let chain = |count: usize| {
        let inner = |n: usize| if n == 0 { json!("int") } else { json!(format!("t{}", n - 1)) };
        let one = |n: usize| {
            let of = json!({"type": "record", "name": format!("t{n}"), "fields": [{"name": "a", "type": inner(n)}]});
            json!({"name": format!("f{n}"), "type": of})
        };
        types(&record((0..count).map(one).collect()))
    };
    chain(100).unwrap();
    assert!(chain(101).unwrap_err().contains("more than 100 levels"));
    assert!(chain(20_000).unwrap_err().contains("more than 100 levels"));
}

#[test]
fn names_that_double_a_type_are_counted() {
    let one = |n: usize| {
        let inner = if n == 0 { json!("int") } else { json!(format!("t{}", n - 1)) };
        let fields = json!([{"name": "a", "type": inner}, {"name": "b", "type": inner}]);
        json!({"name": format!("f{n}"), "type": {"type": "record", "name": format!("t{n}"), "fields": fields}})
    };
    let error = types(&record((0..60).map(one).collect())).unwrap_err();
    assert!(error.contains("parts"), "{error}");
}

#[test]
fn types_that_cannot_be_read() {
    let array = json!({"name": "x", "type": {"type": "array", "items": "null"}});
    assert!(types(&record(vec![array])).unwrap_err().contains("without any bytes"));
    let empty = json!({"type": "record", "name": "e", "fields": []});
    let array = json!({"name": "x", "type": {"type": "array", "items": empty}});
    assert!(types(&record(vec![array])).unwrap_err().contains("without any bytes"));
    assert!(
        types(&record(vec![json!({"name": "x", "type": "null"})])).unwrap_err().contains("nothing to read")
    );
    let itself = json!({"name": "x", "type": ["null", "r"]});
    assert!(types(&record(vec![itself])).unwrap_err().contains("contains itself"));
    assert!(
        types(&record(vec![json!({"name": "x", "type": "what"})])).unwrap_err().contains("no type `what`")
    );
    assert!(types(&json!("int")).unwrap_err().contains("no records"));
    assert!(AvroTypes::new(b"{").is_err());
}

#[test]
fn the_fewest_bytes_of_a_record() {
    let fields = json!([
        {"name": "a", "type": "long"},
        {"name": "b", "type": ["null", "double"]},
        {"name": "c", "type": "double"},
        {"name": "d", "type": {"type": "fixed", "name": "f", "size": 5}},
        {"name": "e", "type": {"type": "map", "values": "null"}},
        {"name": "n", "type": "null"},
    ]);
    let Json::Array(fields) = fields else { unreachable!() };
    assert_eq!(types(&record(fields)).unwrap().width, 1 + 1 + 8 + 5 + 1);
}

#[test]
fn names_are_written_in_full() {
    let schema = json!({"type": "record", "name": "a.b.Root", "fields": [
        {"name": "x", "type": {"type": "enum", "name": "Kind", "symbols": ["s"]}},
        {"name": "y", "type": "Kind"},
        {"name": "z", "type": {"type": "record", "name": "c.Other", "fields": [{"name": "k", "type": "a.b.Kind"}]}},
    ]});
    let types = types(&schema).unwrap();
    assert_eq!((&types.root["name"], &types.root["namespace"]), (&json!("Root"), &json!("a.b")));
    assert_eq!(types.root["fields"][1]["type"], "a.b.Kind");
    assert_eq!(types.root["fields"][2]["type"]["namespace"], "c");
    // What is left of the schema has the definition where the name stood.
    let part = types.project(&[1, 2]);
    assert_eq!(part["fields"][0]["type"]["symbols"], json!(["s"]));
    assert_eq!(part["fields"][1]["type"]["fields"][0]["type"], "a.b.Kind");
    let last = types.project(&[2]);
    assert_eq!(last["fields"][0]["type"]["fields"][0]["type"]["namespace"], "a.b");
}
