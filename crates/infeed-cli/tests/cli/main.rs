//! Runs the binary as a shell would.
#![allow(clippy::unwrap_used)] // helpers of tests are not recognised as tests

mod cache;
mod commands;
mod faults;
mod proxy;
mod stage;
mod tokenize;
mod tokens;
mod verify_epoch;
mod world;

use serde_json::Value as Json;
use std::process::{Command, Output};

/// Runs `infeed` with its output piped.
fn infeed(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_infeed")).args(args).output().unwrap()
}

/// Runs `infeed ... --json`, which must succeed and print one object.
fn json(args: &[&str]) -> Json {
    let output = infeed(&[args, &["--json"]].concat());
    let (out, err) =
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8_lossy(&output.stderr).into_owned());
    assert_eq!(output.status.code(), Some(0), "{out}\n{err}");
    assert_eq!(err, "", "nothing to say on stderr when all is well and nobody looks");
    assert_eq!(out.lines().count(), 1, "{out}");
    let value: Json = serde_json::from_str(&out).unwrap();
    assert!(value.is_object());
    value
}

/// Runs `infeed` as text, which must succeed and be free of escape codes.
fn text(args: &[&str]) -> String {
    let output = infeed(args);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let out = String::from_utf8(output.stdout).unwrap();
    assert!(!out.contains('\u{1b}'), "{out}");
    assert!(!String::from_utf8_lossy(&output.stderr).contains('\u{1b}'));
    out
}
