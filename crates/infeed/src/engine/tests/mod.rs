//! The engine over a source made of numbers: row n holds the text "n", so every batch can be checked.

use super::*;
use crate::{
    batch::{Batch, Column},
    recipe::Recipe,
};
use infeed_core::{Error, FieldSpec, Record, Result, Source, Spec, Value};
use std::{
    collections::HashSet,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

#[derive(Debug, Default)]
struct Numbers {
    spec: Spec,
    shards: Vec<u64>,
    bad: HashSet<u64>,
    unreadable: HashSet<u64>,
    panics: HashSet<u64>,
    fetched: AtomicU64,
    /// What the last loader gave it.
    memory: Mutex<Option<u64>>,
}

impl Numbers {
    fn new(rows: u64) -> Self {
        let fields = vec![("n".into(), FieldSpec::encoded()), ("raw".into(), FieldSpec::encoded())];
        Numbers { spec: Spec { fields }, shards: vec![rows], ..Numbers::default() }
    }
}

impl Source for Numbers {
    fn spec(&self) -> &Spec {
        &self.spec
    }
    fn shard_rows(&self) -> &[u64] {
        &self.shards
    }
    fn shard_of(&self, _: u64) -> String {
        "numbers".to_owned()
    }
    fn key(&self, row: u64) -> String {
        format!("k{row}")
    }
    fn row_bytes(&self, _: u64, _: &[Arc<str>]) -> u64 {
        10_000
    }
    fn fetch(&self, rows: &[u64], fields: &[Arc<str>]) -> Result<Vec<Record>> {
        self.fetched.fetch_add(rows.len() as u64, Relaxed);
        rows.iter()
            .map(|row| {
                assert!(!self.panics.contains(row), "row {row} panics");
                if self.unreadable.contains(row) {
                    return Err(Error::NotFound { path: format!("file{row}"), hint: String::new() });
                }
                let text = if self.bad.contains(row) { "bad".to_owned() } else { row.to_string() };
                Ok(Record { fields: fields.iter().map(|_| Value::Bytes(text.clone().into())).collect() })
            })
            .collect()
    }
    fn describe(&self) -> String {
        "numbers".to_owned()
    }
    fn set_memory(&self, bytes: Option<u64>) {
        *self.memory.lock().unwrap() = bytes;
    }
}

const RECIPE: &str = r#"{"source": {"paths": ["x"]}, "stage": [{"op": "shuffle", "seed": 5},
    {"op": "decode", "fields": {"n": {"name": "int"}}}, {"op": "batch", "size": 8}]}"#;

mod ahead;
mod chaos;
mod cold;
mod join;
mod resume;
mod streams;
mod views;
mod zip;

fn loader(source: Numbers, recipe: &str, options: Options) -> Loader {
    let plan = Plan::new(Recipe::from_json(recipe).unwrap(), Arc::new(source)).unwrap();
    Loader::new(Arc::new(plan), options).unwrap()
}

fn numbers(batch: &Batch) -> Vec<i64> {
    let bytes = batch.column("n").and_then(Column::bytes).unwrap();
    bytes.chunks_exact(8).map(|b| i64::from_ne_bytes(b.try_into().unwrap())).collect()
}

fn epoch(loader: &mut Loader) -> Result<Vec<Vec<i64>>> {
    let mut run = loader.start()?;
    let mut out = vec![];
    while let Next::Batch(batch) = run.next(None)? {
        let n = numbers(&batch);
        assert_eq!(n, batch.rows.iter().map(|r| *r as i64).collect::<Vec<_>>());
        out.push(n);
    }
    Ok(out)
}

fn threads(n: usize) -> Options {
    Options { threads: Some(n), ..Options::default() }
}

#[test]
fn every_row_once_and_in_order_on_any_thread_count() {
    let mut one = loader(Numbers::new(100), RECIPE, threads(1));
    let first = epoch(&mut one).unwrap();
    assert_eq!(first.iter().map(Vec::len).collect::<Vec<_>>(), [[8; 12].as_slice(), &[4]].concat());
    let mut all: Vec<i64> = first.concat();
    all.sort_unstable();
    assert_eq!(all, (0..100).collect::<Vec<i64>>());
    let second = epoch(&mut one).unwrap();
    assert_ne!(first, second, "the next epoch has another order");
    for n in [2, 16] {
        let mut many = loader(Numbers::new(100), RECIPE, threads(n));
        assert_eq!(epoch(&mut many).unwrap(), first);
        assert_eq!(epoch(&mut many).unwrap(), second);
    }
}

