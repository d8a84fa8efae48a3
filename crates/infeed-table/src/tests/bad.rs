//! Damaged files: errors that name the file, never a panic.

use super::*;
use arrow_array::{Int64Array, StringArray};
use proptest::prelude::*;
use serde_json::json;
use std::fs;

fn good(folder: &Path) -> Vec<u8> {
    let ints: Int64Array = (0..500).map(|i| if i % 5 == 0 { None } else { Some(i % 50) }).collect();
    let texts: StringArray = (0..500).map(|i| Some(format!("text {}", i % 40))).collect();
    let path =
        parquet(&folder.join("good.parquet"), vec![("x", Arc::new(ints)), ("t", Arc::new(texts))], 200);
    fs::read(path).unwrap()
}

fn whole(path: &Path) -> Result<usize> {
    let source = open(&path.display().to_string(), json!({}))?;
    let rows: Vec<u64> = (0..source.rows()).collect();
    Ok(source.fetch(&rows, &names(&["x", "t"]))?.len())
}

#[test]
fn cut_off_and_other_files() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = good(folder.path());
    let path = folder.path().join("bad.parquet");
    for (content, word) in [
        (bytes[..bytes.len() - 100].to_vec(), "cut off"),
        (b"PAR1".to_vec(), "too short"),
        (vec![], "too short"),
        (b"just some text that is no table".to_vec(), "no Parquet file"),
        ([&b"ARROW1\0\0"[..], &[0; 100]].concat(), "infeed.arrow"),
        ([&b"PAR1"[..], &[0; 50], &[255, 255, 255, 127], b"PAR1"].concat(), "more than the file"),
    ] {
        fs::write(&path, content).unwrap();
        let error = whole(&path).unwrap_err().to_string();
        assert!(error.contains(word) && error.contains("bad.parquet"), "{error}");
    }
    let error = open("/nowhere/x.parquet", json!({})).unwrap_err().to_string();
    assert!(error.contains("not found"), "{error}");
}

#[test]
fn a_damaged_page_costs_its_row_group_only() {
    let folder = tempfile::tempdir().unwrap();
    let mut bytes = good(folder.path());
    // The header of the first page: column x of row group 0.
    bytes[4..24].fill(0xee);
    let path = folder.path().join("bad.parquet");
    fs::write(&path, bytes).unwrap();
    let source = open(&path.display().to_string(), json!({})).unwrap();
    let error = fetch(&source, &[3], "x").unwrap_err().to_string();
    assert!(error.contains("row group 0") && error.contains("bad.parquet"), "{error}");
    assert_eq!(words(&fetch(&source, &[201], "x").unwrap()[0]), "1");
}

#[test]
fn a_table_without_rows() {
    let folder = tempfile::tempdir().unwrap();
    let none: ArrayRef = Arc::new(Int64Array::from(Vec::<i64>::new()));
    let path = parquet(&folder.path().join("empty.parquet"), vec![("x", none)], 10);
    assert!(open(&path, json!({})).unwrap_err().to_string().contains("no rows"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    /// Any byte may be wrong: the result is values or an error, never an escaping panic.
    #[test]
    fn changed_bytes_are_survived(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6)) {
        thread_local!(static GOOD: (tempfile::TempDir, Vec<u8>) = {
            let folder = tempfile::tempdir().unwrap();
            let bytes = good(folder.path());
            (folder, bytes)
        });
        GOOD.with(|(folder, bytes)| {
            let mut bytes = bytes.clone();
            for (at, byte) in &changes {
                let at = at.index(bytes.len());
                bytes[at] = *byte;
            }
            let path = folder.path().join("changed.parquet");
            fs::write(&path, bytes).unwrap();
            let _ = whole(&path);
        });
    }
}
