//! Times infeed's encoder against the tokenizers library on the same documents:
//! `cargo run --release -p infeed-text --example compare_encode -- tokenizer.json documents.json`
//! where the documents are a JSON list of texts.

use infeed_text::{Encoder, Options};
use std::{error::Error, io::Write, time::Instant};
use tokenizers::Tokenizer;

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let (Some(file), Some(documents)) = (args.next(), args.next()) else {
        return Err("usage: compare_encode TOKENIZER DOCUMENTS.json".into());
    };
    let texts: Vec<String> = serde_json::from_slice(&std::fs::read(documents)?)?;
    let encoder = Encoder::open(&file, &Options { special_tokens: false, ..Options::default() })?;
    let library = Tokenizer::from_file(&file).map_err(|e| e.to_string())?;
    for threads in [1, 2] {
        measure(&format!("infeed, {}", encoder.engine()), &texts, threads, || {
            let mut worker = encoder.worker();
            move |text: &str| worker.encode(text).map_or(0, <[u32]>::len)
        })?;
        measure("library, encode", &texts, threads, || {
            |text: &str| library.encode(text, false).map_or(0, |e| e.len())
        })?;
        measure("library, encode_fast", &texts, threads, || {
            |text: &str| library.encode_fast(text, false).map_or(0, |e| e.len())
        })?;
        measure("library, a clone each", &texts, threads, || {
            let own = library.clone();
            move |text: &str| own.encode_fast(text, false).map_or(0, |e| e.len())
        })?;
    }
    Ok(())
}

/// Gives every thread its own encoder and every n-th document.
fn measure<F: FnMut(&str) -> usize>(
    what: &str,
    texts: &[String],
    threads: usize,
    make: impl Fn() -> F + Sync,
) -> std::io::Result<()> {
    let started = Instant::now();
    let tokens: usize = std::thread::scope(|scope| {
        let part = |n: usize| {
            let make = &make;
            scope.spawn(move || {
                let mut encode = make();
                texts.iter().skip(n).step_by(threads).map(|text| encode(text)).sum::<usize>()
            })
        };
        let parts: Vec<_> = (0..threads).map(part).collect();
        parts.into_iter().map(|part| part.join().unwrap_or(0)).sum()
    });
    let seconds = started.elapsed().as_secs_f64();
    let bytes: usize = texts.iter().map(String::len).sum();
    let (mb, rate) = (bytes as f64 / seconds / 1e6, tokens as f64 / seconds / 1e6);
    writeln!(std::io::stdout(), "{what:<24} {threads} threads {mb:8.1} MB/s {rate:8.2} M tokens/s")
}
