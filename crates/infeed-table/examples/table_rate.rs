//! Measures rows per second of a shuffled epoch over Parquet: blocks in random order, rows mixed among some blocks at
//! a time, batches written by `fill`. Includes decoding, of all blocks in every epoch if they do not fit into memory.
//!
//! `cargo run --release -p infeed-table --example table_rate -- FOLDER [fields|matrix] [threads] [epochs] [memory in MiB]`
//!
//! The folder has Parquet files with columns `f00` to `f19` of f32 and `label` of i64. They become one field each,
//! or one matrix and a label.

#![allow(clippy::print_stdout, clippy::unwrap_used)]

use infeed_core::{Bytes, Error, Result, Rng, Shard, Source, Store};
use infeed_table::TableSource;
use serde_json::{Map, Value, json};
use std::{
    fs::{self, File},
    ops::Range,
    os::unix::fs::FileExt,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Instant,
};

/// Rows per batch, and number of blocks whose rows are mixed.
const BATCH: usize = 4096;
const MIXED: usize = 8;

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let number = |at: usize, default: usize| args.get(at).map_or(default, |text| text.parse().unwrap());
    let (threads, epochs) = (number(3, 2), number(4, 2));
    let columns: Vec<String> = (0..20).map(|i| format!("f{i:02}")).collect();
    let (about, mut fields) = if args.get(2).is_some_and(|how| how == "matrix") {
        let features = json!({"columns": columns, "dtype": "f32"});
        (json!({"columns": ["label"], "matrix": {"features": features}}), vec![("features".to_owned(), 80)])
    } else {
        (json!({}), columns.into_iter().map(|name| (name, 4)).collect())
    };
    fields.push(("label".to_owned(), 8));
    let names: Vec<Arc<str>> = fields.iter().map(|(name, _)| name.as_str().into()).collect();

    let opened = Instant::now();
    let source = open(&args[1], about.as_object().unwrap());
    println!("{} in {:.3} s", source.describe(), opened.elapsed().as_secs_f64());
    if args.len() > 5 {
        source.set_memory(Some((number(5, 0) as u64) << 20));
    }
    for epoch in 0..epochs {
        let order = shuffled(source.block_rows(), MIXED, epoch as u64);
        let next = AtomicUsize::new(0);
        let start = Instant::now();
        let sum: u64 = std::thread::scope(|scope| {
            let work = || {
                let mut out: Vec<Vec<u8>> = fields.iter().map(|(_, bytes)| vec![0; BATCH * bytes]).collect();
                let mut sum = 0;
                loop {
                    let at = next.fetch_add(BATCH, Ordering::Relaxed);
                    let rows = &order[at.min(order.len())..(at + BATCH).min(order.len())];
                    if rows.is_empty() {
                        return sum;
                    }
                    let spans = out.iter_mut().zip(&fields).map(|(out, (_, b))| &mut out[..rows.len() * b]);
                    source.fill(rows, &names, &mut spans.collect::<Vec<_>>()).unwrap();
                    sum += out.iter().map(|out| u64::from(out[0])).sum::<u64>();
                }
            };
            let all: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
            all.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        let seconds = start.elapsed().as_secs_f64();
        let rows = order.len() as f64;
        println!(
            "epoch {epoch}: {:.2} M rows/s ({seconds:.2} s, {} blocks decoded so far, check {sum})",
            rows / seconds / 1e6,
            source.work().0
        );
    }
}

/// Opens the Parquet files of a folder.
fn open(folder: &str, about: &Map<String, Value>) -> TableSource {
    let mut paths: Vec<String> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path().display().to_string()).collect();
    paths.sort();
    let store: Arc<dyn Store> = Arc::new(Files);
    infeed_table::open_table(&store, "parquet", &paths, about).unwrap()
}

/// A minimal store: reads ranges of files and nothing else.
#[derive(Debug)]
struct Files;

impl Store for Files {
    fn list(&self, _prefix: &str) -> Result<Vec<Shard>> {
        Ok(vec![])
    }

    fn stat(&self, names: &[String]) -> Result<Vec<Shard>> {
        let one = |name: &String| {
            let about = fs::metadata(name).map_err(|e| Error::io("look at", name, e))?;
            Ok(Shard { name: name.as_str().into(), size: about.len(), modified: None, version: None })
        };
        names.iter().map(one).collect()
    }

    fn read(&self, shard: &Shard, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        let fail = |e| Error::io("read", &*shard.name, e);
        let file = File::open(&*shard.name).map_err(fail)?;
        let one = |range: &Range<u64>| {
            let mut out = vec![0; (range.end - range.start) as usize];
            file.read_exact_at(&mut out, range.start).map_err(fail)?;
            Ok(out.into())
        };
        ranges.iter().map(one).collect()
    }
}

/// Returns blocks in random order, with the rows of `mixed` blocks at a time in random order.
fn shuffled(blocks: &[u64], mixed: usize, epoch: u64) -> Vec<u64> {
    let mut rng = Rng::at(17, epoch, 0, 0);
    let mut starts = vec![0];
    blocks.iter().for_each(|rows| starts.push(starts.last().unwrap() + rows));
    let mut order: Vec<usize> = (0..blocks.len()).collect();
    for i in (1..order.len()).rev() {
        order.swap(i, rng.below(i as u64 + 1) as usize);
    }
    let mut rows: Vec<u64> = vec![];
    for group in order.chunks(mixed) {
        let first = rows.len();
        group.iter().for_each(|block| rows.extend(starts[*block]..starts[block + 1]));
        for i in (first + 1..rows.len()).rev() {
            rows.swap(i, first + rng.below((i - first) as u64 + 1) as usize);
        }
    }
    rows
}
