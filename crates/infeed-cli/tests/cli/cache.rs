//! `infeed cache`.

use crate::{infeed, json, text};
use infeed::store::{
    MemoryStore,
    cache::{CacheOptions, CacheStore},
};
use infeed_core::{Store, StoreExt};
use std::{fs, path::PathBuf, sync::Arc};

/// A cache with two objects.
fn cache() -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let store = MemoryStore::new();
    store.put("mem:train/a.tar", vec![1; 5000]);
    store.put("mem:train/b.tar", vec![2; 1500]);
    let options = CacheOptions::new(folder.path()).chunk(1000).limit(1 << 20);
    let cache = CacheStore::open(Arc::new(store), options).unwrap();
    for shard in cache.list("mem:train/").unwrap() {
        cache.read_one(&shard, 0..1200).unwrap();
    }
    let path = folder.path().to_str().unwrap().to_owned();
    (folder, path)
}

fn chunks(path: &str) -> Vec<PathBuf> {
    let inside = |folder: PathBuf| fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let objects = PathBuf::from(path).join("infeed-cache-1/objects");
    let mut files: Vec<PathBuf> = inside(objects).flat_map(inside).flat_map(inside).collect();
    files.retain(|file| !file.ends_with("about"));
    files.sort();
    files
}

#[test]
fn objects_are_listed() {
    let (_folder, path) = cache();
    let found = json(&["cache", "ls", &path]);
    assert_eq!(found["chunks"], 4);
    assert_eq!(found["objects"][0]["name"], "mem:train/a.tar");
    assert_eq!((&found["objects"][1]["chunks"], &found["objects"][1]["of"]), (&2.into(), &2.into()));
    let shown = text(&["cache", "ls", &path]);
    assert!(shown.contains("mem:train/b.tar") && shown.contains("2 objects, 4 chunks"), "{shown}");
}

#[test]
fn damage_is_named_and_removed() {
    let (_folder, path) = cache();
    assert_eq!(json(&["cache", "verify", &path])["sound"], true);
    let chunk = chunks(&path).remove(1);
    let mut bytes = fs::read(&chunk).unwrap();
    bytes[7] ^= 1;
    fs::write(&chunk, bytes).unwrap();
    for (args, done) in [(vec![], "damaged: chunk"), (vec!["--repair"], "damaged, removed: chunk")] {
        let output = infeed(&[&["cache", "verify", &path][..], &args].concat());
        let out = String::from_utf8(output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(1));
        assert!(out.contains(done) && out.contains("3 sound chunks") && out.contains("checksum"), "{out}");
    }
    assert!(!chunk.exists());
    assert_eq!(json(&["cache", "verify", &path])["chunks"], 3);
}

#[test]
fn chunks_are_removed() {
    let (_folder, path) = cache();
    assert_eq!(json(&["cache", "clean", "--older", "1", &path])["chunks"], 0);
    assert_eq!(json(&["cache", "clean", "--older", "0", &path])["chunks"], 4);
    assert_eq!(json(&["cache", "ls", &path])["bytes"], 0);
    assert_eq!(json(&["cache", "clean", &path])["in_use"], false);
    for (args, code) in [(["cache", "ls", &path], 1), (["cache", "clean", "--older=-1"], 2)] {
        assert_eq!(infeed(&args).status.code(), Some(code));
    }
}
