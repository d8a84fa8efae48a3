//! Tests of every transform: `apply` does what `spec` promises, and the same address gives the same result.

use super::*;
use infeed_core::{Context, Dim, Dtype, FieldSpec, Image, Reach, Rng, Scratch, Value};
use serde_json::{Map, Value as Json};

/// Arguments to test each transform with; a new transform adds its line.
fn sample_args(name: &str) -> &'static str {
    match name {
        "Resize" => r#"{"size": [9, 13]}"#,
        "CenterCrop" | "RandomResizedCrop" => r#"{"size": [9, 13]}"#,
        "RandomCrop" => r#"{"size": [9, 13], "padding": 2}"#,
        "Pad" => r#"{"padding": [1, 2, 3, 4]}"#,
        "ScaleJitter" => r#"{"target_size": [9, 13]}"#,
        "RandomShortestSize" => r#"{"min_size": [9, 13]}"#,
        "RandomPatchMask" | "BlockMask" => r#"{"patches": [3, 4], "ratio": 0.5}"#,
        "Normalize" => r#"{"mean": [0.5, 0.4, 0.3], "std": [0.2, 0.3, 0.4]}"#,
        "ToDtype" => r#"{"dtype": "f16", "scale": true}"#,
        "ColorJitter" => r#"{"brightness": 0.4, "contrast": 0.4, "saturation": 0.4, "hue": 0.1}"#,
        "GaussianBlur" => r#"{"kernel_size": 5}"#,
        "RandomRotation" => r#"{"degrees": 30}"#,
        "RandomAffine" => r#"{"degrees": 30, "translate": [0.2, 0.1], "scale": [0.8, 1.2], "shear": 10}"#,
        "RandomPosterize" => r#"{"bits": 3}"#,
        "RandomSolarize" => r#"{"threshold": 128}"#,
        "RandomApply" => r#"{"transforms": [{"name": "RandomHorizontalFlip", "args": {}}]}"#,
        "RandomAdjustSharpness" => r#"{"sharpness_factor": 2}"#,
        _ => "{}",
    }
}

/// What a transform makes of an image.
#[derive(Debug, PartialEq, Eq)]
struct Made {
    dtype: Dtype,
    shape: Vec<usize>,
    bytes: Vec<u8>,
}

impl Made {
    /// Of an image as it was changed, or of the array that it became.
    fn of(value: Value, scratch: &mut Scratch) -> Made {
        match value {
            Value::Tensor(t) => Made { dtype: t.dtype, shape: t.shape, bytes: t.data.to_vec() },
            Value::Image(image) => {
                let mut bytes = vec![0; image.bytes()];
                image.render(scratch, &mut bytes).unwrap();
                Made { dtype: image.finish.dtype, shape: image.shape(), bytes }
            }
            other => panic!("a transform of images gave {}", other.what()),
        }
    }
}

fn run(entry: &Entry<dyn Transform>, args: &Map<String, Json>, row: u64) -> (FieldSpec, Made) {
    let transform = entry.make(args).unwrap();
    let mut spec = FieldSpec::image(Dim::Fixed(3));
    spec.shape = vec![Dim::Fixed(20), Dim::Fixed(30), Dim::Fixed(3)];
    let mut scratch = Scratch::new();
    let pixels = (0..20 * 30 * 3).map(|i| (i * 7 % 251) as u8).collect();
    let mut value = Value::Image(Box::new(Image::raw(30, 20, 3, pixels).unwrap()));
    transform.apply(&mut value, &mut Context { rng: Rng::at(3, 1, row, 0), scratch: &mut scratch }).unwrap();
    (transform.spec(&spec).unwrap(), Made::of(value, &mut scratch))
}

/// The transforms that work on an image by itself.
fn alone() -> impl Iterator<Item = (&'static Entry<dyn Transform>, Map<String, Json>)> {
    let made = ENTRIES.iter().map(|e| (*e, serde_json::from_str(sample_args(e.name)).unwrap()));
    made.filter(|(e, args)| e.make(args).unwrap().reach() != Reach::Scene)
}

#[test]
fn spec_tells_the_truth() {
    for (entry, args) in alone() {
        for row in 0..20 {
            let (spec, made) = run(entry, &args, row);
            if let Some(shape) = spec.fixed_shape() {
                assert_eq!(shape, made.shape, "{}", entry.name);
                assert_eq!(spec.fixed_bytes().unwrap(), made.bytes.len(), "{}", entry.name);
            }
            assert_eq!(spec.dtype, made.dtype, "{}", entry.name);
        }
    }
}

#[test]
fn the_address_decides() {
    for (entry, args) in alone() {
        for row in 0..5 {
            assert_eq!(run(entry, &args, row).1, run(entry, &args, row).1, "{}", entry.name);
        }
        if entry.name.starts_with("Random") || entry.name == "BlockMask" {
            let first = run(entry, &args, 0).1;
            assert!((1..20).any(|row| run(entry, &args, row).1 != first), "{} never varies", entry.name);
        }
    }
}

/// A cache keeps what stands before it, so nothing that is drawn may say that it is not.
#[test]
fn what_says_that_it_is_not_random_never_varies() {
    for (entry, args) in alone() {
        let first = run(entry, &args, 0).1;
        let varies = (1..60).any(|row| run(entry, &args, row).1 != first);
        assert_eq!(entry.make(&args).unwrap().is_random(), varies, "{}", entry.name);
    }
}

#[test]
fn only_images_are_taken() {
    for entry in ENTRIES {
        let transform = entry.make(&serde_json::from_str(sample_args(entry.name)).unwrap()).unwrap();
        let error = transform.spec(&FieldSpec::encoded()).unwrap_err().to_string();
        assert!(error.contains("decode it first"), "{}: {error}", entry.name);
    }
}

#[test]
fn defaults_are_json() {
    for entry in ENTRIES {
        for param in entry.params {
            if let Some(default) = param.default {
                serde_json::from_str::<Json>(default)
                    .unwrap_or_else(|e| panic!("{}.{}: {e}", entry.name, param.name));
            }
        }
    }
}
