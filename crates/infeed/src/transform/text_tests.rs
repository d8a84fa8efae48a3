//! Tests of the token transforms: `apply` does what `spec` promises, both places fit together, and the same address
//! gives the same result.

use super::{
    SEQUENCES,
    tokens::{read, write},
};
use infeed_core::{Context, Dim, Dtype, FieldSpec, Result, Rng, Scratch, Transform, Value, registry};
use serde_json::{Value as Json, json};
use std::sync::Arc;

fn make(name: &str, args: &Json) -> Result<Box<dyn Transform>> {
    registry::find(SEQUENCES, name, "transform")?.make(args.as_object().unwrap())
}

fn tokens(dtype: Dtype, n: usize) -> Value {
    Value::Tensor(write(dtype, &(0..n as i64).map(|i| 10 + i % 80).collect::<Vec<_>>()).unwrap())
}

fn apply(transform: &dyn Transform, mut value: Value, row: u64) -> Result<(Vec<usize>, Dtype, Vec<i64>)> {
    let mut scratch = Scratch::new();
    transform.apply(&mut value, &mut Context { rng: Rng::at(3, 1, row, 0), scratch: &mut scratch })?;
    match value {
        Value::Tensor(t) => Ok((t.shape.clone(), t.dtype, read(&t)?)),
        other => panic!("{other:?}"),
    }
}

/// Arguments for each except `Tokenize`, which needs a file.
fn cases() -> Vec<(&'static str, Json)> {
    vec![
        ("Truncate", json!({"length": 7})),
        ("Truncate", json!({"length": 7, "side": "left"})),
        ("PadTo", json!({"length": 200, "value": 3})),
        ("PadTo", json!({"multiple": 64, "side": "left"})),
        ("MaskTokens", json!({"mask": 5, "vocab": 100})),
        ("CorruptSpans", json!({"sentinel_start": 99, "eos": 1})),
        ("CorruptSpans", json!({"sentinel_start": 99, "length": 40})),
    ]
}

fn at(transform: &dyn Transform, place: usize) -> Option<Arc<dyn Transform>> {
    transform.at(place).unwrap()
}

#[test]
fn specs_tell_the_truth() {
    assert!(
        SEQUENCES
            .iter()
            .all(|e| matches!(e.name, "Tokenize" | "Length") || cases().iter().any(|(n, _)| *n == e.name))
    );
    for (name, args) in cases() {
        let made = make(name, &args).unwrap();
        for dtype in [Dtype::I32, Dtype::I64, Dtype::I16] {
            for size in [1, 2, 5, 100, 150] {
                for place in 0..2 {
                    let here = at(&*made, place);
                    let here = here.as_deref().unwrap_or(&*made);
                    let (shape, got, _) = apply(here, tokens(dtype, size), 0).unwrap();
                    let fixed = here.spec(&FieldSpec::array(dtype, vec![Dim::Fixed(size)])).unwrap();
                    assert_eq!(
                        (fixed.fixed_shape().unwrap(), fixed.dtype),
                        (shape.clone(), got),
                        "{name} {args} {size}"
                    );
                    let open = here.spec(&FieldSpec::array(dtype, vec![Dim::Any])).unwrap();
                    assert!(open.fixed_shape().is_none_or(|s| s == shape), "{name} {args} {size}");
                }
            }
        }
        for wrong in [
            FieldSpec::encoded(),
            FieldSpec::text(),
            FieldSpec::scalar(Dtype::I64),
            FieldSpec::image(Dim::Any),
        ] {
            assert!(made.spec(&wrong).is_err(), "{name} takes {wrong}");
        }
        assert!(apply(&*made, Value::Text("x".into()), 0).is_err());
    }
}

