use super::*;
use infeed_core::{Image, Rng, Scratch};

fn crop(json: &str, size: u32, row: u64) -> Result<Vec<u8>> {
    let transform = ENTRY.make(&serde_json::from_str(json).unwrap())?;
    let mut scratch = Scratch::new();
    let pixels = (0..size * size).map(|i| i as u8 + 1).collect();
    let mut value = Value::Image(Box::new(Image::raw(size, size, 1, pixels)?));
    transform.apply(&mut value, &mut Context { rng: Rng::at(0, 0, row, 0), scratch: &mut scratch })?;
    let image = value.image_mut()?;
    let mut out = vec![0; image.bytes()];
    image.render(&mut scratch, &mut out)?;
    Ok(out)
}

#[test]
fn every_place_comes_up() {
    let mut seen: Vec<u8> = (0..200).map(|row| crop(r#"{"size": 2}"#, 4, row).unwrap()[0]).collect();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen, [1, 2, 3, 5, 6, 7, 9, 10, 11]);
}

#[test]
fn padding_shows_the_fill() {
    let outs: Vec<Vec<u8>> =
        (0..100).map(|row| crop(r#"{"size": 4, "padding": 2, "fill": 99}"#, 4, row).unwrap()).collect();
    assert!(outs.iter().any(|o| o[0] == 99) && outs.iter().any(|o| o[15] == 99));
    assert!(
        outs.iter().any(|o| *o == (1..=16).collect::<Vec<u8>>()),
        "the unpadded middle is one of 25 places"
    );
}

#[test]
fn too_small_is_an_error_or_padded() {
    assert!(crop(r#"{"size": 8}"#, 4, 0).unwrap_err().to_string().contains("pad_if_needed"));
    assert_eq!(crop(r#"{"size": 8, "pad_if_needed": true}"#, 4, 0).unwrap().len(), 64);
}