#[test]
fn held_batches_stay_intact() {
    let mut loader = loader(Numbers::new(1000), RECIPE, threads(2));
    let mut run = loader.start().unwrap();
    let mut held = vec![];
    while let Next::Batch(batch) = run.next(None).unwrap() {
        held.push(batch);
    }
    for batch in &held {
        assert_eq!(numbers(batch), batch.rows.iter().map(|r| *r as i64).collect::<Vec<_>>());
    }
    assert_eq!(held.len(), 125);
}

#[test]
fn every_loader_has_the_memory_that_it_was_given() {
    let source = Arc::new(Numbers::new(20));
    let plan = Plan::new(Recipe::from_json(RECIPE).unwrap(), Arc::clone(&source) as Arc<dyn Source>).unwrap();
    let plan = Arc::new(plan);
    let given = || *source.memory.lock().unwrap();
    let options = Options { memory: Some(64 << 20), ..threads(1) };
    let mut small = Loader::new(Arc::clone(&plan), options).unwrap();
    assert_eq!(given(), Some(64 << 20));
    let mut plain = Loader::new(plan, threads(1)).unwrap();
    assert_eq!(given(), None);
    epoch(&mut small).unwrap();
    assert_eq!(given(), Some(64 << 20));
    epoch(&mut plain).unwrap();
    assert_eq!(given(), None);
}

#[test]
fn a_slow_consumer_stops_the_readers() {
    let source = Arc::new(Numbers::new(1_000_000));
    let plan = Plan::new(Recipe::from_json(RECIPE).unwrap(), Arc::clone(&source) as Arc<dyn Source>).unwrap();
    let options = Options { memory: Some(1 << 20), threads: Some(2), ..Options::default() };
    let mut loader = Loader::new(Arc::new(plan), options).unwrap();
    let mut run = loader.start().unwrap();
    assert!(matches!(run.next(None).unwrap(), Next::Batch(_)));
    let mut last = 0;
    // Wait until reading has stopped, then check how far it went.
    loop {
        std::thread::sleep(Duration::from_millis(50));
        let now = source.fetched.swap(0, Relaxed);
        last += now;
        if now == 0 {
            break;
        }
    }
    assert!(last < 400, "{last} rows were read ahead of one batch");
}

#[test]
fn leaving_early_leaves_no_thread() {
    let count = || std::fs::read_dir("/proc/self/task").map_or(0, Iterator::count);
    let mut loader = loader(Numbers::new(100_000), RECIPE, threads(16));
    let before = count();
    for _ in 0..5 {
        let mut run = loader.start().unwrap();
        assert!(matches!(run.next(None).unwrap(), Next::Batch(_)));
        drop(run);
    }
    // Other tests start and end threads meanwhile, so only a leak of all five runs is detected: 100 threads.
    assert!(count() < before + 60, "{} -> {}", before, count());
}

fn spoiled() -> Numbers {
    let mut source = Numbers::new(100);
    source.bad = [3, 50].into();
    source.unreadable = [7].into();
    source.panics = [60].into();
    source
}

#[test]
fn raise_names_the_place() {
    let mut source = Numbers::new(100);
    source.bad = [50].into();
    let error = epoch(&mut loader(source, RECIPE, threads(2))).unwrap_err().to_string();
    assert!(error.contains("shard `numbers`, row 50, key `k50`, field `n`"), "{error}");
    let mut source = Numbers::new(100);
    source.unreadable = [7].into();
    let error = epoch(&mut loader(source, RECIPE, threads(2))).unwrap_err().to_string();
    assert!(error.contains("row 7") && error.contains("file7"), "{error}");
    let mut source = Numbers::new(100);
    source.panics = [60].into();
    let error = epoch(&mut loader(source, RECIPE, threads(2))).unwrap_err().to_string();
    assert!(error.contains("row 60") && error.contains("panic"), "{error}");
}

#[test]
fn skip_leaves_out_exactly_the_bad_ones() {
    let mut loader = loader(spoiled(), RECIPE, Options { on_error: OnError::Skip, ..threads(2) });
    let mut all = epoch(&mut loader).unwrap().concat();
    all.sort_unstable();
    assert_eq!(all, (0..100).filter(|n| ![3, 7, 50, 60].contains(n)).collect::<Vec<i64>>());
    let stats = loader.stats();
    assert_eq!(stats.bad_samples, 4);
    assert_eq!(stats.bad.iter().map(|b| b.row).collect::<Vec<_>>(), [3, 7, 50, 60]);
}

