//! `where=`.

use super::*;
use arrow_array::{Float64Array, Int64Array, StringArray};
use serde_json::json;

fn people(folder: &Path) -> String {
    let ages: Int64Array = (0..100).map(|i| if i % 10 == 3 { None } else { Some(i) }).collect();
    let lands: StringArray = (0..100).map(|i| Some(["DE", "FR", "US"][i % 3])).collect();
    let scores: Float64Array =
        (0..100).map(|i| Some(if i == 50 { f64::NAN } else { f64::from(i) / 2.0 })).collect();
    parquet(
        &folder.join("people.parquet"),
        vec![("age", Arc::new(ages)), ("land", Arc::new(lands)), ("score", Arc::new(scores))],
        10,
    )
}

#[test]
fn rows_are_chosen_and_groups_left_out_unread() {
    let folder = tempfile::tempdir().unwrap();
    let path = people(folder.path());
    for (filter, want, skipped) in [
        ("age > 84 and land == 'DE'", vec![87, 90, 96, 99], 8),
        ("age < 0", vec![], 10),
        ("age is none", vec![3, 13, 23, 33, 43, 53, 63, 73, 83, 93], 0),
        ("score >= 49", vec![98, 99], 9),
        ("land in ('XX', 'YY')", vec![], 10),
        ("not score < 49.5", vec![50, 99], 0),
        ("age in (5, 77)", vec![5, 77], 8),
    ] {
        let opened = open(&path, json!({"where": filter}));
        if want.is_empty() {
            assert!(opened.unwrap_err().to_string().contains("no row fulfils"), "{filter}");
            continue;
        }
        let source = opened.unwrap();
        let keys: Vec<u64> = (0..source.rows()).map(|row| source.key(row).parse().unwrap()).collect();
        assert_eq!(keys, want, "{filter}");
        assert_eq!(source.work(), (0, skipped), "{filter}");
        let lands: Vec<String> =
            want.iter().map(|i| ["DE", "FR", "US"][*i as usize % 3].to_owned()).collect();
        assert_eq!(all(&source, "land"), lands, "{filter}");
        assert_eq!(source.block_rows().iter().sum::<u64>(), source.rows());
        assert_eq!(source.shard_rows(), [want.len() as u64]);
    }
}

#[test]
fn columns_of_a_filter_need_not_be_fields() {
    let folder = tempfile::tempdir().unwrap();
    let path = people(folder.path());
    let source = open(&path, json!({"columns": ["land"], "where": "score > 48.9"})).unwrap();
    assert_eq!(source.spec().fields.len(), 1);
    assert_eq!(all(&source, "land"), ["US", "DE"]);
    for (filter, word) in
        [("nothing > 3", "no column `nothing`"), ("age > 'x'", "cannot compare"), ("age >", "filter")]
    {
        let error = open(&path, json!({"where": filter})).unwrap_err().to_string();
        assert!(error.contains(word), "{error}");
    }
}
