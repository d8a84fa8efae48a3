//! Rows per second of a shuffled epoch over Parquet: blocks in random order, rows mixed among some blocks at a time, batches
//! written by `fill`. Decoding is part of it, of all blocks in every epoch where they do not fit the memory.
//!
//! `cargo run --release -p infeed-table --example table_rate -- FOLDER [fields|matrix] [threads] [epochs] [memory in MiB]`
//!
//! The folder has Parquet files with columns `f00` to `f19` of f32 and `label` of i64. They become a field each, or one matrix
//! and a label.

#![allow(clippy::print_stdout, clippy::unwrap_used)]

use infeed_core::{Rng, Source};
use serde_json::json;
use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Instant,
};

/// Rows of a batch, and blocks whose rows are mixed.
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
    let source = infeed_table::open("parquet", &[args[1].clone()], about.as_object().unwrap()).unwrap();
    println!("{} in {:.3} s", source.describe(), opened.elapsed().as_secs_f64());
    if args.len() > 5 {
        source.set_memory((number(5, 0) as u64) << 20);
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

/// Blocks in random order, and the rows of `mixed` blocks at a time in random order.
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
