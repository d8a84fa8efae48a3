//! Valid and invalid JSON.

use super::super::tests::decode;
use infeed_core::Value;

fn json(bytes: &[u8]) -> Result<String, String> {
    match decode("json", "{}", bytes)? {
        Value::Json(text) => Ok(text),
        other => panic!("{other:?}"),
    }
}

#[test]
fn valid_json_keeps_its_text() {
    for text in ["{\"a\": [1, 2.50, null]}\n", "3", "\"\\u00e4\"", "1e400"] {
        assert_eq!(json(text.as_bytes()).as_deref(), Ok(text));
    }
    assert_eq!(json(b"\xef\xbb\xbf[]").as_deref(), Ok("[]"));
}

#[test]
fn errors_say_where() {
    assert!(json(b"{\"a\": }").unwrap_err().contains("line 1 column 7"));
    assert!(json(b"").unwrap_err().contains("nothing in it"));
    assert!(json(b"\"\xff\"").unwrap_err().contains("offset 1"));
    assert!(json(b"[1] [2]").is_err());
    assert!(json(b"NaN").is_err());
}

#[test]
fn what_parsers_cannot_take_is_refused() {
    let nested = |depth: usize| ["[".repeat(depth), "]".repeat(depth)].concat();
    assert!(json(nested(100).as_bytes()).is_ok());
    for depth in [101, 1_000_000] {
        assert!(json(nested(depth).as_bytes()).unwrap_err().contains("more than 100 levels"));
    }
    assert!(json("[".repeat(1_000_000).as_bytes()).is_err());
    let number = format!("{{\"a\": {}}}", "9".repeat(5000));
    assert!(json(number.as_bytes()).unwrap_err().contains("5000 digits"));
}
