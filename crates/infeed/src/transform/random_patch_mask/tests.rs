use super::{super::patches::masked, *};
use serde_json::{Value as Json, json};

fn run(args: &Json, row: u64) -> Vec<u8> {
    masked(&ENTRY, args, row).unwrap().concat()
}

#[test]
fn the_count_is_exact() {
    for grid in [[1, 1], [1, 9], [9, 1], [3, 5], [14, 14]] {
        for percent in 0..=100u32 {
            let ratio = f64::from(percent) / 100.0;
            let wanted = (ratio * f64::from(grid[0] * grid[1])).round_ties_even() as usize;
            for row in 0..3 {
                let mask = run(&json!({"patches": grid, "ratio": ratio}), row);
                assert_eq!(mask.len(), (grid[0] * grid[1]) as usize);
                assert_eq!(mask.iter().filter(|v| **v == 1).count(), wanted, "{grid:?} {ratio}");
            }
        }
    }
    assert_eq!(run(&json!({"patches": 14}), 0).iter().filter(|v| **v == 1).count(), 147, "MAE's 0.75");
}

/// Each patch, and each pair of patches, is masked as often as drawing without replacement says.
#[test]
fn all_patches_are_alike() {
    let (rows, n) = (6000, 12);
    let masks: Vec<Vec<u8>> =
        (0..rows).map(|row| run(&json!({"patches": [3, 4], "ratio": 0.5}), row)).collect();
    let share = |hit: &dyn Fn(&[u8]) -> bool| masks.iter().filter(|m| hit(m)).count() as f64 / rows as f64;
    for a in 0..n {
        assert!((share(&|m| m[a] == 1) - 0.5).abs() < 0.03, "patch {a}");
        for b in 0..a {
            let both = share(&|m| m[a] == 1 && m[b] == 1);
            assert!((both - 0.5 * 5.0 / 11.0).abs() < 0.03, "patches {a} and {b}: {both}");
        }
    }
}

#[test]
fn the_mask_is_of_the_grid() {
    let args = json!({"patches": [2, 7]});
    assert_eq!(masked(&ENTRY, &args, 0).unwrap().iter().map(Vec::len).collect::<Vec<_>>(), [7, 7]);
    let made = ENTRY.make(args.as_object().unwrap()).unwrap();
    let spec = made.spec(&FieldSpec::image(infeed_core::Dim::Any)).unwrap();
    assert_eq!(spec.fixed_shape().unwrap(), [2, 7]);
    assert_eq!(spec.dtype, infeed_core::Dtype::Bool);
}

#[test]
fn slips_are_named() {
    for (args, wanted) in [
        (json!({"patches": 0}), "patches must be a whole number of at least 1"),
        (json!({"patches": [1, 2, 3]}), "(rows, columns)"),
        (json!({"patches": []}), "(rows, columns)"),
        (json!({"patches": 5000}), "patches, not pixels"),
        (json!({"patches": [i64::MAX, 2]}), "patches, not pixels"),
        (json!({"patches": 4, "ratio": 1.01}), "ratio must be between 0 and 1"),
        (json!({"patches": 4, "ratio": -0.1}), "ratio must be between 0 and 1"),
    ] {
        let error = ENTRY.make(args.as_object().unwrap()).err().unwrap().to_string();
        assert!(error.contains(wanted), "{args}: {error}");
    }
}
