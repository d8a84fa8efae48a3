//! Sources side by side: by the numbers of rows, and by a coordinate.

use super::*;
use crate::read::{Cells, MemorySource};
use infeed_core::{Dtype, OrderExt};

/// A source whose field has the number of its row, and a coordinate.
fn source(field: &str, first: i64, times: &[i64]) -> Arc<dyn Source> {
    let cells = |values: Vec<i64>| {
        let data: Vec<u8> = values.iter().flat_map(|value| value.to_ne_bytes()).collect();
        Cells::Array { dtype: Dtype::I64, shape: vec![], data: data.into() }
    };
    let own = (0..times.len() as i64).map(|row| first + row).collect();
    let fields = vec![(field.to_owned(), cells(own)), ("time".to_owned(), cells(times.to_vec()))];
    Arc::new(MemorySource::new(field, times.len() as u64, fields).unwrap())
}

/// `a` has the times 0 to 9, `b` every second of them and others, backwards; `c` as many rows as `a`.
fn plan(how: &str, parts: &[&str], stages: &str) -> Result<Arc<Plan>> {
    let part = |path: &&str| format!(r#"{{"source": {{"paths": ["{path}"]}}}}"#);
    let parts: Vec<String> = parts.iter().map(part).collect();
    let recipe = format!(
        r#"{{"source": {{"join": {how}, "part": [{}]}}, "stage": [{stages}{{"op": "batch", "size": 3}}]}}"#,
        parts.join(", ")
    );
    let recipe = Recipe::from_json(&recipe).unwrap();
    assert_eq!(Recipe::from_toml(&recipe.to_toml().unwrap()).unwrap(), recipe);
    Plan::with(recipe, &mut |source_recipe| {
        Ok(Opened::Rows(match source_recipe.paths[0].as_str() {
            "a" => source("x", 0, &(0..10).collect::<Vec<_>>()),
            "b" => source("y", 100, &(0..12).rev().map(|time| time * 2).collect::<Vec<_>>()),
            "c" => source("z", 200, &(0..10).collect::<Vec<_>>()),
            "twice" => source("z", 200, &[1, 2, 1]),
            _ => source("x", 300, &[77, 78]),
        }))
    })
    .map(Arc::new)
}

fn columns(plan: &Arc<Plan>, names: &[&str]) -> Vec<Vec<i64>> {
    let mut loader = Loader::new(Arc::clone(plan), threads(2)).unwrap();
    let mut run = loader.start().unwrap();
    let mut out = vec![vec![]; names.len()];
    while let Next::Batch(batch) = run.next(None).unwrap() {
        for (name, out) in names.iter().zip(&mut out) {
            let (numbers, _) = batch.column(name).and_then(Column::bytes).unwrap().as_chunks::<8>();
            out.extend(numbers.iter().map(|bytes| i64::from_ne_bytes(*bytes)));
        }
    }
    out
}

#[test]
fn rows_of_the_same_number() {
    let zipped = plan(r#"{"op": "zip", "names": ["p", "q"]}"#, &["a", "c"], "").unwrap();
    let fields: Vec<&str> = zipped.spec.fields.iter().map(|(name, _)| &**name).collect();
    assert_eq!(fields, ["p.x", "p.time", "q.z", "q.time"]);
    let got = columns(&zipped, &["p.x", "q.z"]);
    assert_eq!(got, [(0..10).collect::<Vec<i64>>(), (200..210).collect()]);
    let error = plan(r#"{"op": "zip", "names": ["p", "q"]}"#, &["a", "b"], "").unwrap_err().to_string();
    assert!(error.contains("part 0 has 10 rows, and part 1 has 12"), "{error}");
    let error = plan(r#"{"op": "zip"}"#, &["a", "c"], "").unwrap_err().to_string();
    assert!(error.contains("the field `time` is in part 0 and in part 1"), "{error}");
    let error = plan(r#"{"op": "zip", "names": ["p"]}"#, &["a", "c"], "").unwrap_err().to_string();
    assert!(error.contains("1 names for 2 parts"), "{error}");
}

#[test]
fn rows_of_the_same_time() {
    let zipped = plan(r#"{"op": "zip", "on": "time"}"#, &["a", "b", "c"], "").unwrap();
    assert_eq!(
        columns(&zipped, &["time", "x", "y", "z"]),
        [
            vec![0, 2, 4, 6, 8],
            vec![0, 2, 4, 6, 8],
            vec![111, 110, 109, 108, 107],
            vec![200, 202, 204, 206, 208]
        ]
    );
    let said = zipped.explain();
    assert!(
        said.contains(
            "joined on `time` to 5 rows (part 0 leaves out 5 of 10 rows, part 1 leaves out 7 of 12"
        ),
        "{said}"
    );
    // In another order, and with some fields alone.
    let stages = r#"{"op": "shuffle", "seed": 3}, {"op": "select", "fields": ["y", "x"]}, "#;
    let shuffled = plan(r#"{"op": "zip", "on": "time"}"#, &["a", "b"], stages).unwrap();
    let order: Vec<i64> = shuffled.order.rows(0, 0..5).iter().map(|row| *row as i64).collect();
    let x: Vec<i64> = order.iter().map(|row| row * 2).collect();
    assert_eq!(columns(&shuffled, &["x", "y"]), [x, order.iter().map(|row| 111 - row).collect()]);
}

#[test]
fn what_cannot_be_joined_is_named() {
    for (parts, message) in [
        (["a", "twice"], "rows 0 and 2 of part 1 (z) have the same `time`"),
        (["twice", "a"], "rows 0 and 2 of part 0 (z) have the same `time`"),
        (["a", "other"], "no value of `time` is in all 2 parts"),
    ] {
        let error = plan(r#"{"op": "zip", "on": "time"}"#, &parts, "").unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
    let error = plan(r#"{"op": "zip", "on": "when"}"#, &["a", "b"], "").unwrap_err().to_string();
    assert!(error.contains("part 0 (x) has no field `when`; it has x, time"), "{error}");
    let staged = r#"{"source": {"join": {"op": "zip"}, "part": [{"source": {"paths": ["a"]},
        "stage": [{"op": "shuffle"}]}]}}"#;
    let error =
        Plan::with(Recipe::from_json(staged).unwrap(), &mut |_| panic!("nothing to open")).unwrap_err();
    assert!(error.to_string().contains("zip sources first"), "{error}");
}