#[test]
fn too_many_bad_ones_stop_the_run() {
    let options = Options { on_error: OnError::Skip, error_limit: 3, ..threads(2) };
    let error = epoch(&mut loader(spoiled(), RECIPE, options)).unwrap_err().to_string();
    assert!(error.contains("more than the limit of 3"), "{error}");
}

#[test]
fn replace_keeps_the_batch_size() {
    let made = |n| {
        let mut loader = loader(spoiled(), RECIPE, Options { on_error: OnError::Replace, ..threads(n) });
        let mut run = loader.start().unwrap();
        let mut out = vec![];
        while let Next::Batch(batch) = run.next(None).unwrap() {
            out.push(numbers(&batch));
        }
        out
    };
    let one = made(1);
    assert_eq!(one.concat().len(), 100);
    assert!(one.concat().iter().all(|n| ![3, 7, 50, 60].contains(n)));
    assert_eq!(one, made(4), "replacements are chosen by the seed");
}

#[test]
fn plans_fail_early_and_say_why() {
    let fails = |stages: &str| {
        let recipe =
            Recipe::from_json(&format!(r#"{{"source": {{"paths": ["x"]}}, "stage": [{stages}]}}"#)).unwrap();
        Plan::new(recipe, Arc::new(Numbers::new(10))).unwrap_err().to_string()
    };
    let cases = [
        (
            r#"{"op": "decode", "fields": {"jpg": {"name": "rgb"}}}"#,
            "there is no field `jpg`; the fields are n, raw",
        ),
        (r#"{"op": "decode", "fields": {"n": {"name": "itn"}}}"#, "did you mean `int`?"),
        (
            r#"{"op": "map", "name": "RandomHorizontalFlip", "on": ["n"]}"#,
            "map RandomHorizontalFlip on `n`: works on images",
        ),
        (
            r#"{"op": "map", "name": "Resize", "on": ["n"], "args": {"size": 3}}"#,
            "map Resize on `n`: works on images, but the field is encoded bytes",
        ),
        (r#"{"op": "map", "name": "Resize", "args": {"size": 3}}"#, "finds no image"),
        (r#"{"op": "batch", "size": 0}"#, "at least 1"),
        (r#"{"op": "batch", "size": 11, "drop_last": true}"#, "drop_last leaves nothing"),
        (r#"{"op": "batch", "size": 1}, {"op": "shuffle", "seed": 1}"#, "must come after"),
        (r#"{"op": "batch", "global_size": 0}"#, "at least 1"),
        (r#"{"op": "batch"}"#, "either size or global_size"),
        (r#"{"op": "batch", "size": 2, "drop_last": true, "last": "pad"}"#, "contradict"),
        (r#"{"op": "shuffle", "window": 2, "buffer": 5}"#, "buffer= does not belong"),
        (r#"{"op": "shuffle", "kind": "global", "window": 2}"#, "window= does not belong"),
        (r#"{"op": "shuffle"}, {"op": "shuffle", "window": 2}"#, "block"),
        (r#"{"op": "shuffle"}, {"op": "balance", "by": "n"}"#, "stands after a shuffle"),
        (r#"{"op": "slice", "start": 10}"#, "no rows are left"),
        (r#"{"op": "pick", "places": [3, 10]}"#, "there is no row 10: there are 10"),
        (r#"{"op": "pick", "places": [-11]}"#, "there is no row -11"),
        (r#"{"op": "fraction", "fraction": 1.5}"#, "fraction"),
        (r#"{"op": "split", "lengths": {"fractions": [0.9, 0.2]}, "index": 0}"#, "split"),
        (r#"{"op": "by_length", "by": [1, 2], "window": 4, "group": 2}"#, "2 lengths for 10 rows"),
        (r#"{"op": "by_length", "by": "n", "window": 4}"#, "needs group="),
        (r#"{"op": "balance", "by": "cls"}"#, "there is no field `cls`"),
        (r#"{"op": "select", "fields": ["m"]}"#, "there is no field `m`"),
    ];
    for (stages, wanted) in cases {
        let error = fails(stages);
        assert!(error.contains(wanted), "{stages}\n  {error}");
    }
}
