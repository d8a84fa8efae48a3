//! `infeed tokens`.

use crate::{infeed, json, text};
use infeed_core::Dtype;
use infeed_tokens::TokenWriter;
use std::path::Path;

fn corpus(dir: &Path, name: &str, dtype: Dtype, documents: &[&[u32]]) -> String {
    let prefix = dir.join(name).display().to_string();
    let mut writer = TokenWriter::create(&prefix, dtype).unwrap();
    documents.iter().for_each(|d| writer.add(d).unwrap());
    writer.finish().unwrap();
    prefix
}

#[test]
fn info_tells_what_corpora_hold() {
    let dir = tempfile::tempdir().unwrap();
    let a = corpus(dir.path(), "a", Dtype::U16, &[&[1, 2, 3], &[4], &[5, 6]]);
    let found = json(&["tokens", "info", &format!("{a}.bin"), &format!("{a}.idx")]);
    assert_eq!((&found["documents"], &found["tokens"]), (&3.into(), &6.into()));
    let one = &found["corpora"][0];
    assert_eq!(found["corpora"].as_array().unwrap().len(), 1, "the two files are one corpus");
    assert_eq!((&one["shortest"], &one["median"], &one["longest"]), (&1.into(), &2.into(), &3.into()));
    assert_eq!(
        (&one["dtype"], &one["kind"], &one["drifts"]),
        (&"u16".into(), &"mmididx".into(), &false.into())
    );
    let shown = text(&["tokens", "info", &a]);
    assert!(shown.contains("documents") && shown.contains(&a), "{shown}");
}

#[test]
fn what_is_merged_can_be_split_again() {
    let dir = tempfile::tempdir().unwrap();
    let a = corpus(dir.path(), "a", Dtype::U16, &[&[1, 2], &[3]]);
    let b = corpus(dir.path(), "b", Dtype::I32, &[&[70_000], &[5, 6, 7]]);
    let whole = dir.path().join("whole").display().to_string();
    let merged = json(&["tokens", "merge", &a, &b, "--out", &whole]);
    assert_eq!(
        (&merged["documents"], &merged["tokens"], &merged["dtype"]),
        (&4.into(), &7.into(), &"i32".into())
    );
    let narrow = infeed(&["tokens", "merge", &a, &b, "--out", &whole, "--dtype", "uint16"]);
    assert_eq!(narrow.status.code(), Some(1));
    let part = dir.path().join("part").display().to_string();
    let parts = json(&["tokens", "split", &whole, "--parts", "2", "--out", &part]);
    assert_eq!(parts["parts"][1]["tokens"], 4);
    assert_eq!(parts["parts"][1]["prefix"], format!("{part}_01"));
    let shares = json(&["tokens", "split", &whole, "--shares", "3,1", "--out", &part]);
    assert_eq!((&shares["parts"][0]["documents"], &shares["parts"][1]["documents"]), (&3.into(), &1.into()));
    assert_eq!(infeed(&["tokens", "split", &whole, "--out", &part]).status.code(), Some(2));
}

#[test]
fn verify_finds_wrong_tokens_and_drift() {
    let dir = tempfile::tempdir().unwrap();
    let a = corpus(dir.path(), "a", Dtype::U16, &[&[1, 2, 3], &[400]]);
    let found = json(&["tokens", "verify", &a, "--vocab", "401"]);
    assert_eq!((&found["sound"], &found["corpora"][0]["ids"]), (&true.into(), &serde_json::json!([1, 400])));
    let wrong = infeed(&["tokens", "verify", &a, "--vocab", "400"]);
    let shown = String::from_utf8_lossy(&wrong.stdout).into_owned();
    assert_eq!(wrong.status.code(), Some(1));
    assert!(shown.contains("token 3 has the id 400"), "{shown}");
    let mut bin = std::fs::read(format!("{a}.bin")).unwrap();
    bin.extend([0; 4]);
    std::fs::write(format!("{a}.bin"), &bin).unwrap();
    let drifting = infeed(&["tokens", "verify", &a]);
    assert_eq!(drifting.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&drifting.stdout).contains("repair"));
    assert!(json(&["tokens", "verify", &a, "--drift", "repair"])["sound"] == true);
    assert!(text(&["tokens", "info", &a]).contains("repair"));
    assert_eq!(infeed(&["tokens", "verify", "/nowhere/x"]).status.code(), Some(1));
}

#[test]
fn lists_go_by_tokens() {
    let dir = tempfile::tempdir().unwrap();
    let a = corpus(dir.path(), "a", Dtype::U16, &[&[1, 2, 3]]);
    let b = corpus(dir.path(), "b", Dtype::U16, &[&[1]]);
    let shown = text(&["tokens", "list", &a, &b, "--corpus", "web"]);
    assert_eq!(shown, format!("0.7500000000 {a} web\n0.2500000000 {b} web\n"));
    let file = dir.path().join("list.txt");
    let found = json(&["tokens", "list", &a, "--out", &file.display().to_string()]);
    let folder = dir.path().file_name().unwrap().to_str().unwrap();
    assert_eq!(found["files"][0]["corpus"], folder);
    assert!(std::fs::read_to_string(file).unwrap().ends_with(&format!("{a} {folder}\n")));
}
