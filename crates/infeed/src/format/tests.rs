use super::*;
use crate::store::MemoryStore;
use infeed_core::{Error, FieldSpec, Format, Index, OpenRequest, Shard, Store, StoreExt};
use serde_json::json;
use std::sync::Arc;

/// Accepts any object whose name does not start with `bad`.
#[derive(Debug)]
struct Picky;

#[derive(Debug)]
struct Nothing(String);

impl Format for Picky {
    fn name(&self) -> &'static str {
        "picky"
    }
    fn index(&self, _: &dyn Store, shard: &Shard) -> Result<Arc<dyn Index>> {
        if shard.name.starts_with("bad") {
            return Err(Error::argument(shard.name.to_string()));
        }
        Ok(Arc::new(Nothing(shard.name.to_string())))
    }
}

impl Index for Nothing {
    fn rows(&self) -> u64 {
        0
    }
    fn fields(&self) -> Vec<(Arc<str>, FieldSpec)> {
        vec![]
    }
    fn key(&self, _: u64) -> String {
        self.0.clone()
    }
    fn row_bytes(&self, _: u64, _: &[Arc<str>]) -> u64 {
        0
    }
    fn ranges(&self, _: &[u64], _: &[Arc<str>]) -> Result<Vec<std::ops::Range<u64>>> {
        Ok(vec![])
    }
    fn cut(&self, _: &[u64], _: &[Arc<str>], _: Vec<bytes::Bytes>) -> Result<Vec<infeed_core::Record>> {
        Ok(vec![])
    }
}

fn shards(names: &[&str]) -> (MemoryStore, Vec<Shard>) {
    let store: MemoryStore = names.iter().map(|n| (*n, "")).collect();
    let shards = names.iter().map(|n| store.stat_one(n).unwrap()).collect();
    (store, shards)
}

#[test]
fn shards_are_indexed_in_order() {
    let names: Vec<String> = (0..50).map(|i| format!("s{i:02}")).collect();
    let (store, shards) = shards(&names.iter().map(String::as_str).collect::<Vec<_>>());
    for threads in [0, 1, 4, 100] {
        let found = index_all(&Picky, &store, &shards, threads).unwrap();
        assert_eq!(found.iter().map(|i| i.key(0)).collect::<Vec<_>>(), names);
    }
    assert!(index_all(&Picky, &store, &[], 4).unwrap().is_empty());
}

#[test]
fn the_first_bad_shard_is_reported() {
    let (store, shards) = shards(&["a", "bad1", "b", "bad2"]);
    for threads in 1..5 {
        assert_eq!(index_all(&Picky, &store, &shards, threads).unwrap_err().to_string(), "bad1");
    }
}

#[test]
fn arguments_are_checked_by_the_table_row() {
    let mut bytes = vec![0; 1024];
    bytes[257..262].copy_from_slice(b"ustar");
    let store: Arc<dyn Store> = Arc::new([("a.tar", bytes)].into_iter().collect::<MemoryStore>());
    let open = |args: serde_json::Value| {
        let entry = entry("tar").unwrap();
        let paths = ["a.tar".to_owned()];
        let given = args.as_object().unwrap();
        let request =
            OpenRequest { entry, store: &store, paths: &paths, found: None, listed: None, given, threads: 1 };
        check_arguments(entry, given).and_then(|()| entry.open(request)).unwrap_err().to_string()
    };
    // Valid arguments get as far as the tar itself, which has no rows.
    for index in ["auto", "off", "beside", "some/folder"] {
        let message = open(json!({"lenient": true, "index": index}));
        assert!(message.contains("there are no rows"), "{message}");
    }
    assert!(open(json!({"index": ""})).contains("must be auto, off, beside or a folder"));
    assert!(open(json!({"index": 3})).contains("index must be text"));
    assert!(open(json!({"lenient": 1})).contains("lenient must be True or False"));
    assert!(open(json!({"lenien": true})).contains("did you mean `lenient`?"));
    let other = open(json!({"delimiter": ";"}));
    assert!(other.contains("tar has no argument `delimiter`, which belongs to csv"), "{other}");
}

#[test]
fn the_table_is_sound() {
    let mut names = Vec::new();
    for entry in entries() {
        assert!(!names.contains(&entry.name), "{} is there twice", entry.name);
        names.push(entry.name);
        assert!(!entry.about.is_empty() && entry.about.len() < 120, "{}: {}", entry.name, entry.about);
        assert!(entry.endings.iter().all(|ending| ending.starts_with('.')), "{}", entry.name);
        for param in entry.params {
            assert!(!param.about.is_empty() && !param.python.is_empty(), "{}.{}", entry.name, param.name);
            if let Some(default) = param.default {
                serde_json::from_str::<Json>(default).unwrap();
            }
        }
    }
    assert!(entry("parket").unwrap_err().to_string().contains("did you mean `parquet`?"));
}
