//! What goes wrong, and how it is said.

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
