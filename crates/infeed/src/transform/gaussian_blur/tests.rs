use super::*;
use crate::transform::golden::check;

/// The kernel is separable here and two-dimensional in torchvision, so sums are rounded in another order.
#[test]
fn as_torchvision_within_one_level() {
    check(include_bytes!("golden/pixels.bin"), 1, |image, case, context| {
        let size = [case.at(0) as usize, case.at(1) as usize];
        GaussianBlur { size, sigma: (1.0, 1.0) }.blur(image, case.at(2), context)
    });
}

#[test]
fn kernels_must_fit() {
    let make = |json: &str| ENTRY.make(&serde_json::from_str(json).unwrap());
    assert!(make(r#"{"kernel_size": 4}"#).is_err());
    assert!(make(r#"{"kernel_size": 3, "sigma": 0}"#).is_err());
    assert!(make(r#"{"kernel_size": 3, "sigma": [2, 1]}"#).is_err());
    let mut spec = FieldSpec::image(Dim::Fixed(3));
    let wide = make(r#"{"kernel_size": [3, 21]}"#).unwrap();
    assert!(wide.spec(&spec).is_ok(), "the size is not known yet");
    spec.shape = vec![Dim::Fixed(10), Dim::Fixed(99), Dim::Fixed(3)];
    assert!(wide.spec(&spec).unwrap_err().to_string().contains("does not fit"));
}
