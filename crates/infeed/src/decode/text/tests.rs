//! Valid and invalid text.

use super::super::tests::decode;
use infeed_core::Value;

#[test]
fn text_stays_as_it_is() {
    for text in ["", "a cat\n", "猫 ä"] {
        let Ok(Value::Text(out)) = decode("text", "{}", text.as_bytes()) else { panic!() };
        assert_eq!(out, text);
    }
}

#[test]
fn the_first_wrong_byte_is_named() {
    let message = decode("text", "{}", b"caf\xe9!").unwrap_err();
    assert!(message.contains("`\\xe9!` at offset 3"), "{message}");
    assert!(decode("text", "{}", b"cut \xe7\x8c").unwrap_err().contains("offset 4"));
}
