//! `infeed world` with given environment variables.

use serde_json::Value as Json;
use std::process::{Command, Output};

fn world(args: &[&str], env: &[(&str, &str)]) -> Output {
    let command = [&["world"], args].concat();
    let envs = env.iter().copied();
    Command::new(env!("CARGO_BIN_EXE_infeed")).args(command).env_clear().envs(envs).output().unwrap()
}

#[test]
fn tells_who_says_so() {
    let env = [("RANK", "3"), ("WORLD_SIZE", "4"), ("LOCAL_RANK", "1"), ("LOCAL_WORLD_SIZE", "2")];
    let shown = String::from_utf8(world(&[], &env).stdout).unwrap();
    assert!(shown.starts_with("rank 3 of 4 (local 1 of 2), from torchrun: RANK=3 WORLD_SIZE=4"), "{shown}");
    assert!(shown.contains("\nthreads: ") && shown.contains("2 ranks on this node"), "{shown}");
    let found: Json = serde_json::from_slice(&world(&["--json"], &env).stdout).unwrap();
    assert_eq!((&found["world"]["rank"], &found["world"]["from"]), (&3.into(), &"torchrun".into()));
    assert_eq!(found["seen"][0]["verdict"], "taken");
    let (threads, usable) = (found["threads"].as_u64().unwrap(), found["cpus"]["usable"].as_u64().unwrap());
    assert!((1..=usable).contains(&threads), "{found}");
}

#[test]
fn alone_and_at_fault() {
    let shown = String::from_utf8(world(&[], &[]).stdout).unwrap();
    assert!(shown.starts_with("rank 0 of 1 (local 0 of 1): no launcher says otherwise\n"), "{shown}");
    let half = world(&[], &[("RANK", "1")]);
    assert_eq!(half.status.code(), Some(1));
    let said = String::from_utf8(half.stderr).unwrap();
    assert!(said.contains("RANK=1") && said.contains("WORLD_SIZE"), "{said}");
}
