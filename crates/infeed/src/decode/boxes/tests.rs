use super::*;
use infeed_core::Tensor;
use serde_json::json;

fn numbers(args: serde_json::Value, value: Value) -> Result<Vec<f32>> {
    let decoder = ENTRY.make(args.as_object().unwrap())?;
    let mut scratch = Scratch::new();
    let value = match value {
        Value::Bytes(bytes) => decoder.decode(&bytes, &mut scratch)?,
        other => decoder.decode_value(other, &mut scratch)?,
    };
    let Value::Boxes(mut boxes) = value else { panic!("no boxes") };
    boxes.place((100, 50))?;
    let (tensor, _) = boxes.finish()?;
    Ok(tensor.data.chunks_exact(4).map(|b| f32::from_ne_bytes(b.try_into().unwrap())).collect())
}

fn text(json: &'static str) -> Value {
    Value::Bytes(Bytes::from_static(json.as_bytes()))
}

#[test]
fn boxes_are_read_from_what_there_is() {
    let want = [10.0, 20.0, 40.0, 45.0];
    assert_eq!(numbers(json!({}), text("[[10, 20, 40, 45]]")).unwrap(), want);
    assert_eq!(numbers(json!({"format": "xywh"}), text("[[10, 20, 30, 25]]")).unwrap(), want);
    assert_eq!(numbers(json!({"format": "cxcywh"}), text("[[25, 32.5, 30, 25]]")).unwrap(), want);
    let shares = json!({"format": "cxcywh", "relative": true});
    assert_eq!(numbers(shares, text("[[0.25, 0.65, 0.3, 0.5]]")).unwrap(), want);
    assert_eq!(numbers(json!({}), Value::Json("[10, 20, 40, 45]".into())).unwrap(), want);
    let data: Vec<u8> = [10i64, 20, 40, 45].iter().flat_map(|n| n.to_ne_bytes()).collect();
    let tensor = Tensor::new(Dtype::I64, vec![1, 4], data.into()).unwrap();
    assert_eq!(numbers(json!({}), Value::Tensor(tensor)).unwrap(), want);
    assert_eq!(numbers(json!({}), text("[]")).unwrap(), [0.0; 0]);
    let to = json!({"to": "cxcywh", "to_relative": true});
    assert_eq!(numbers(to, text("[[10, 20, 40, 45]]")).unwrap(), [0.25, 0.65, 0.3, 0.5]);
}

#[test]
fn what_is_no_list_of_boxes_is_refused() {
    for (stored, what) in [
        ("[[]]", "four numbers"),
        ("[[1, 2, 3]]", "four numbers"),
        ("[1, 2, 3, 4, 5]", "four numbers"),
        ("[[1, 2, 3, 4], [1, 2, 3]]", "side by side"),
        ("[[1, 2, 3, \"4\"]]", "lists of numbers"),
        ("{\"x\": 1}", "lists of numbers"),
        ("[[1, 2, 3, 4", "not JSON"),
        ("[[1, 2, null, 4]]", "lists of numbers"),
        ("[[5, 5, 1, 9]]", "negative"),
        ("[[1, 2, 3, 4], 5]", "lists of numbers"),
        ("[[[1, 2, 3, 4]]]", "four numbers"),
    ] {
        let error = numbers(json!({}), text(stored)).unwrap_err().to_string();
        assert!(error.contains(what), "{stored}: {error}");
    }
    let error = numbers(json!({}), Value::Missing).unwrap_err().to_string();
    assert!(error.contains("no such field"), "{error}");
    for args in [
        json!({"format": "ltrb"}),
        json!({"to": "x"}),
        json!({"min_visible": 2}),
        json!({"min_size": -1}),
        json!({"along": 3}),
    ] {
        assert!(ENTRY.make(args.as_object().unwrap()).is_err(), "{args}");
    }
}
