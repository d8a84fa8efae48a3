//! How full rows are and how long packing takes, for documents with lognormal lengths:
//! `cargo run --release -p infeed-text --example pack_rate`

use infeed_core::Rng;
use infeed_text::pack::{Concat, Fit, FitKind, Long, Packed};
use std::{io::Write, time::Instant};

const DOCUMENTS: usize = 100_000;

fn main() -> std::io::Result<()> {
    let mut out = std::io::stdout();
    for length in [1024, 2048, 8192] {
        let documents = documents(6.0, 1.2);
        let tokens: usize = documents.iter().map(Vec::len).sum();
        writeln!(out, "rows of {length}, {DOCUMENTS} documents of {} tokens on average", tokens / DOCUMENTS)?;
        let alone: usize = documents.iter().map(|d| d.len().div_ceil(length)).sum();
        writeln!(out, "  each document alone   {:6.2} % full", share(tokens, alone * length))?;
        for (name, kind, group) in [
            ("first fit, groups 1000", FitKind::First, 1000),
            ("best fit, groups 1000", FitKind::Best, 1000),
            ("first fit, all", FitKind::First, DOCUMENTS),
            ("best fit, all", FitKind::Best, DOCUMENTS),
        ] {
            let started = Instant::now();
            let mut packer = Fit::new(length, kind, Long::Split, None, 0, group);
            let mut rows: Vec<Packed<u32>> = vec![];
            documents.iter().for_each(|d| packer.push(d, &mut rows));
            packer.finish(&mut rows);
            let seconds = started.elapsed().as_secs_f64();
            let full = share(tokens, rows.len() * length);
            writeln!(
                out,
                "  {name:<22} {full:6.2} % full, {:.0} ms, {:.0} M tokens/s",
                seconds * 1e3,
                tokens as f64 / seconds / 1e6
            )?;
        }
        let started = Instant::now();
        let mut packer = Concat::new(length, None, None);
        let mut rows = vec![];
        documents.iter().for_each(|d| packer.push(d, &mut rows));
        writeln!(out, "  concat and split       {:.0} ms", started.elapsed().as_secs_f64() * 1e3)?;
    }
    Ok(())
}

fn share(part: usize, of: usize) -> f64 {
    part as f64 / of.max(1) as f64 * 100.0
}

/// Documents whose lengths have this mean and deviation in the logarithm.
fn documents(mean: f64, deviation: f64) -> Vec<Vec<u32>> {
    let mut rng = Rng::at(1, 0, 0, 0);
    let mut length = || {
        let normal = (-2.0 * (1.0 - rng.unit()).ln()).sqrt() * (std::f64::consts::TAU * rng.unit()).cos();
        ((mean + deviation * normal).exp() as usize).clamp(1, 100_000)
    };
    (0..DOCUMENTS).map(|_| vec![7; length()]).collect()
}
