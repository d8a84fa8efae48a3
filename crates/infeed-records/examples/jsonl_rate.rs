//! Measures how fast fields are extracted from JSON lines, against serde_json: `cargo run --release -p
//! infeed-records --example jsonl_rate`.

use infeed_core::Value;
use infeed_records::{
    Guess,
    json::{Wanted, extract, value},
};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::{hint::black_box, time::Instant};

#[derive(Deserialize)]
struct Text {
    text: String,
}

#[derive(Deserialize)]
struct TextRaw<'a> {
    #[serde(borrow)]
    text: &'a RawValue,
}

#[derive(Deserialize)]
struct Small {
    id: i64,
    score: f64,
    title: String,
}

fn rate(name: &str, bytes: usize, mut work: impl FnMut() -> usize) {
    let mut best = f64::MAX;
    for _ in 0..7 {
        let start = Instant::now();
        black_box(work());
        best = best.min(start.elapsed().as_secs_f64());
    }
    let mut out = std::io::stdout();
    let _ = std::io::Write::write_fmt(
        &mut out,
        format_args!("{name:42} {:6.2} GB/s\n", bytes as f64 / best / 1e9),
    );
}

fn ours(lines: &[String], names: &[&str], kinds: &[Guess]) -> usize {
    let wanted = Wanted::new(names.iter().copied());
    let mut found = vec![None; names.len()];
    let mut sum = 0;
    for line in lines {
        if extract(line.as_bytes(), &wanted, &mut found).is_err() {
            continue;
        }
        for (raw, kind) in found.iter().zip(kinds) {
            if let Some(Ok(made)) = raw.map(|raw| value(&raw, *kind)) {
                sum += if let Value::Text(text) = &made { text.len() } else { 1 };
                black_box(&made);
            }
        }
    }
    sum
}

fn main() {
    let words = "the quick brown fox jumps over the lazy dog and tells nobody about it ";
    let paragraph = format!("{}\n\"quoted\"\n", words.repeat(4));
    let documents: Vec<String> = (0..4000)
        .map(|i| {
            let row = serde_json::json!({"id": i, "text": paragraph.repeat(14), "meta": {"url": format!("https://example.org/{i}"), "lang": "en", "tags": ["a", "b"]}, "score": 0.25});
            row.to_string()
        })
        .collect();
    let plain: Vec<String> = (0..4000)
        .map(|i| serde_json::json!({"id": i, "text": words.repeat(58), "score": 0.25}).to_string())
        .collect();
    let small: Vec<String> = (0..80_000)
        .map(|i| {
            let row = serde_json::json!({"id": i, "title": "a short title of a row", "score": i as f64 * 0.125, "tags": [1, 2, 3], "source": {"name": "somewhere", "page": i % 70}, "body": "and a little more text that nobody asks for"});
            row.to_string()
        })
        .collect();
    let size = |lines: &[String]| lines.iter().map(String::len).sum::<usize>();
    for (name, lines) in
        [("documents with escapes, 4 KB", &documents), ("documents without escapes, 4 KB", &plain)]
    {
        rate(&format!("{name}: infeed"), size(lines), || ours(lines, &["text"], &[Guess::Text]));
        rate(&format!("{name}: serde_json struct"), size(lines), || {
            lines.iter().filter_map(|l| serde_json::from_str::<Text>(l).ok()).map(|t| t.text.len()).sum()
        });
        rate(&format!("{name}: serde_json RawValue"), size(lines), || {
            let one = |l: &String| {
                serde_json::from_str::<String>(serde_json::from_str::<TextRaw<'_>>(l).ok()?.text.get()).ok()
            };
            lines.iter().filter_map(one).map(|text| text.len()).sum()
        });
    }
    let kinds = [Guess::Int, Guess::Float, Guess::Text];
    rate("small rows, 3 fields: infeed", size(&small), || ours(&small, &["id", "score", "title"], &kinds));
    rate("small rows, 3 fields: serde_json struct", size(&small), || {
        let one = |l: &String| serde_json::from_str::<Small>(l).ok();
        small.iter().filter_map(one).map(|s| s.title.len() + s.id as usize % 2 + s.score as usize % 2).sum()
    });
}
