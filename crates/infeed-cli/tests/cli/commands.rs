//! Every subcommand, as text and as JSON.

use crate::{infeed, json, text};
use infeed_testkit::{FolderSpec, ShardSpec, folder, shards};
use std::path::Path;

fn data(dir: &Path) -> String {
    shards(dir, &ShardSpec { json: true, ..ShardSpec::default() }).unwrap();
    dir.join("train-*.tar").to_string_lossy().into_owned()
}

#[test]
fn list_shows_every_table() {
    let all = json(&["list"]);
    for kind in ["formats", "decoders", "codecs", "transforms", "batch_transforms"] {
        assert_eq!(json(&["list", kind])[kind], all[kind]);
        assert!(!all[kind].as_array().unwrap().is_empty());
    }
    let shown = text(&["list", "transforms"]);
    assert!(shown.contains("RandomResizedCrop") && shown.contains("interpolation=\"bilinear\""), "{shown}");
}

#[test]
fn inspect_tells_what_shards_hold() {
    let dir = tempfile::tempdir().unwrap();
    let path = data(dir.path());
    let found = json(&["inspect", &path, "--rows", "2"]);
    assert_eq!((&found["format"], &found["rows"], &found["shards"]), (&"tar".into(), &20.into(), &2.into()));
    assert_eq!(found["decode"], serde_json::json!({"jpg": "rgb", "cls": "int", "json": "json"}));
    let sizes: u64 =
        std::fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().metadata().unwrap().len()).sum();
    assert_eq!((&found["bytes"], &found["bytes_exact"]), (&sizes.into(), &true.into()));
    let jpg = found["fields"].as_array().unwrap().iter().find(|f| f["name"] == "jpg").unwrap();
    assert_eq!((&jpg["present"], &jpg["kinds"]["jpeg"]), (&20.into(), &20.into()));
    assert_eq!(jpg["images"], serde_json::json!({"width": [64, 64], "height": [48, 48]}));
    let preview = found["preview"].as_array().unwrap();
    assert_eq!((preview.len(), &preview[1]["key"]), (2, &"00000001".into()));
    assert_eq!(preview[1]["fields"]["cls"]["value"], 1);
    let shown = text(&["inspect", &path]);
    assert!(shown.contains("jpeg 64x48x3, 8 bit") && shown.contains("20/20"), "{shown}");
}

#[test]
fn streams_are_shown_and_measured() {
    let dir = tempfile::tempdir().unwrap();
    data(dir.path());
    let command = format!("pipe:cat {}", dir.path().join("train-000000.tar").display());
    let found = json(&["inspect", &command, "--sample", "4"]);
    assert_eq!((&found["rows"], &found["rows_exact"]), (&4.into(), &false.into()));
    assert_eq!(found["decode"]["jpg"], "rgb");
    let found = json(&["bench", &command, "--seconds", "0.1", "--warmup", "0"]);
    assert!(found["rows"].is_null() && found["runs"][0]["samples"].as_u64() > Some(0), "{found}");
}

#[test]
fn inspect_proposes_no_decoder_for_what_is_decoded() {
    let dir = tempfile::tempdir().unwrap();
    let rows = "{\"n\": 1, \"f\": 0.5, \"s\": \"7\", \"list\": [1, 2], \"o\": {\"a\": 1}}\n";
    for (name, text) in
        [("a.jsonl", rows), ("a.csv", "n,f,s\n1,0.5,word\n2,1.5,other\n"), ("a.txt", "12\n13\n")]
    {
        let path = dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        let found = json(&["inspect", &path.to_string_lossy()]);
        assert!(!found["fields"].as_array().unwrap().is_empty());
        assert_eq!(found["decode"], serde_json::json!({}), "{name}");
    }
}

#[test]
fn inspect_tells_the_classes_of_a_folder() {
    let dir = tempfile::tempdir().unwrap();
    folder(dir.path(), &FolderSpec::default()).unwrap();
    let path = dir.path().to_string_lossy();
    let found = json(&["inspect", &path]);
    assert_eq!((&found["format"], &found["rows"]), (&"folder".into(), &10.into()));
    assert_eq!(found["classes"], serde_json::json!(["class_000", "class_001"]));
    let shown = text(&["inspect", &path]);
    assert!(shown.contains("2: class_000, class_001") && shown.contains("0 (class_000)"), "{shown}");
}

#[test]
fn bench_measures_a_path_and_writes_a_report() {
    let dir = tempfile::tempdir().unwrap();
    let path = data(dir.path());
    let page = dir.path().join("report.html");
    let page_name = page.to_string_lossy();
    let args = ["bench", &path, "--threads", "1,2", "--seconds", "0.2", "--warmup", "0", "--batch", "8"];
    let found = json(&[&args[..], &["--image-size", "32", "--html", &page_name]].concat());
    let runs = found["runs"].as_array().unwrap();
    assert_eq!((runs.len(), &runs[0]["threads"], &runs[1]["threads"]), (2, &1.into(), &2.into()));
    assert_eq!((&runs[0]["speedup"], &found["batch"]), (&1.0.into(), &8.into()));
    assert!(runs.iter().all(|r| r["samples_per_s"].as_f64().unwrap() > 0.0 && r["verdict"].is_string()));
    assert!(found["recipe"].as_str().unwrap().contains("RandomResizedCrop"));
    let html = std::fs::read_to_string(page).unwrap();
    assert!(html.contains("<svg") && html.ends_with("</html>\n"));
    assert!(!html.contains("<script") && !html.contains("http"), "nothing from outside");
    assert!(text(&args).contains("samples/s"));
}

#[test]
fn bench_runs_a_recipe_as_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let path = data(dir.path());
    let recipe = dir.path().join("train.toml");
    std::fs::write(&recipe, format!("[source]\npaths = [{path:?}]\n[[stage]]\nop = \"batch\"\nsize = 5\n"))
        .unwrap();
    let recipe = recipe.to_string_lossy();
    let found = json(&["bench", &recipe, "--seconds", "0.1", "--warmup", "0"]);
    assert_eq!((&found["batch"], &found["rows"]), (&5.into(), &20.into()));
    let wrong = infeed(&["bench", &recipe, "--batch", "7"]);
    assert_eq!(wrong.status.code(), Some(2));
}

#[test]
fn the_demo_measures_two_phases_and_cleans_up() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path().join("demo");
    let name = home.to_string_lossy().into_owned();
    let args = ["demo", "--samples", "70", "--seconds", "0.3", "--threads", "2", "--dir", &name];
    let found = json(&args);
    assert!(!home.exists(), "what was made is removed again");
    for phase in ["flat_out", "with_step"] {
        let stats = &found[phase];
        assert!(stats["samples_per_s"].as_f64().unwrap() > 0.0 && stats["verdict"].is_string(), "{stats}");
    }
    assert!(found["step_ms"].as_f64().unwrap() > 0.0 && found["bytes"].as_u64().unwrap() > 70 * 50_000);
    let shown = text(&[&args[..], &["--keep"]].concat());
    assert!(shown.contains("images/s") && shown.contains(&name), "{shown}");
    assert!(std::fs::read_dir(&home).unwrap().count() > 1);
    // A folder with something in it is not touched.
    assert_eq!(infeed(&args).status.code(), Some(1));
    assert!(std::fs::read_dir(&home).unwrap().count() > 1);
}
