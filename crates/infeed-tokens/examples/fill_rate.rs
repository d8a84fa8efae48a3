//! Measures how fast batches of tokens are filled, compared with a plain copy of as many bytes.
//!
//! `cargo run --release -p infeed-tokens --example fill_rate [megabytes of tokens] [seconds]`

#![allow(clippy::print_stdout, clippy::unwrap_used)]

#[path = "../src/testing.rs"]
mod testing;

use infeed_core::{OpenRequest, Opened};
use infeed_tokens::ENTRY;
use std::{hint::black_box, sync::Arc, time::Instant};

/// Seconds of CPU time of this thread, if the system reports them, so that rates are valid on a busy machine.
fn on_cpu() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(text.split_whitespace().next()?.parse::<f64>().ok()? / 1e9)
}

const BATCH: usize = 16;
const LENGTH: usize = 2049;

fn main() {
    let mut args = std::env::args().skip(1).map(|a| a.parse::<f64>().unwrap());
    let megabytes = args.next().unwrap_or(400.0);
    let seconds = args.next().unwrap_or(2.0);
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("tokens.bin").display().to_string();
    // Ids below 32,768, two bytes each.
    let byte = |i: u64| (i.wrapping_mul(0x9e37_79b9) >> 16) as u8 & if i % 2 == 1 { 0x7f } else { 0xff };
    let tokens: Vec<u8> = (0..(megabytes * 1e6) as u64).map(byte).collect();
    std::fs::write(&path, &tokens).unwrap();

    let rate = |name: &str, bytes: usize, mut work: Box<dyn FnMut(u64) + '_>| {
        // Warm up with one pass over everything: pages are mapped and memory is warm.
        (0..(tokens.len() / (BATCH * LENGTH * 2)) as u64 * 2).for_each(&mut work);
        let (start, cpu, mut batches) = (Instant::now(), on_cpu(), 0u64);
        while start.elapsed().as_secs_f64() < seconds {
            (batches..batches + 64).for_each(&mut work);
            batches += 64;
        }
        let took = on_cpu().zip(cpu).map_or(start.elapsed().as_secs_f64(), |(now, then)| now - then);
        let all = batches as f64 * bytes as f64;
        let tokens = batches as f64 * (BATCH * LENGTH) as f64 / took / 1e6;
        println!("{name:34} {:7.2} GB/s of output, {tokens:8.0} M tokens/s", all / took / 1e9);
        all / took
    };
    let place = |n: u64, of: u64| {
        n.wrapping_mul(0x2545_f491_4f6c_dd1d).rotate_left(31).wrapping_mul(0x9e37_79b9_7f4a_7c15) % of
    };

    let bytes = BATCH * LENGTH * 8;
    let mut out = vec![0u8; bytes];
    let spots = (tokens.len() / (LENGTH * 8)) as u64;
    rate(
        "copy of 8 bytes per token",
        bytes,
        Box::new(|batch| {
            for (k, to) in out.chunks_exact_mut(LENGTH * 8).enumerate() {
                let at = place(batch * BATCH as u64 + k as u64, spots) as usize * LENGTH * 8;
                to.copy_from_slice(&tokens[at..at + LENGTH * 8]);
            }
            black_box(&mut out);
        }),
    );
    let mut out = vec![0u8; bytes];
    rate(
        "copy inside the cache",
        bytes,
        Box::new(|_| {
            out.copy_from_slice(black_box(&tokens[..bytes]));
            black_box(&mut out);
        }),
    );
    for (dtype, read, vocab) in [
        ("int64", "mmap", None),
        ("int64", "mmap", Some(50_000)),
        ("int32", "mmap", None),
        ("uint16", "mmap", None),
        ("int64", "pread", None),
    ] {
        let args = serde_json::json!({"length": LENGTH, "dtype": dtype, "read": read, "vocab": vocab});
        let store = testing::mapping();
        let request = OpenRequest {
            entry: &ENTRY,
            store: &store,
            paths: std::slice::from_ref(&path),
            found: None,
            listed: None,
            given: args.as_object().unwrap(),
            threads: 1,
        };
        let Ok(Opened::Rows(source)) = ENTRY.open(request) else { panic!("{path} cannot be read") };
        let fields: Vec<Arc<str>> = vec!["tokens".into()];
        let size = source.spec().fields[0].1.dtype.size();
        let mut out = vec![0u8; BATCH * LENGTH * size];
        let count = source.rows();
        let name = format!("fill {dtype}, {read}{}", if vocab.is_some() { ", ids checked" } else { "" });
        rate(
            &name,
            out.len(),
            Box::new(|batch| {
                let rows: [u64; BATCH] =
                    std::array::from_fn(|k| place(batch * BATCH as u64 + k as u64, count));
                source.fill(&rows, &fields, &mut [&mut out]).unwrap();
                black_box(&mut out);
            }),
        );
    }
}
