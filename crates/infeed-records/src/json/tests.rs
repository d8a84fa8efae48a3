use super::*;
use crate::Guess;
use infeed_core::Value;
use proptest::prelude::*;
use serde_json::{Map, Value as Json, json};

fn find<'a>(line: &'a str, names: &[&str]) -> infeed_core::Result<Vec<Option<Raw<'a>>>> {
    let wanted = Wanted::new(names.iter().copied());
    let mut out = vec![None; wanted.len()];
    extract(line.as_bytes(), &wanted, &mut out)?;
    Ok(out)
}

fn said(line: &str) -> String {
    find(line, &["a"]).unwrap_err().to_string()
}

#[test]
fn fields_are_found_wherever_they_stand() {
    let line = r#" { "x":[1,{"y":"]}"}], "a" : "b\"c" , "m":{"l":{"k":7},"z":null}, "n": -1.5e3,"t":true} "#;
    let found = find(line, &["n", "a", "m.l.k", "m.z", "t", "m", "none"]).unwrap();
    assert_eq!(found[0], Some(Raw::Number(b"-1.5e3")));
    assert_eq!(found[1], Some(Raw::Text(b"b\\\"c", true)));
    assert_eq!(found[2], Some(Raw::Number(b"7")));
    assert_eq!(found[3], Some(Raw::Null));
    assert_eq!(found[4], Some(Raw::Bool(true)));
    assert_eq!(found[5], Some(Raw::Object(br#"{"l":{"k":7},"z":null}"#)));
    assert_eq!(found[6], None);
    assert_eq!(find(r#"{"a":1,"\u0061":2}"#, &["a"]).unwrap()[0], Some(Raw::Number(b"2")));
    assert_eq!(find(r#"{"m.l":1}"#, &["m.l"]).unwrap()[0], Some(Raw::Number(b"1")));
    assert_eq!(find("{}", &["a"]).unwrap()[0], None);
}

#[test]
fn every_cut_of_a_row_ends_in_the_middle() {
    let line = r#"{"a": "text \" \\ more than thirty-two bytes of it", "b": [1, {"c": null}], "d": -12.5, "e": true}"#;
    assert!(find(line, &["a"]).is_ok());
    for end in 0..line.len() {
        assert!(said(&line[..end]).contains("JSON ends in the middle"), "{}", &line[..end]);
    }
}

#[test]
fn what_is_no_object_is_refused() {
    for (line, what) in [
        ("[1]", "`{` expected at byte 0"),
        (r#"{"a" 1}"#, "`:` expected at byte 5"),
        (r#"{"a":1 "b":2}"#, "`,` or `}` expected at byte 7"),
        (r#"{"a":1}}"#, "the end of the line expected at byte 7"),
        (r#"{"a":[1}}"#, "`]` expected"),
        (r#"{a:1}"#, "a key expected at byte 1"),
        (r#"{"a":NaN}"#, "a value expected at byte 5"),
        (r#"{"b":nil}"#, "a value expected at byte 5"),
    ] {
        assert!(said(line).contains(what), "{line}: {}", said(line));
    }
    let deep = format!("{{\"b\":{}{}}}", "[".repeat(200), "]".repeat(200));
    assert!(said(&deep).contains("100 levels"));
}

fn made(text: &str) -> infeed_core::Result<Value> {
    let line = format!("{{\"a\":{text}}}");
    let raw = find(&line, &["a"])?[0].unwrap();
    value(&raw, guess(&raw))
}

#[test]
fn kinds_of_values() {
    for (text, kind) in [
        ("1", Guess::Int),
        ("1.0", Guess::Float),
        ("99999999999999999999", Guess::Float),
        ("[]", Guess::Empty),
        ("[1, -2]", Guess::Ints),
        ("[1, 2.5]", Guess::Floats),
        ("[true]", Guess::Bools),
        ("[[1]]", Guess::Json),
        ("[\"a,b\"]", Guess::Json),
        ("{}", Guess::Json),
        ("null", Guess::Unknown),
    ] {
        let line = format!("{{\"a\":{text}}}");
        assert_eq!(guess(&find(&line, &["a"]).unwrap()[0].unwrap()), kind, "{text}");
    }
    assert_eq!(Guess::Int.join(Guess::Float), Guess::Float);
    assert_eq!(Guess::Int.join(Guess::Text), Guess::Json);
    assert_eq!(Guess::Int.join(Guess::Ints), Guess::Json);
    assert_eq!(Guess::Int.meet(Guess::Text), None);
}

#[test]
fn wrong_values_are_refused() {
    for text in
        ["01", "1.", "-", "1e", "\"\\x\"", "\"\\u12\"", "\"\\ud800\"", "{\"b\":01}", "[1,]", "\"a\tb\""]
    {
        assert!(made(text).is_err(), "{text}");
    }
    let raw = Raw::Number(b"1.5");
    let error = value(&raw, Guess::Int).unwrap_err().to_string();
    assert!(error.contains("expected a whole number, as in the first rows, found the number 1.5"), "{error}");
    assert!(made("\"\\ud83d\\ude00\"").is_ok());
}

fn any_json() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        any::<i64>().prop_map(Json::from),
        (-1e9..1e9f64).prop_map(Json::from),
        "[a-z\"\\\\\u{1}\u{e9}\u{1f600}/ ]{0,40}".prop_map(Json::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Json::from),
            prop::collection::vec(("[a-c\"]{1,3}", inner), 0..4)
                .prop_map(|pairs| Json::Object(pairs.into_iter().collect())),
        ]
    })
}

/// Formats a value as serde_json parses it, in the form of ours.
fn theirs(json: &Json) -> String {
    match json {
        Json::Null => "missing".to_owned(),
        Json::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn ours(value: &Value) -> String {
    match value {
        Value::Missing => "missing".to_owned(),
        Value::Text(text) | Value::Json(text) => text.clone(),
        Value::Tensor(t) => {
            let numbers: Vec<String> = match t.dtype {
                infeed_core::Dtype::Bool => t.data.iter().map(|b| (*b == 1).to_string()).collect(),
                infeed_core::Dtype::I64 => t
                    .data
                    .chunks(8)
                    .map(|c| json!(i64::from_ne_bytes(c.try_into().unwrap())).to_string())
                    .collect(),
                _ => t
                    .data
                    .chunks(8)
                    .map(|c| json!(f64::from_ne_bytes(c.try_into().unwrap())).to_string())
                    .collect(),
            };
            if t.shape.is_empty() { numbers[0].clone() } else { format!("[{}]", numbers.join(",")) }
        }
        other => format!("{other:?}"),
    }
}

proptest! {
    #[test]
    fn values_are_those_of_serde_json(row in prop::collection::vec(("[a-d]{1,2}", any_json()), 0..6), spaces in any::<bool>()) {
        let row: Map<String, Json> = row.into_iter().collect();
        let line = if spaces { serde_json::to_string_pretty(&row).unwrap() } else { serde_json::to_string(&row).unwrap() };
        let names: Vec<&str> = row.keys().map(String::as_str).collect();
        let found = find(&line, &names).unwrap();
        for ((_, json), raw) in row.iter().zip(found) {
            let raw = raw.unwrap();
            let kind = guess(&raw);
            let value = value(&raw, kind).unwrap();
            // Lists of mixed numbers become floats, and spaces inside JSON are kept: compare the rest.
            let is_mixed = kind == Guess::Floats;
            if !is_mixed {
                let parse = |text: String| serde_json::from_str::<Json>(&text).unwrap_or(Json::String(text));
                prop_assert_eq!(parse(ours(&value)), parse(theirs(json)));
            }
        }
        for end in 0..line.len() {
            let cut = std::str::from_utf8(&line.as_bytes()[..end]).map(|cut| find(cut, &names).is_err());
            prop_assert!(cut.unwrap_or(true));
        }
    }

    /// Long enough for several blocks, with escapes at every position.
    #[test]
    fn long_texts_are_those_of_serde_json(text in "([a-z ]{0,70}|[\"\\\\/\n\t\u{1}\u{e9}\u{1f600}]{1,9}){0,12}", ascii in any::<bool>()) {
        let mut line = json!({"n": 1, "a": text, "z": [text]}).to_string();
        if ascii {
            line = line.chars().fold(String::new(), |mut line, c| {
                match c {
                    ' '..='~' => line.push(c),
                    c => c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| line.push_str(&format!("\\u{unit:04x}"))),
                }
                line
            });
        }
        let found = find(&line, &["a", "z"]).unwrap();
        prop_assert_eq!(ours(&value(&found[0].unwrap(), Guess::Text).unwrap()), text.clone());
        let list = ours(&value(&found[1].unwrap(), Guess::Json).unwrap());
        prop_assert_eq!(serde_json::from_str::<Vec<String>>(&list).unwrap(), vec![text]);
        for end in line.len().saturating_sub(200)..line.len() {
            prop_assert!(std::str::from_utf8(&line.as_bytes()[..end]).map_or(true, |cut| find(cut, &["a"]).is_err()));
        }
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(prop::sample::select(br#"{}[]":,\ abntrue01.-u"#.to_vec()), 0..60)) {
        fuzz_json(&bytes);
    }
}
