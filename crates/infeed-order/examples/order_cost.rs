//! Measures the cost per row of each order, in batches of 256, for consecutive and for scattered places.
//!
//! ```sh
//! cargo run --release -p infeed-order --example order_cost
//! ```
#![allow(clippy::print_stdout)]

use infeed_core::{Order, Result, rng::Rng};
use infeed_order::{
    Below, Blend, BlendLength, BlockShuffle, Concat, Fold, Global, Interleave, Lengths, Pick, Repeat,
    Sequential, Slice, Split, Stop, fraction,
};
use std::{hint::black_box, sync::Arc, time::Instant};

const BATCH: u64 = 256;
const BATCHES: u64 = 400;
const ROUNDS: usize = 20;

fn rows(n: u64) -> Below {
    Arc::new(Sequential::of(n))
}

fn parts(count: u64, each: u64) -> Vec<Below> {
    (0..count).map(|part| -> Below { Arc::new(Sequential::new(part * each, [each])) }).collect()
}

fn orders() -> Result<Vec<(&'static str, Below)>> {
    let big = 1_000_000_000_000;
    let (mid, list) = (10_000_000, (0..1_000_000).map(|i| i * 7 % 1_000_003).collect());
    let thirds = Lengths::Fractions(vec![0.8, 0.1, 0.1]);
    let weights = [0.5371, 0.2914, 0.1715];
    let many: Vec<f64> = (1..=64).map(f64::from).collect();
    Ok(vec![
        ("rows as they lie, 10^12", rows(big)),
        ("global shuffle, 10^4", Arc::new(Global::new(rows(10_000), 1))),
        ("global shuffle, 10^6", Arc::new(Global::new(rows(1_000_000), 1))),
        ("global shuffle, 10^12", Arc::new(Global::new(rows(big), 1))),
        ("global shuffle, 2^40 + 1", Arc::new(Global::new(rows((1 << 40) + 1), 1))),
        ("concat of 3", Arc::new(Concat::new(parts(3, mid))?)),
        ("concat of 1000", Arc::new(Concat::new(parts(1000, mid))?)),
        ("slice, step 3", Arc::new(Slice::new(rows(big), 5, big, 3)?)),
        ("fraction", Arc::new(fraction(rows(big), 0.3)?)),
        ("pick of 10^6", Arc::new(Pick::new(rows(mid), list)?)),
        ("split, 10^12", Arc::new(Split::new(rows(big), &thirds, 0, 1)?)),
        ("fold, 10^12", Arc::new(Fold::new(rows(big), 5, 2, false, None)?)),
        ("fold, shuffled, 10^12", Arc::new(Fold::new(rows(big), 5, 2, false, Some(1))?)),
        ("repeat, 10^6 rows 1000 times", Arc::new(Repeat::new(rows(1_000_000), 1000)?)),
        ("repeat, 1000 rows 10^6 times", Arc::new(Repeat::new(rows(1000), 1_000_000)?)),
        ("interleave of 3, run 1", Arc::new(Interleave::new(parts(3, mid), 1, Stop::All)?)),
        ("interleave of 64, run 8", Arc::new(Interleave::new(parts(64, mid), 8, Stop::All)?)),
        ("blend of 3, 10^7", Arc::new(Blend::new(parts(3, mid), &weights, BlendLength::Exactly(mid))?)),
        ("blend of 3, 10^5", Arc::new(Blend::new(parts(3, mid), &weights, BlendLength::Exactly(100_000))?)),
        ("blend of 64, 10^6", Arc::new(Blend::new(parts(64, mid), &many, BlendLength::Exactly(1_000_000))?)),
        (
            "blend of 3, replayed, 3 * 10^8",
            Arc::new(Blend::new(parts(3, mid), &weights, BlendLength::Exactly(300_000_000))?),
        ),
    ])
}

/// Time per row in nanoseconds, over the places that `place` returns for each batch number. Each batch counts with
/// its best time, so that interruptions by other processes do not count.
fn cost(order: &dyn Order, batches: u64, mut place: impl FnMut(u64, u64) -> u64) -> f64 {
    let lists: Vec<Vec<u64>> = (0..batches).map(|b| (0..BATCH).map(|i| place(b, i)).collect()).collect();
    let mut best = vec![f64::INFINITY; lists.len()];
    for _ in 0..ROUNDS {
        for (list, best) in lists.iter().zip(&mut best) {
            let mut list = list.clone();
            let start = Instant::now();
            order.resolve(0, black_box(&mut list));
            *best = best.min(start.elapsed().as_nanos() as f64);
        }
    }
    best.iter().sum::<f64>() / (batches * BATCH) as f64
}

fn main() -> Result<()> {
    println!("ns per row in batches of {BATCH}, best of {ROUNDS}\n");
    println!("{:<34}{:>12}{:>12}", "order", "neighbours", "scattered");
    for (name, order) in orders()? {
        let n = order.places();
        let mut rng = Rng::at(1, 2, 3, 4);
        let near = cost(&*order, BATCHES, |batch, i| (n / 3 + batch * BATCH + i) % n);
        // Every scattered place of a replayed blend repeats up to 4096 choices, so a few batches are enough.
        let batches = if name.contains("replayed") { 2 } else { BATCHES };
        let far = cost(&*order, batches, |_, _| rng.below(n));
        println!("{name:<34}{near:>12.1}{far:>12.1}");
    }
    let n = 1_000_000_000_000;
    let start = Instant::now();
    let order = Global::new(rows(n), 9);
    let mut places = [n / 2];
    order.resolve(3, &mut places);
    let seek = start.elapsed();
    println!(
        "\nmaking a shuffle of 10^12 rows and finding its middle: {:.1} us",
        seek.as_nanos() as f64 / 1e3
    );
    black_box(places);
    let shards: Below = Arc::new(Sequential::new(0, vec![1000; 100_000]));
    let order = BlockShuffle::new(Arc::clone(&shards), 9, 16, None)?;
    let start = Instant::now();
    let mut last = [shards.places() - 1];
    order.resolve(3, &mut last);
    let seek = start.elapsed();
    println!(
        "finding the last place of a block-shuffled epoch over 10^5 shards: {:.2} ms",
        seek.as_nanos() as f64 / 1e6
    );
    black_box(last);
    Ok(())
}
