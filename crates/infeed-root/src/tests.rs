//! Tests of the source over whole files, in a store in memory.

use crate::ENTRY;
use bytes::Bytes;
use infeed_core::{Error, Found, Hold, OpenRequest, Opened, Result, Shard, Source, Store, Value, parallel};
use serde_json::{Map, Value as Json, json};
use std::{
    collections::BTreeMap,
    ops::Range,
    path::Path,
    sync::{Arc, Mutex},
};

/// Files in memory, which notes what is read and announced.
#[derive(Debug, Default)]
struct Files {
    files: BTreeMap<String, Bytes>,
    far: bool,
    announced: Mutex<Vec<Range<u64>>>,
    /// How many ranges each read had.
    reads: Mutex<Vec<usize>>,
}

impl Files {
    fn new(names: &[&str]) -> Self {
        let read = |name: &&str| {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden").join(name);
            ((*name).to_owned(), std::fs::read(path).unwrap().into())
        };
        Files { files: names.iter().map(read).collect(), ..Files::default() }
    }
}

impl Store for Files {
    fn list(&self, prefix: &str) -> Result<Vec<Shard>> {
        let names: Vec<String> = self.files.keys().filter(|name| name.starts_with(prefix)).cloned().collect();
        self.stat(&names)
    }

    fn stat(&self, names: &[String]) -> Result<Vec<Shard>> {
        let one = |name: &String| match self.files.get(name) {
            Some(bytes) => {
                let size = bytes.len() as u64;
                Ok(Shard { name: name.as_str().into(), size, modified: Some(1), version: None })
            }
            None => Err(Error::NotFound { path: name.clone(), hint: String::new() }),
        };
        names.iter().map(one).collect()
    }

    fn read(&self, shard: &Shard, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        self.reads.hold().push(ranges.len());
        let file = &self.files[&*shard.name];
        Ok(ranges.iter().map(|range| file.slice(range.start as usize..range.end as usize)).collect())
    }

    fn will_read(&self, _: &Shard, ranges: &[Range<u64>]) {
        self.announced.hold().extend(ranges.iter().cloned());
    }

    fn room_ahead(&self) -> Option<u64> {
        self.far.then_some(1 << 30)
    }

    fn find(&self, path: &str) -> Result<Vec<Found>> {
        self.stat(&[path.to_owned()]).map(|_| vec![Found::File(path.to_owned())])
    }
}

fn open(store: &Arc<Files>, paths: &[&str], given: Json) -> Result<Arc<dyn Source>> {
    let store: Arc<dyn Store> = Arc::clone(store) as Arc<dyn Store>;
    let paths: Vec<String> = paths.iter().map(|path| (*path).to_owned()).collect();
    let given: Map<String, Json> = given.as_object().unwrap().clone();
    let request = OpenRequest {
        entry: &ENTRY,
        store: &store,
        paths: &paths,
        found: None,
        listed: None,
        given: &given,
        threads: parallel::cpus(),
    };
    match ENTRY.open(request)? {
        Opened::Rows(source) => Ok(source),
        Opened::Stream(_) => panic!("a stream"),
    }
}

fn names(names: &[&str]) -> Vec<Arc<str>> {
    names.iter().map(|name| Arc::from(*name)).collect()
}

