use super::*;
use serde_json::json;

fn shape(args: serde_json::Value, stored: &'static str) -> Result<Vec<usize>> {
    let decoder = ENTRY.make(args.as_object().unwrap())?;
    let value = decoder.decode(&Bytes::from_static(stored.as_bytes()), &mut Scratch::new())?;
    let Value::Points(mut points) = value else { panic!("no points") };
    points.place((100, 50))?;
    Ok(points.finish(None)?.shape)
}

#[test]
fn points_are_read_with_and_without_a_shape() {
    assert_eq!(shape(json!({}), "[[[1, 2, 2], [3, 4, 0]]]").unwrap(), [1, 2, 3]);
    assert_eq!(shape(json!({"points": 2}), "[[1, 2, 2, 3, 4, 0], [1, 2, 2, 3, 4, 0]]").unwrap(), [2, 2, 3]);
    assert_eq!(shape(json!({"points": 2}), "[1, 2, 2, 3, 4, 0]").unwrap(), [1, 2, 3]);
    assert_eq!(shape(json!({"points": 2}), "[]").unwrap(), [0, 2, 3]);
    assert_eq!(shape(json!({"visibility": false}), "[[1, 2], [3, 4]]").unwrap(), [2, 2]);
}

#[test]
fn what_is_no_list_of_points_is_refused() {
    for (args, stored, what) in [
        (json!({}), "[1, 2, 2]", "shape"),
        (json!({}), "[[1, 2], [3, 4]]", "shape"),
        (json!({"points": 3}), "[[[1, 2, 2], [3, 4, 0]]]", "shape"),
        (json!({"pairs": [[0, 5]]}), "[[[1, 2, 2], [3, 4, 0]]]", "pairs"),
        (json!({"points": 2, "pairs": [[0, 2]]}), "[]", "pairs"),
        (json!({"pairs": [[0]]}), "[]", "pairs"),
        (json!({"pairs": 3}), "[]", "pairs"),
    ] {
        let error = shape(args, stored).unwrap_err().to_string();
        assert!(error.contains(what), "{stored}: {error}");
    }
}
