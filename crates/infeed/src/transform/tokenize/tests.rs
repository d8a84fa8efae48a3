use super::*;
use infeed_core::{Rng, Scratch};
use serde_json::json;

/// A tokenizer of five words.
fn file(dir: &std::path::Path) -> String {
    let path = dir.join("tokenizer.json");
    let file = json!({
        "version": "1.0", "added_tokens": [], "pre_tokenizer": {"type": "Whitespace"},
        "model": {"type": "WordLevel", "unk_token": "?", "vocab": {"?": 0, "a": 1, "b": 2, "c": 3, "</s>": 4}},
    });
    std::fs::write(&path, file.to_string()).unwrap();
    path.to_string_lossy().into_owned()
}

fn run(args: serde_json::Value, text: &str) -> Result<Tensor> {
    let transform = ENTRY.make(args.as_object().unwrap())?;
    let mut value = Value::Text(text.to_owned());
    let mut scratch = Scratch::new();
    let mut context = Context { rng: Rng::at(0, 0, 0, 0), scratch: &mut scratch };
    transform.apply(&mut value, &mut context)?;
    match value {
        Value::Tensor(tensor) => {
            assert_eq!(transform.spec(&FieldSpec::text())?.dtype, tensor.dtype);
            Ok(tensor)
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn text_becomes_tokens() {
    let dir = tempfile::tempdir().unwrap();
    let path = file(dir.path());
    for dtype in ["uint16", "int32", "uint32", "int64"] {
        let tensor = run(json!({"tokenizer": path, "eos": "</s>", "dtype": dtype}), "a b x c").unwrap();
        assert_eq!(super::super::tokens::read(&tensor).unwrap(), [1, 2, 0, 3, 4]);
    }
    let tensor =
        run(json!({"tokenizer": path, "max_length": 2, "truncation": "left", "bos": 4}), "a b c").unwrap();
    assert_eq!(super::super::tokens::read(&tensor).unwrap(), [4, 3]);
}

#[test]
fn slips_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let path = file(dir.path());
    for (args, wanted) in [
        (json!({"tokenizer": path, "eos": "</z>"}), "no token `</z>`"),
        (json!({"tokenizer": path, "dtype": "float32"}), "must be uint16"),
        (json!({"tokenizer": path, "truncation": "up"}), "right or left"),
        (json!({"tokenizer": path, "max_length": 1, "eos": 4}), "no room"),
        (json!({"tokenizer": "/no/such.json"}), "not found"),
        (json!({}), "needs the argument `tokenizer`"),
    ] {
        let error = run(args.clone(), "a").unwrap_err().to_string();
        assert!(error.contains(wanted), "{args}: {error}");
    }
    let transform = ENTRY.make(json!({"tokenizer": path}).as_object().unwrap()).unwrap();
    let error = transform.spec(&FieldSpec::encoded()).unwrap_err().to_string();
    assert!(error.contains("decode it first"), "{error}");
}

#[test]
fn a_thread_keeps_the_tokenizers_apart() {
    let dir = tempfile::tempdir().unwrap();
    let path = file(dir.path());
    let make = |args: serde_json::Value| ENTRY.make(args.as_object().unwrap()).unwrap();
    let (plain, ended) = (make(json!({"tokenizer": path})), make(json!({"tokenizer": path, "eos": 4})));
    let mut scratch = Scratch::new();
    for _ in 0..2 {
        for (transform, wanted) in [(&plain, 2), (&ended, 3)] {
            let mut value = Value::Text("a b".to_owned());
            transform
                .apply(&mut value, &mut Context { rng: Rng::at(0, 0, 0, 0), scratch: &mut scratch })
                .unwrap();
            assert!(matches!(value, Value::Tensor(t) if t.shape == [wanted]));
        }
    }
}
