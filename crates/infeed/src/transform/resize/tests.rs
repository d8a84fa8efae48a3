use super::*;

fn resize(json: &str) -> Result<Box<dyn Transform>> {
    ENTRY.make(&serde_json::from_str(json).unwrap())
}

/// (height, width) -> (height, width) as `torchvision.transforms.v2.Resize` computes them.
#[test]
fn short_side_as_torchvision() {
    let short = |side, longest| Resize {
        sides: Sides::of("Resize", &[1]),
        size: Size::Short { side, longest },
        filter: Filter::Bilinear,
        antialias: true,
    };
    assert_eq!(short(256, None).target(375, 500), (256, 341));
    assert_eq!(short(256, None).target(500, 375), (341, 256));
    assert_eq!(short(256, None).target(333, 333), (256, 256));
    assert_eq!(short(100, Some(120)).target(100, 1000), (12, 120));
    assert_eq!(short(10, None).target(1, 6553), (10, 65_530));
    assert_eq!(short(256, None).target(65_500, 1), (16_768_000, 256));
}

#[test]
fn spec_knows_the_size() {
    let image = FieldSpec::image(Dim::Fixed(3));
    let both = resize(r#"{"size": [3, 4]}"#).unwrap().spec(&image).unwrap();
    assert_eq!(both.to_string(), "image hwc u8[3, 4, 3]");
    let short = resize(r#"{"size": 8}"#).unwrap();
    assert_eq!(short.spec(&image).unwrap().to_string(), "image hwc u8[?, ?, 3]");
    assert_eq!(short.spec(&both).unwrap().to_string(), "image hwc u8[8, 10, 3]");
}

#[test]
fn refuses_what_makes_no_sense() {
    assert!(resize(r#"{"size": 0}"#).is_err());
    assert!(resize(r#"{"size": 10, "max_size": 10}"#).is_err());
    assert!(resize(r#"{"size": [3, 4], "max_size": 10}"#).is_err());
    assert!(resize(r#"{"size": 10, "interpolation": "cubic"}"#).is_err());
    let text = resize(r#"{"size": 8}"#).unwrap().spec(&FieldSpec::text()).unwrap_err().to_string();
    assert!(text.contains("works on images"), "{text}");
}
