use super::*;
use crate::transform::golden::check_entry;

#[test]
fn as_pillow() {
    check_entry(include_bytes!("golden/pixels.bin"), &ENTRY, |case| {
        format!(r#"{{"threshold": {}, "p": 1}}"#, case.at(0))
    });
}