#[test]
fn files_are_laid_end_to_end_and_filled_in_any_order() {
    let store = Arc::new(Files::new(&["zstd.root", "lz4.root"]));
    let source = open(&store, &["zstd.root", "lz4.root"], json!({})).unwrap();
    assert_eq!(source.shard_rows(), [40, 40]);
    assert_eq!(source.block_rows(), [40, 40], "small baskets are read together");
    let rows: Vec<u64> = (0..200).map(|n| n * 37 % 80).collect();
    let mut numbers = vec![0; rows.len() * 8];
    let mut grid = vec![0; rows.len() * 24];
    source.fill(&rows, &names(&["number", "grid"]), &mut [&mut numbers, &mut grid]).unwrap();
    let records = source.fetch(&rows, &names(&["grid", "number", "jets", "word"])).unwrap();
    for (at, (row, record)) in rows.iter().zip(&records).enumerate() {
        let number = i64::from_ne_bytes(numbers[at * 8..at * 8 + 8].try_into().unwrap());
        assert_eq!(number as u64, row % 40);
        let [Value::Tensor(cells), Value::Tensor(own), Value::Tensor(jets), Value::Text(_)] =
            &record.fields[..]
        else {
            panic!("{record:?}")
        };
        assert_eq!((&cells.data[..], &cells.shape[..]), (&grid[at * 24..at * 24 + 24], &[2, 3][..]));
        assert_eq!(own.data[..], number.to_ne_bytes());
        assert_eq!(jets.shape, [number as usize % 4]);
    }
    assert_eq!((source.key(41), source.shard_of(41)), ("1".to_owned(), "lz4.root".to_owned()));
    let mut stamps = source.stamps(&(0..80).collect::<Vec<_>>(), &names(&["word"])).unwrap();
    stamps.sort_unstable();
    stamps.dedup();
    assert_eq!(stamps.len(), 80);
    assert!(source.fetch(&[80], &names(&["word"])).is_err());
}

#[test]
fn a_field_of_a_block_is_read_at_once_and_only_the_baskets_that_it_needs() {
    let store = Arc::new(Files { far: true, ..Files::new(&["zstd.root"]) });
    let source =
        open(&store, &["zstd.root"], json!({"branches": ["number", "jets"], "tree": "deep/events"})).unwrap();
    store.reads.hold().clear();
    let fields = names(&["number"]);
    source.will_fetch(&[3, 4], &fields);
    source.will_fetch(&[5], &fields);
    let announced = store.announced.hold().clone();
    let mut needed = vec![];
    source.bytes_of(&[3], &fields, &mut |object, range| needed.push((object, range)));
    assert_eq!(needed.len(), 3, "three baskets");
    let bytes = |ranges: &mut dyn Iterator<Item = &Range<u64>>| {
        ranges.map(|range| range.end - range.start).sum::<u64>()
    };
    assert_eq!(bytes(&mut announced.iter()), bytes(&mut needed.iter().map(|(_, range)| range)));
    source.fetch(&[3], &fields).unwrap();
    source.fetch(&[35], &fields).unwrap();
    assert_eq!(*store.reads.hold(), [3]);
    source.fetch(&[35], &names(&["number", "jets"])).unwrap();
    assert_eq!(*store.reads.hold(), [3, 3], "the numbers are here");
    let cost = source.read_cost(&[1], &fields, infeed_core::Fetching::Blocks).unwrap();
    assert!(cost.requests >= 1 && cost.read > 0);
}

/// Blocks go when all their rows were handed out, and come back in the next epoch.
#[test]
fn data_that_does_not_fit_is_read_again() {
    let store = Arc::new(Files::new(&["zstd.root", "lz4.root"]));
    let source = open(&store, &["zstd.root", "lz4.root"], json!({})).unwrap();
    source.set_memory(Some(1));
    store.reads.hold().clear();
    let fields = names(&["number"]);
    for epoch in 1..=3 {
        for first in (0..80).step_by(8) {
            let rows: Vec<u64> = (first..first + 8).collect();
            let mut out = vec![0; 64];
            source.fill(&rows, &fields, &mut [&mut out]).unwrap();
            let found: Vec<u64> = out.as_chunks().0.iter().map(|one| u64::from_ne_bytes(*one)).collect();
            assert_eq!(found, rows.iter().map(|row| row % 40).collect::<Vec<_>>());
        }
        assert_eq!(store.reads.hold().len(), 2 * epoch, "each block once an epoch");
    }
}