#[test]
fn the_address_decides() {
    for name in ["MaskTokens", "CorruptSpans"] {
        let args = cases().into_iter().find(|(n, _)| *n == name).unwrap().1;
        let made = make(name, &args).unwrap();
        let (first, second) = (at(&*made, 0).unwrap(), at(&*made, 1).unwrap());
        let run = |row| {
            (
                apply(&*first, tokens(Dtype::I64, 90), row).unwrap().2,
                apply(&*second, tokens(Dtype::I64, 90), row).unwrap().2,
            )
        };
        assert_eq!(run(1), run(1));
        assert_ne!(run(1), run(2));
        let original = read(match &tokens(Dtype::I64, 90) {
            Value::Tensor(t) => t,
            _ => unreachable!(),
        })
        .unwrap();
        if name == "MaskTokens" {
            let (inputs, labels) = run(1);
            let back: Vec<i64> =
                inputs.iter().zip(&labels).map(|(i, l)| if *l == -100 { *i } else { *l }).collect();
            assert_eq!(back, original);
            assert!(labels.iter().any(|l| *l != -100));
        } else {
            let (inputs, targets) = run(1);
            let mut rest = targets.split(|t| (90..=99).contains(t)).skip(1);
            let back: Vec<i64> = inputs[..inputs.len() - 1]
                .iter()
                .flat_map(|t| if (90..=99).contains(t) { rest.next().unwrap().to_vec() } else { vec![*t] })
                .collect();
            assert_eq!(back.strip_suffix(&[1]).unwrap_or(&back), original);
        }
        assert!(made.at(2).is_err(), "{name} has two places");
    }
}

#[test]
fn values_are_where_they_should_be() {
    let run = |name, args: Json, n| apply(&*make(name, &args).unwrap(), tokens(Dtype::I32, n), 0).unwrap().2;
    assert_eq!(run("Truncate", json!({"length": 3}), 5), [10, 11, 12]);
    assert_eq!(run("Truncate", json!({"length": 3, "side": "left"}), 5), [12, 13, 14]);
    assert_eq!(run("PadTo", json!({"length": 5, "value": -1}), 3), [10, 11, 12, -1, -1]);
    assert_eq!(run("PadTo", json!({"length": 5, "side": "left"}), 3), [0, 0, 10, 11, 12]);
    assert_eq!(run("PadTo", json!({"multiple": 4}), 4), [10, 11, 12, 13]);
    assert_eq!(run("PadTo", json!({"multiple": 4}), 5).len(), 8);
}

#[test]
fn slips_are_named() {
    for (name, args, wanted) in [
        ("PadTo", json!({}), "one of length, multiple and size"),
        ("PadTo", json!({"length": 3, "multiple": 2}), "one of length, multiple and size"),
        ("MaskTokens", json!({"mask": 5, "vocab": 3}), "not among"),
        ("MaskTokens", json!({"mask": 5, "vocab": 9, "keep": 0.9, "random": 0.9}), "more than 1"),
        ("CorruptSpans", json!({"sentinel_start": 9, "density": 0}), "density"),
        ("Truncate", json!({"length": 0}), "at least 1"),
    ] {
        let error = make(name, &args).err().unwrap().to_string();
        assert!(error.contains(wanted), "{name}: {error}");
    }
    let unsigned = FieldSpec::array(Dtype::U16, vec![Dim::Any]);
    let masking = make("MaskTokens", &json!({"mask": 5, "vocab": 9})).unwrap();
    assert!(at(&*masking, 0).unwrap().spec(&unsigned).is_ok());
    // Labels have room for -100 whatever the tokens are.
    assert_eq!(at(&*masking, 1).unwrap().spec(&unsigned).unwrap().dtype, Dtype::I64);
    let small = FieldSpec::array(Dtype::I8, vec![Dim::Any]);
    let many = make("MaskTokens", &json!({"mask": 5, "vocab": 300})).unwrap();
    let error = at(&*many, 0).unwrap().spec(&small).unwrap_err().to_string();
    assert!(error.contains("299") && error.contains("int64"), "{error}");
    let pad = make("PadTo", &json!({"length": 3})).unwrap();
    let error = pad.spec(&FieldSpec::array(Dtype::I32, vec![Dim::Fixed(5)])).unwrap_err().to_string();
    assert!(error.contains("Truncate"), "{error}");
    let error = apply(&*pad, tokens(Dtype::I32, 5), 0).unwrap_err().to_string();
    assert!(error.contains("Truncate"), "{error}");
}
