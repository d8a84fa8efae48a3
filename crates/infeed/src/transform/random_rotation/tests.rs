use super::*;
use crate::transform::golden::check;

#[test]
fn as_pillow() {
    check(include_bytes!("golden/pixels.bin"), 0, |image, case, context| {
        let rotate = Rotate {
            sampling: if case.at(1) == 1.0 { Sampling::Bilinear } else { Sampling::Nearest },
            expand: case.at(2) == 1.0,
            center: case.pair(3),
            fill: [case.at(5) as u8; 4],
        };
        rotate.apply(image, case.at(0), context)
    });
}

#[test]
fn refuses_what_makes_no_sense() {
    let make = |json: &str| ENTRY.make(&serde_json::from_str(json).unwrap());
    assert!(make(r#"{"degrees": -3}"#).is_err());
    assert!(make(r#"{"degrees": [1, 2, 3]}"#).is_err());
    assert!(make(r#"{"degrees": 3, "fill": 256}"#).is_err());
    assert!(make(r#"{"degrees": 3, "interpolation": "lanczos"}"#).is_err());
    let mut float = FieldSpec::image(Dim::Fixed(3));
    float.dtype = infeed_core::Dtype::F32;
    let error = make(r#"{"degrees": 3}"#).unwrap().spec(&float).unwrap_err().to_string();
    assert!(error.contains("put it before Normalize"), "{error}");
}
