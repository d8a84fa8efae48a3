use super::*;
use crate::transform::golden::check_ops;

#[test]
fn every_operation_and_magnitude_as_pillow() {
    check_ops(include_bytes!("golden/ops.bin"), &Op::COMMON, Space::USUAL, 31);
}

#[test]
fn magnitude_is_a_bin() {
    let make = |json: &str| ENTRY.make(&serde_json::from_str(json).unwrap());
    assert!(make(r#"{"magnitude": 31}"#).unwrap_err().to_string().contains("num_magnitude_bins"));
    assert!(make(r#"{"magnitude": 9, "num_magnitude_bins": 10, "fill": [1, 2, 3]}"#).is_ok());
    assert!(make(r#"{"num_ops": -1}"#).is_err());
}
