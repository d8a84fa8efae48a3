//! `infeed verify-epoch` over ledgers of a small epoch.

use crate::{infeed, json, text};
use infeed::{
    Recipe,
    order::{
        Last, Steps,
        ledger::{Delivery, Identity, Ledger},
    },
};
use infeed_core::Order;
use infeed_testkit::{ShardSpec, shards};
use serde_json::Value as Json;
use std::path::Path;

/// A recipe over 20 rows, and its order.
fn recipe(dir: &Path) -> (String, std::sync::Arc<dyn Order>) {
    shards(dir, &ShardSpec::default()).unwrap();
    let path = dir.join("train-*.tar").to_string_lossy().into_owned();
    let file = dir.join("train.toml");
    let toml = format!(
        "[source]\npaths = [{path:?}]\n[[stage]]\nop = \"shuffle\"\nseed = 7\n[[stage]]\nop = \"batch\"\nsize = 4\n"
    );
    std::fs::write(&file, &toml).unwrap();
    let plan = infeed::open(Recipe::from_toml(&toml).unwrap()).unwrap();
    (file.to_string_lossy().into_owned(), std::sync::Arc::clone(&plan.order))
}

/// The ledger of one of two ranks over epoch 1, in a file. A twisted one has a wrong row in place of another.
fn ledger(dir: &Path, order: &dyn Order, rank: u64, twisted: bool) -> String {
    let identity = Identity { order: order.describe(), ..Identity::default() };
    let mut ledger = Ledger::new(identity).with_rows(true);
    let steps = Steps { places: order.places(), from: 0, global: 8, last: Last::Short, rank, size: 2 };
    for step in 0..steps.count() {
        let mut rows = steps.share(step).list(order.places());
        order.resolve(1, &mut rows);
        if twisted && step == 0 {
            rows[0] = 1_000;
        }
        let all = steps.global_places(step);
        ledger.count(&Delivery {
            epoch: 1,
            from: all.start,
            to: all.end,
            global: 8,
            last: steps.last,
            rank,
            size: 2,
            rows: &rows,
            pads: 0,
            stand_ins: &[],
            left_out: &[],
        });
    }
    let file = dir.join(format!("rank{rank}-{twisted}.json"));
    std::fs::write(&file, ledger.to_json()).unwrap();
    file.to_string_lossy().into_owned()
}

/// Runs it on data with errors: exit code 1, and the whole report on stdout.
fn inexact(args: &[&str]) -> (String, Json) {
    let output = infeed(args);
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    let found = infeed(&[args, &["--json"]].concat());
    assert_eq!(found.status.code(), Some(1));
    (String::from_utf8(output.stdout).unwrap(), serde_json::from_slice(&found.stdout).unwrap())
}

#[test]
fn ranks_together_are_exact() {
    let dir = tempfile::tempdir().unwrap();
    let (recipe, order) = recipe(dir.path());
    let [a, b] = [0, 1].map(|rank| ledger(dir.path(), &*order, rank, false));
    assert_eq!(
        text(&["verify-epoch", &recipe, &a, &b]),
        "epoch 1: 20 rows, each exactly once, over 2 ranks and 1 run\n"
    );
    let found = json(&["verify-epoch", &recipe, &a, &b, "--epoch", "1"]);
    assert_eq!((&found["exact"], &found["epochs"][0]["verdict"]["rows"]), (&true.into(), &20.into()));
}

#[test]
fn what_is_missing_double_or_wrong_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let (recipe, order) = recipe(dir.path());
    let [a, b] = [0, 1].map(|rank| ledger(dir.path(), &*order, rank, false));
    let (text, found) = inexact(&["verify-epoch", &recipe, &a]);
    assert!(text.contains("nothing from rank 1 of 2") && text.contains("train-00000"), "{text}");
    let missing = &found["epochs"][0]["named"]["missing"];
    assert_eq!(missing.as_array().unwrap().len(), 10);
    let row = missing[0]["row"].as_u64().unwrap();
    assert_eq!(missing[0]["key"], format!("{row:08}"));
    let (text, found) = inexact(&["verify-epoch", &recipe, &a, &b, &b]);
    assert!(text.contains("double: 10 rows") && text.contains("2 times, by rank 1 of 2"), "{text}");
    assert_eq!(found["epochs"][0]["verdict"]["double"]["count"], 10);
    let twisted = ledger(dir.path(), &*order, 1, true);
    let (text, _) = inexact(&["verify-epoch", &recipe, &a, &twisted]);
    assert!(text.contains("not those that the order puts there") && text.contains("no such row"), "{text}");
}

#[test]
fn other_ledgers_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let (recipe, order) = recipe(dir.path());
    let good = ledger(dir.path(), &*order, 0, false);
    let other = dir.path().join("other.json");
    std::fs::write(&other, std::fs::read_to_string(good).unwrap().replace("seed 7", "seed 8")).unwrap();
    let said = |args: &[&str]| {
        let output = infeed(args);
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (code, error) = said(&["verify-epoch", &recipe, &other.to_string_lossy()]);
    assert!(
        code == Some(1) && error.contains("the order differs") && error.contains("other.json"),
        "{error}"
    );
    assert_eq!(said(&["verify-epoch", &recipe, "/no/such.json"]).0, Some(1));
    assert_eq!(said(&["verify-epoch", &recipe]).0, Some(2));
    assert_eq!(said(&["verify-epoch", &recipe, "x", "--epoch", "soon"]).0, Some(2));
}
