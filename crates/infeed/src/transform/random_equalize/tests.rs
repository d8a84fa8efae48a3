use super::*;
use crate::transform::golden::check_entry;

#[test]
fn as_pillow() {
    check_entry(include_bytes!("golden/pixels.bin"), &ENTRY, |_| r#"{"p": 1}"#.to_owned());
}
