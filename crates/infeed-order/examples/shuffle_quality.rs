//! Measures the quality and cost of each kind of shuffle and prints the tables of the documentation:
//!
//! `cargo run --release -p infeed-order --example shuffle_quality`
#![expect(clippy::print_stdout, reason = "printing tables is its purpose")]

use infeed_core::{Order, OrderExt, Result, Rng};
use infeed_order::{
    Balance, Balanced, Below, BlockShuffle, Buffer, ByLength, Global, Sequential, Weighted, padding_waste,
    quality,
};
use std::{sync::Arc, time::Instant};

const ROWS: u64 = 1_000_000;
const SHARDS: [u64; 1000] = [1000; 1000];
const BATCH: u64 = 256;
const SEED: u64 = 17;

/// Builds a fresh order, so that each measurement starts without cached state.
type Make = Box<dyn Fn() -> Result<Below>>;

fn lie() -> Below {
    Arc::new(Sequential::new(0, SHARDS))
}

/// Nanoseconds per row over an epoch (or its first four million places) in batches, including the cost of
/// starting the epoch. Other work on the machine can only add time, so each stretch of 16 batches counts
/// with the best of seven runs.
fn cost(make: &Make) -> Result<f64> {
    let places = make()?.places().min(4_000_000);
    let mut best = vec![f64::INFINITY; places.div_ceil(16 * BATCH) as usize];
    for epoch in 0..7 {
        let order = make()?;
        let mut batch = Vec::with_capacity(BATCH as usize);
        for (stretch, best) in (0..places).step_by(16 * BATCH as usize).zip(&mut best) {
            let before = Instant::now();
            for start in (stretch..(stretch + 16 * BATCH).min(places)).step_by(BATCH as usize) {
                batch.clear();
                batch.extend(start..(start + BATCH).min(places));
                order.resolve(epoch, &mut batch);
                std::hint::black_box(&mut batch);
            }
            *best = best.min(before.elapsed().as_nanos() as f64);
        }
    }
    Ok(best.iter().sum::<f64>() / places as f64)
}

/// Milliseconds to find the last place of an epoch with a fresh order; the best of seven.
fn seek(make: &Make) -> Result<f64> {
    let mut best = f64::INFINITY;
    for epoch in 0..7 {
        let order = make()?;
        let before = Instant::now();
        std::hint::black_box(order.rows(epoch, order.places() - 1..order.places()));
        best = best.min(before.elapsed().as_secs_f64() * 1e3);
    }
    Ok(best)
}

/// Memory held by a block shuffle (see the documentation of `BlockShuffle`): one epoch and the last four windows.
fn block_memory(window: u64) -> u64 {
    let (shards, rows) = (SHARDS.len() as u64, window * SHARDS[0]);
    let kept = (shards.div_ceil(window)).min(4);
    8 * (shards + 1) + 12 * shards + if rows <= 1 << 16 { kept * 4 * rows } else { 0 }
}

fn shuffles() -> Result<()> {
    let mut kinds: Vec<(String, u64, Make)> = vec![("none".into(), 0, Box::new(|| Ok(lie())))];
    for size in [1_000, 10_000] {
        let make = move || Ok(Arc::new(Buffer::new(lie(), SEED, size, size)?) as Below);
        kinds.push((format!("buffer {size}"), 4 * ROWS, Box::new(make)));
    }
    for window in [1, 4, 16, 64] {
        let make = move || Ok(Arc::new(BlockShuffle::new(lie(), SEED, window, None)?) as Below);
        kinds.push((format!("block, window {window}"), block_memory(window), Box::new(make)));
    }
    kinds.push(("global".into(), 0, Box::new(|| Ok(Arc::new(Global::new(lie(), SEED))))));

    println!("{ROWS} rows in {} shards, batches of {BATCH}; 1.00 is a global shuffle.\n", SHARDS.len());
    println!(
        "| shuffle | spread | displacement | neighbours | blocks per batch | runs per batch | memory (KiB) | \
         ns per row | seek (ms) |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|---:|---:|");
    for (name, memory, make) in kinds {
        let found = quality(&*make()?, 0, BATCH, Some(&SHARDS), ROWS);
        println!(
            "| {name} | {:.3} | {:.3} | {:.1} | {:.1} | {:.1} | {} | {:.1} | {:.3} |",
            found.spread,
            found.displacement,
            found.neighbours,
            found.blocks_per_batch.unwrap_or(f64::NAN),
            found.runs,
            memory.div_ceil(1024),
            cost(&make)?,
            seek(&make)?,
        );
    }
    Ok(())
}

fn others() -> Result<()> {
    let draw = |row, stage| Rng::at(SEED, 0, row, stage).unit();
    let weights: Arc<[f64]> = (0..ROWS).map(|row| draw(row, 1)).collect();
    // A thousand classes, the largest about sixty times the smallest.
    let labels: Arc<[i64]> = (0..ROWS).map(|row| (draw(row, 2).powi(2) * 1000.0) as i64).collect();
    // Lengths distributed like those of texts: many short, few long.
    let lengths: Arc<[u32]> = (0..ROWS).map(|row| (draw(row, 3).powi(3) * 2048.0) as u32 + 1).collect();
    let global = || Arc::new(Global::new(lie(), SEED)) as Below;

    let mut kinds: Vec<(String, Make)> = vec![];
    for replacement in [true, false] {
        let weights = weights.clone();
        let make = move || Ok(Arc::new(Weighted::new(lie(), &weights, None, replacement, SEED)?) as Below);
        let how = if replacement { "with" } else { "without" };
        kinds.push((format!("weighted, {how} replacement"), Box::new(make)));
    }
    for mode in [Balance::Over, Balance::Under] {
        let labels = labels.clone();
        let make = move || Ok(Arc::new(Balanced::new(lie(), &labels, mode, SEED)?) as Below);
        kinds.push((format!("balanced, {mode:?}").to_lowercase(), Box::new(make)));
    }
    let by_length = |lengths: Arc<[u32]>, below: fn() -> Below| {
        move || Ok(Arc::new(ByLength::new(below(), lengths.clone(), 100 * BATCH, BATCH, SEED)?) as Below)
    };
    kinds.push(("by length, window of 100 batches".into(), Box::new(by_length(lengths.clone(), lie))));
    let sorted: Make = Box::new(by_length(lengths.clone(), global));
    let waste = |order: &dyn Order| {
        let found: Vec<u32> = order.rows(0, 0..ROWS).iter().map(|row| lengths[*row as usize]).collect();
        padding_waste(found.chunks(BATCH as usize))
    };
    let (before, after) = (waste(&global()), waste(&*sorted()?));
    kinds.push(("by length over a global shuffle".into(), sorted));

    println!("\n| order | ns per row | seek (ms) |\n|---|---:|---:|");
    for (name, make) in kinds {
        println!("| {name} | {:.1} | {:.3} |", cost(&make)?, seek(&make)?);
    }
    println!(
        "\nPadding: {:.1} % of a batch in a global shuffle, {:.1} % by length.",
        before * 100.0,
        after * 100.0
    );
    Ok(())
}

fn main() -> Result<()> {
    shuffles()?;
    others()
}
