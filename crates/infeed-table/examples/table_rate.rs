//! Rows per second of a shuffled epoch over Parquet: blocks in random order, rows mixed among some blocks at a time, batches
//! written by `fill`. Decoding is part of it.
//!
//! `cargo run --release -p infeed-table --example table_rate -- FOLDER [threads] [batch] [mixed blocks] [epochs]`
//!
//! The folder has Parquet files with columns `f00` to `f19` of f32 and `label` of i64.

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

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let number = |at: usize, default: usize| args.get(at).map_or(default, |text| text.parse().unwrap());
    let (threads, batch, mixed, epochs) = (number(2, 2), number(3, 4096), number(4, 8), number(5, 1));
    let features: Vec<String> = (0..20).map(|i| format!("f{i:02}")).collect();
    let about = json!({"columns": ["label"], "matrix": {"features": {"columns": features, "dtype": "f32"}}});
    let opened = Instant::now();
    let source = infeed_table::open("parquet", &[args[1].clone()], about.as_object().unwrap()).unwrap();
    println!("{} in {:.3} s", source.describe(), opened.elapsed().as_secs_f64());
    if let Some(memory) = args.get(6) {
        source.set_memory(memory.parse::<u64>().unwrap() << 20);
    }
    let fields: Vec<Arc<str>> = vec!["features".into(), "label".into()];
    for epoch in 0..epochs {
        let order = shuffled(source.block_rows(), mixed, epoch as u64);
        let next = AtomicUsize::new(0);
        let start = Instant::now();
        let sum: f64 = std::thread::scope(|scope| {
            let work = || {
                let (mut x, mut y) = (vec![0; batch * 80], vec![0; batch * 8]);
                let mut sum = 0.0;
                loop {
                    let at = next.fetch_add(batch, Ordering::Relaxed);
                    let rows = &order[at.min(order.len())..(at + batch).min(order.len())];
                    if rows.is_empty() {
                        return sum;
                    }
                    let n = rows.len();
                    source.fill(rows, &fields, &mut [&mut x[..n * 80], &mut y[..n * 8]]).unwrap();
                    sum += f64::from(x[0]) + f64::from(y[0]);
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
