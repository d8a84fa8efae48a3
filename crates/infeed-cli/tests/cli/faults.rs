//! Errors, and how they are reported.

use crate::infeed;
use infeed_testkit::{ShardSpec, faults, shards};
use serde_json::Value as Json;

fn stderr(output: &std::process::Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_missing_path_is_the_datas_fault() {
    for command in ["inspect", "bench"] {
        let output = infeed(&[command, "/no/such/place.tar"]);
        assert_eq!(output.status.code(), Some(1));
        assert!(output.stdout.is_empty());
        let said = stderr(&output);
        assert!(said.starts_with("infeed: error: ") && said.contains("/no/such/place.tar"), "{said}");
        assert!(!said.contains('\u{1b}'), "{said}");
    }
}

#[test]
fn errors_are_json_too() {
    for (args, code) in [(&["inspect", "/no/such.tar", "--json"][..], 1), (&["inspect", "--json"][..], 2)] {
        let output = infeed(args);
        assert_eq!(output.status.code(), Some(code));
        let value: Json = serde_json::from_slice(&output.stdout).unwrap();
        assert!(!value["error"].as_str().unwrap().is_empty());
        assert!(stderr(&output).starts_with("infeed: error: "));
    }
}

#[test]
fn wrong_usage_is_code_2() {
    let wrong: [&[&str]; 8] = [
        &[],
        &["nonsense"],
        &["list", "nonsense"],
        &["inspect"],
        &["demo", "--samples", "0"],
        &["demo", "--seconds", "soon"],
        &["bench", "x", "--threads", "0"],
        &["bench", "x", "--threads", "1", "--sweep"],
    ];
    for args in wrong {
        let output = infeed(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(output.stdout.is_empty(), "{args:?}");
        assert!(!stderr(&output).contains('\u{1b}'), "{args:?}");
    }
    assert!(stderr(&infeed(&["demo", "--sample", "3"])).contains("--samples"), "a slip is named");
}

#[test]
fn help_and_version_are_no_errors() {
    for args in [
        &["--version"][..],
        &["--help"],
        &["demo", "--help"],
        &["inspect", "-h"],
        &["bench", "--help"],
        &["list", "--help"],
        &["verify-epoch", "--help"],
    ] {
        let output = infeed(args);
        assert_eq!(output.status.code(), Some(0), "{args:?}");
        let shown = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(shown.contains("infeed") && !shown.contains('\u{1b}'), "{shown}");
        assert!(args == ["--version"] || shown.contains("Examples:"), "{shown}");
        assert!(output.stderr.is_empty());
    }
}

#[test]
fn a_damaged_shard_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let paths = shards(dir.path(), &ShardSpec::default()).unwrap();
    let size = paths[1].metadata().unwrap().len();
    faults::truncate(&paths[1], size / 2).unwrap();
    let output = infeed(&["inspect", &dir.path().to_string_lossy()]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("train-000001.tar"), "{}", stderr(&output));
}

#[test]
fn the_library_gives_the_same_codes() {
    let run = |args: &[&str]| infeed_cli::run(args.iter().map(|a| (*a).to_owned()).collect());
    assert_eq!(run(&["list", "codecs", "--json"]), 0);
    assert_eq!(run(&["inspect", "/no/such.tar"]), 1);
    assert_eq!(run(&["inspect"]), 2);
}

#[test]
fn an_unreadable_row_is_shown_and_the_rest_too() {
    let dir = tempfile::tempdir().unwrap();
    let list = dir.path().join("list.txt");
    infeed_testkit::folder(dir.path(), &infeed_testkit::FolderSpec::default()).unwrap();
    std::fs::write(&list, "class_000/gone.jpg 0\nclass_000/000000.jpg 0\n").unwrap();
    let output = infeed(&["inspect", "--format", "manifest", "--json", &list.to_string_lossy()]);
    let value: Json = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&value["sampled_rows"], &value["unreadable_rows"]), (&1.into(), &1.into()), "{value}");
    assert!(value["preview"][0]["error"].as_str().unwrap().contains("gone.jpg"), "{value}");
    assert_eq!(value["preview"][1]["fields"]["image"]["kind"], "jpeg");
}

#[cfg(unix)]
#[test]
fn an_interrupted_demo_cleans_up() {
    let dir = tempfile::tempdir().unwrap();
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_infeed"))
        .args(["demo", "--seconds", "60"])
        .env("TMPDIR", dir.path())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let made = || std::fs::read_dir(dir.path()).unwrap().count() > 0;
    while !made() && child.try_wait().unwrap().is_none() {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let kill = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(kill.success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(!made(), "the temporary folder is gone");
}
