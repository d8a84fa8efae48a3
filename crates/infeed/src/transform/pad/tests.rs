use super::*;
use infeed_core::{Rng, Scratch};

fn pad(json: &str) -> Result<Vec<u8>> {
    let transform = ENTRY.make(&serde_json::from_str(json).unwrap())?;
    let mut scratch = Scratch::new();
    let mut value = Value::Image(Box::new(Image::raw(3, 1, 1, vec![1, 2, 3])?));
    transform.apply(&mut value, &mut Context { rng: Rng::at(0, 0, 0, 0), scratch: &mut scratch })?;
    let image = value.image_mut()?;
    let mut out = vec![0; image.bytes()];
    image.render(&mut scratch, &mut out)?;
    Ok(out)
}

#[test]
fn every_mode() {
    assert_eq!(pad(r#"{"padding": [2, 0], "fill": 9}"#).unwrap(), [9, 9, 1, 2, 3, 9, 9]);
    assert_eq!(pad(r#"{"padding": [1, 0, 2, 0], "padding_mode": "edge"}"#).unwrap(), [1, 1, 2, 3, 3, 3]);
    assert_eq!(pad(r#"{"padding": [1, 0], "padding_mode": "symmetric"}"#).unwrap(), [1, 1, 2, 3, 3]);
    let error = pad(r#"{"padding": [2, 0], "padding_mode": "reflect"}"#).unwrap_err().to_string();
    assert!(error.contains("cannot mirror"), "{error}");
}

#[test]
fn reflect_does_not_repeat_the_edge() {
    let order: Vec<i64> = (-2..5).map(|at| Mode::Reflect.source(at, 3)).collect();
    assert_eq!(order, [2, 1, 0, 1, 2, 1, 0]);
}
