use super::*;
use crate::transform::golden::check_entry;

#[test]
fn as_pillow() {
    check_entry(include_bytes!("golden/pixels.bin"), &ENTRY, |case| {
        format!(r#"{{"bits": {}, "p": 1}}"#, case.at(0) as u32)
    });
}

#[test]
fn bits_are_checked() {
    assert!(ENTRY.make(&serde_json::from_str(r#"{"bits": 9}"#).unwrap()).is_err());
    assert!(ENTRY.make(&serde_json::from_str(r#"{"bits": 0}"#).unwrap()).is_err());
}
