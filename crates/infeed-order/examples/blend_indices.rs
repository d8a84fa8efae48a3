//! Measures how long the index arrays of a blend take, for `benches/blend.py`.
//!
//! ```sh
//! cargo run --release -p infeed-order --example blend_indices -- 10000000 0.5,0.3,0.2
//! ```
//!
//! Prints JSON: the best of five runs in seconds, writing into existing arrays (`filled`) and into new ones (`made`),
//! and a checksum of the arrays.
#![allow(clippy::print_stdout)]

use infeed_core::{Error, Result};
use infeed_order::{blending_indices, blending_indices_into, normalized};
use std::time::Instant;

fn best(mut work: impl FnMut() -> Result<()>) -> Result<f64> {
    let mut best = f64::INFINITY;
    for _ in 0..5 {
        let start = Instant::now();
        work()?;
        best = best.min(start.elapsed().as_secs_f64());
    }
    Ok(best)
}

fn main() -> Result<()> {
    let usage = || Error::argument("usage: blend_indices SIZE W1,W2,...");
    let args: Vec<String> = std::env::args().collect();
    let [_, size, weights] = &args[..] else {
        return Err(usage());
    };
    let size: usize = size.parse().map_err(|_| usage())?;
    let weights: Vec<f64> =
        weights.split(',').map(|weight| weight.parse().map_err(|_| usage())).collect::<Result<_>>()?;
    let weights = normalized(&weights)?;
    let (mut parts, mut samples) = (vec![0i16; size], vec![0i64; size]);
    let filled = best(|| blending_indices_into(&weights, &mut parts, &mut samples))?;
    let made = best(|| blending_indices(&weights, size as u64).map(drop))?;
    // Multiplied by the place, so that swapped numbers change the checksum.
    let sum = parts.iter().zip(&samples).zip(1u64..).fold(0u64, |sum, ((part, sample), place)| {
        sum.wrapping_add(
            place.wrapping_mul(*part as u64 + 1).wrapping_add((*sample as u64).wrapping_mul(place ^ 7)),
        )
    });
    println!("{{\"filled\": {filled}, \"made\": {made}, \"checksum\": {sum}}}");
    Ok(())
}
