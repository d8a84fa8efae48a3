use super::*;
use crate::store::MemoryStore;
use infeed_core::{Error, FieldSpec, StoreExt, registry::find};
use serde_json::json;

/// Takes any object whose name does not start with `bad`.
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
    fn weight(&self, _: u64, _: &[Arc<str>]) -> u64 {
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
fn formats_are_made_from_their_table_row() {
    let entry = find(ENTRIES, "tar", "format").unwrap();
    let make = |args: serde_json::Value| entry.make(args.as_object().unwrap());
    assert_eq!(make(json!({})).unwrap().name(), "tar");
    for index in ["auto", "off", "beside", "some/folder"] {
        make(json!({"lenient": true, "index": index})).unwrap();
    }
    assert!(make(json!({"index": ""})).is_err());
    assert!(make(json!({"index": 3})).is_err());
    assert!(make(json!({"lenient": 1})).is_err());
}