/// The same entries, written as a tree and as an n-tuple.
#[test]
fn ntuples_are_read_as_trees_are() {
    let store = Arc::new(Files { far: true, ..Files::new(&["zstd.root", "rntuple.root"]) });
    let tree = open(&store, &["zstd.root"], json!({})).unwrap();
    let ntuple = open(&store, &["rntuple.root"], json!({})).unwrap();
    assert_eq!(ntuple.block_rows(), [40], "small clusters are read together");
    let rows: Vec<u64> = (0..80).map(|n| n * 37 % 40).collect();
    let fields = names(&["word", "number", "flag", "grid", "jets"]);
    let (found, wanted) = (ntuple.fetch(&rows, &fields).unwrap(), tree.fetch(&rows, &fields).unwrap());
    assert_eq!(format!("{found:?}"), format!("{wanted:?}"));
    let both = open(&store, &["rntuple.root", "zstd.root"], json!({"branches": ["jets", "word"]})).unwrap();
    assert_eq!(both.shard_rows(), [40, 40]);
    let fields = names(&["jets"]);
    store.reads.hold().clear();
    ntuple.will_fetch(&[3, 4], &fields);
    let mut needed = vec![];
    ntuple.bytes_of(&[3], &fields, &mut |object, range| needed.push((object, range)));
    assert_eq!(needed.len(), 6, "ends and elements of three clusters");
    both.fetch(&[3], &fields).unwrap();
    assert_eq!(*store.reads.hold(), [6], "all at once");
}

#[test]
fn files_must_agree() {
    let store = Arc::new(Files::new(&["zstd.root", "handmade.root"]));
    let told =
        |given: Json| open(&store, &["zstd.root", "handmade.root"], given).map(drop).unwrap_err().to_string();
    let text = told(json!({}));
    assert!(text.contains("`handmade.root`") && text.contains("`zstd.root`"), "{text}");
    let text = told(json!({"branches": ["word", "numbre"]}));
    assert!(text.contains("did you mean `number`"), "{text}");
    open(&store, &["zstd.root", "handmade.root"], json!({"branches": ["word"]})).unwrap();
    assert!(open(&store, &["zstd.root"], json!({"branches": []})).is_err());
    assert!(open(&store, &["zstd.root"], json!({"branches": ["word", "word"]})).is_err());
    assert!(open(&store, &["zstd.root"], json!({"tree": "other"})).is_err());
}

#[test]
fn friends_are_joined_by_number() {
    let store = Arc::new(Files { far: true, ..Files::new(&["friends.root"]) });
    let given = |friends: Json| json!({"tree": "events", "friends": friends});
    let source = open(&store, &["friends.root"], given(json!(["deep/scores", "more"]))).unwrap();
    let fields: Vec<String> =
        source.spec().fields.iter().map(|(name, spec)| format!("{name}: {spec}")).collect();
    let wanted = ["x: i32", "even: f32", "scores.x: i32", "deep: f32", "more.x: i64[?]", "y: i64"];
    assert_eq!(fields, wanted);
    assert!(
        source.describe().contains("tree events with deep/scores, more of 12 rows"),
        "{}",
        source.describe()
    );
    let rows: Vec<u64> = (0..12).rev().collect();
    let records = source.fetch(&rows, &names(&["scores.x", "x", "y", "more.x"])).unwrap();
    for (row, record) in rows.iter().zip(&records) {
        let number = |at: usize| match &record.fields[at] {
            Value::Tensor(found) => {
                found.data.iter().rev().fold(0u64, |all, byte| all << 8 | u64::from(*byte))
            }
            other => panic!("{other:?}"),
        };
        assert_eq!([number(0), number(1), number(2)], [300 + row, 200 + row, 3 * row]);
        let Value::Tensor(list) = &record.fields[3] else { panic!("{record:?}") };
        assert_eq!(list.shape, [*row as usize % 3]);
    }
    let mut needed = vec![];
    source.bytes_of(&[3], &names(&["x", "scores.x"]), &mut |_, range| needed.push(range));
    assert_eq!(needed.len(), 5, "the baskets of both");
    let told = |given: Json| open(&store, &["friends.root"], given).map(drop).unwrap_err().to_string();
    let text = told(given(json!(["short"])));
    assert!(text.contains("`events` has 12 entries and its friend `short` has 11"), "{text}");
    assert!(told(given(json!(["events"]))).contains("its own friend"));
    assert!(told(given(json!(["more", "more"]))).contains("has `more` twice"));
    assert!(told(given(json!(["mord"]))).contains("there is no tree `mord`"));
    let source = open(
        &store,
        &["friends.root"],
        json!({"tree": "more", "friends": ["events"], "branches": ["events.x"]}),
    )
    .unwrap();
    assert_eq!(source.spec().fields.len(), 1);
}
