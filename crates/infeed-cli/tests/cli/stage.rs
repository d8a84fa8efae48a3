//! `infeed stage`.

use super::{infeed, json, text};
use std::path::Path;

fn data(root: &Path) -> String {
    let source = root.join("data");
    std::fs::create_dir_all(&source).unwrap();
    for number in 0..4_u8 {
        std::fs::write(source.join(format!("x-{number}.bin")), vec![number; 1000]).unwrap();
    }
    format!("{}/x-{{0..3}}.bin", source.display())
}

fn message(args: &[&str], code: i32) -> String {
    let output = infeed(args);
    assert_eq!(output.status.code(), Some(code), "{output:?}");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn staged_kept_and_removed() {
    let root = tempfile::tempdir().unwrap();
    let (source, folder) = (data(root.path()), root.path().join("fast").display().to_string());
    let first = json(&["stage", &source, &folder]);
    assert_eq!((&first["missing"], &first["copied_bytes"]), (&4.into(), &4000.into()), "{first}");
    assert_eq!(std::fs::read(root.path().join("fast/x-2.bin")).unwrap(), vec![2; 1000]);
    let again = json(&["stage", &source, "--to", &folder, "--verify", "--share"]);
    assert_eq!((&again["missing"], &again["kept"]), (&0.into(), &4.into()), "{again}");
    assert!(text(&["stage", "--clean-up", &folder]).contains("removed 4 files, 4.0 KB"));
    assert!(!root.path().join("fast").exists());
    assert!(message(&["stage", "--clean-up", &folder], 1).contains("holds no staged files"));
}

#[test]
fn the_folder_is_found() {
    let root = tempfile::tempdir().unwrap();
    let source = data(root.path());
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_infeed"))
        .args(["stage", &source])
        .env("SLURM_TMPDIR", root.path().join("none"))
        .env("TMPDIR", root.path())
        .output()
        .unwrap();
    let out = String::from_utf8(output.stdout).unwrap();
    assert!(out.contains("4 files, 4.0 KB") && out.contains("found by $TMPDIR"), "{out}");
}

#[test]
fn mistakes_are_named() {
    let root = tempfile::tempdir().unwrap();
    let source = data(root.path());
    let one = root.path().join("data/x-0.bin").display().to_string();
    assert!(
        message(&["stage", &source, &one], 1).contains("it is a file; the folder to stage into comes last")
    );
    assert!(message(&["stage", &source, "s3://bucket/x"], 1).contains("give a folder of this machine"));
    assert!(message(&["stage", "nowhere-*.tar", "fast"], 1).contains("no file matches"));
    assert!(message(&["stage"], 2).contains("SRC"));
}
