//! Measures how long building the three arrays of GPT samples takes, for as many samples as a large corpus has.
//!
//! `cargo run --release -p infeed-tokens --example sample_index [documents] [length]`

#![allow(clippy::print_stdout, clippy::unwrap_used)]

use infeed_tokens::gpt::{Ask, RandomState, Samples};
use std::{hint::black_box, time::Instant};

/// Seconds of CPU time of this thread if the system reports them, otherwise wall-clock seconds.
fn seconds(since: Instant) -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let on_cpu = text.split_whitespace().next().and_then(|n| n.parse::<f64>().ok());
    on_cpu.map_or_else(|| since.elapsed().as_secs_f64(), |n| n / 1e9)
}

fn main() {
    let mut args = std::env::args().skip(1).map(|a| a.parse::<u64>().unwrap());
    let documents = args.next().unwrap_or(20_000_000);
    let length = args.next().unwrap_or(2048);
    let mut random = RandomState::new(1);
    // Lengths from 1 to 2,027 tokens: about 9.9 million samples of 2,048 in 20 million documents.
    let sizes: Vec<u32> = (0..documents).map(|_| 1 + random.interval(2026) as u32).collect();
    let tokens: u64 = sizes.iter().map(|s| u64::from(*s)).sum();
    let ask = Ask { documents: 0..documents, samples: (tokens - 1) / length, length, seed: 1234 };
    let clock = Instant::now();
    let start = seconds(clock);
    let samples = black_box(Samples::build(&ask, |d| u64::from(sizes[d as usize])).unwrap());
    println!("{} samples in {:.2} s, all three arrays", samples.len(), seconds(clock) - start);
    let start = seconds(clock);
    let starts = samples.rebuilt_starts(&ask, |d| u64::from(sizes[d as usize])).unwrap();
    println!("{} starts in {:.2} s, the sample index alone", starts.len(), seconds(clock) - start);
}
