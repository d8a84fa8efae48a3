//! Measures the row rate of a stream: `cargo run --release -p infeed --example stream_rate -- FILE|pipe:COMMAND|- ...`
#![allow(clippy::print_stdout)]

use infeed::stream::{Opening, TarStream};
use infeed_core::{Result, Stream, Value};
use std::{sync::Arc, time::Instant};

fn main() -> Result<()> {
    let openings = std::env::args().skip(1).map(|text| Opening::parse(&text)).collect();
    let stream = TarStream::open(openings)?;
    let fields: Vec<Arc<str>> = stream.spec().fields.iter().map(|(name, _)| Arc::clone(name)).collect();
    let parts: Vec<u64> = (0..stream.parts()).collect();
    let start = Instant::now();
    let mut flow = stream.start(&parts)?;
    let (mut rows, mut bytes) = (0u64, 0);
    while let Some(passing) = flow.next(&fields)? {
        rows += 1;
        bytes += passing.record?.fields.iter().map(size).sum::<usize>();
    }
    let seconds = start.elapsed().as_secs_f64();
    println!("{}: fields {}", stream.describe(), fields.join(", "));
    println!(
        "{rows} rows, {:.1} MB in {seconds:.2} s: {:.0} rows/s, {:.0} MB/s",
        bytes as f64 / 1e6,
        rows as f64 / seconds,
        bytes as f64 / 1e6 / seconds
    );
    Ok(())
}

fn size(value: &Value) -> usize {
    match value {
        Value::Bytes(bytes) => bytes.len(),
        _ => 0,
    }
}
