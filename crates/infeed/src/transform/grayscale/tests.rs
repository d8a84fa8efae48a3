use super::*;
use crate::transform::golden::check;

#[test]
fn as_pillow() {
    check(include_bytes!("golden/pixels.bin"), 0, |image, case, context| {
        gray(image, case.at(0) as u8, context)
    });
}

#[test]
fn spec_knows_the_channels() {
    let transform = ENTRY.make(&serde_json::Map::new()).unwrap();
    let hwc = transform.spec(&FieldSpec::image(Dim::Fixed(3))).unwrap();
    assert_eq!(hwc.to_string(), "image hwc u8[?, ?, 1]");
    let chw = transform.spec(&FieldSpec::image(Dim::Fixed(3)).with_layout(PixelLayout::Chw)).unwrap();
    assert_eq!(chw.to_string(), "image chw u8[1, ?, ?]");
    assert!(transform.spec(&FieldSpec::image(Dim::Fixed(4))).is_err());
}
