use super::*;
use infeed_core::{Dim, Dtype, Image, Scratch};

fn made(args: &str) -> Result<Box<dyn Transform>> {
    ENTRY.make(&serde_json::from_str(args).unwrap())
}

/// The pixels of a small image after a transform.
fn pixels(transform: &dyn Transform, row: u64) -> Vec<u8> {
    let mut scratch = Scratch::new();
    let before = (0..8 * 6 * 3).map(|i| (i * 7 % 251) as u8).collect();
    let mut value = Value::Image(Box::new(Image::raw(8, 6, 3, before).unwrap()));
    transform.apply(&mut value, &mut Context { rng: Rng::at(1, 0, row, 0), scratch: &mut scratch }).unwrap();
    let Value::Image(image) = value else { panic!("no image") };
    let mut out = vec![0; image.bytes()];
    image.render(&mut scratch, &mut out).unwrap();
    out
}

const FLIPS: &str = r#"[{"name": "RandomHorizontalFlip", "args": {"p": 1}}, {"name": "RandomVerticalFlip", "args": {"p": 1}}]"#;

#[test]
fn all_or_none() {
    let never = made(&format!(r#"{{"transforms": {FLIPS}, "p": 0}}"#)).unwrap();
    let always = made(&format!(r#"{{"transforms": {FLIPS}, "p": 1}}"#)).unwrap();
    let often = made(&format!(r#"{{"transforms": {FLIPS}, "p": 0.8}}"#)).unwrap();
    let (same, turned) = (pixels(&*never, 0), pixels(&*always, 0));
    assert!(same.chunks(3).rev().eq(turned.chunks(3)), "both flips turn an image upside down");
    let mut count = 0;
    for row in 0..2000 {
        let one = pixels(&*often, row);
        assert!(one == same || one == turned, "row {row} got one of two transforms");
        count += usize::from(one == turned);
    }
    assert!((1540..1660).contains(&count), "{count} of 2000");
}

#[test]
fn moves_are_those_of_the_pixels() {
    let often = made(&format!(r#"{{"transforms": {FLIPS}, "p": 0.5}}"#)).unwrap();
    let same = pixels(&*made(&format!(r#"{{"transforms": {FLIPS}, "p": 0}}"#)).unwrap(), 0);
    for row in 0..50 {
        let moves = often.moves((8, 6), None, &mut Rng::at(1, 0, row, 0)).unwrap();
        assert_eq!(moves.list.len(), if pixels(&*often, row) == same { 0 } else { 2 });
    }
    assert_eq!(often.reach(), Reach::Places);
}

#[test]
fn wrong_arguments_are_named() {
    let wrong = |args: &str| made(args).unwrap_err().to_string();
    assert!(wrong(r#"{"transforms": []}"#).contains("must be a list of transforms"));
    assert!(wrong(r#"{"transforms": ["<function>"]}"#).contains("Python functions go into map()"));
    assert!(wrong(r#"{"transforms": [{"name": "Flop", "args": {}}]}"#).contains("no transform `Flop`"));
    assert!(wrong(r#"{"transforms": [{"name": "RandomIoUCrop", "args": {}}]}"#).contains("chooses by boxes"));
    let nested = r#"{"transforms": [{"name": "RandomApply", "args": {"transforms": []}}]}"#;
    assert!(wrong(nested).contains("multiply"));
}

#[test]
fn shapes_and_types_stay() {
    let mut image = FieldSpec::image(Dim::Fixed(3));
    image.shape = vec![Dim::Fixed(20), Dim::Fixed(30), Dim::Fixed(3)];
    for (args, what) in [
        (r#"{"name": "Resize", "args": {"size": [9, 13]}}"#, "Resize makes"),
        (r#"{"name": "ToDtype", "args": {"dtype": "f32"}}"#, "ToDtype makes"),
    ] {
        let one = made(&format!(r#"{{"transforms": [{args}]}}"#)).unwrap();
        let error = one.spec(&image).unwrap_err().to_string();
        assert!(error.contains(what) && error.contains("outside of RandomApply"), "{error}");
    }
    let same = made(&format!(r#"{{"transforms": {FLIPS}}}"#)).unwrap().spec(&image).unwrap();
    assert_eq!((same.dtype, same.fixed_shape()), (Dtype::U8, Some(vec![20, 30, 3])));
}
