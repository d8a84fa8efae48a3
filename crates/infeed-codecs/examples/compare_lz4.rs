//! How fast blocks of lz4 are decoded, against safe Rust: `cargo run --release -p infeed-codecs --example compare_lz4` prints GB of
//! decoded bytes per second of this crate, of `lz4_flex` as portable builds have it, and the ratio. Both take turns.
#![allow(clippy::print_stdout, clippy::unwrap_used)]

use std::time::Instant;

/// Bytes of a block: what blosc takes.
const BLOCK: usize = 256 << 10;

fn main() {
    let mut state = 0x9E37_79B9_7F4A_7C15u64;
    let mut below = |limit: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % limit
    };
    // Smooth floats with some noise whose bytes are shuffled, as blosc does it; and words in any order.
    let floats: Vec<u8> = (0..BLOCK as u32 / 4)
        .flat_map(|n| {
            (((f64::from(n) / 900.0).sin() * 4096.0).round() as f32 * 64.0 + below(4) as f32).to_le_bytes()
        })
        .collect();
    let shuffled: Vec<u8> = (0..4).flat_map(|k| floats.iter().skip(k).step_by(4).copied()).collect();
    let words = [
        "the ", "quick ", "brown ", "fox ", "jumps ", "over ", "lazy ", "dogs, ", "while ", "nobody ",
        "looks ",
    ];
    let text: Vec<u8> = (0..BLOCK / 5).flat_map(|_| words[below(11) as usize].bytes()).collect();
    println!("{:<12}{:>8}{:>8}{:>8}{:>8}", "data", "packed", "here", "flex", "ratio");
    for (name, data) in [("floats", &floats), ("shuffled", &shuffled), ("text", &text)] {
        let block = lz4_flex::block::compress(data);
        let mut out = vec![0; data.len()];
        let (mut here, mut flex) = (f64::MAX, f64::MAX);
        for _ in 0..200 {
            let begun = Instant::now();
            assert_eq!(infeed_codecs::lz4(&block, &mut out), Ok(data.len()));
            here = here.min(begun.elapsed().as_secs_f64());
            let begun = Instant::now();
            assert_eq!(lz4_flex::block::decompress_into(&block, &mut out).unwrap(), data.len());
            flex = flex.min(begun.elapsed().as_secs_f64());
        }
        let speed = |seconds: f64| data.len() as f64 / seconds / 1e9;
        let packed = data.len() as f64 / block.len() as f64;
        println!("{name:<12}{packed:>8.2}{:>8.2}{:>8.2}{:>8.2}", speed(here), speed(flex), flex / here);
    }
}
