use super::*;
use crate::transform::golden::check_ops;

#[test]
fn every_operation_and_magnitude_as_pillow() {
    check_ops(include_bytes!("golden/ops.bin"), &Op::COMMON, Space::WIDE, 31);
}
