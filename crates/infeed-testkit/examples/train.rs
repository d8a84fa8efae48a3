//! A minimal training loop with infeed: a recipe, two epochs, the statistics.
//!
//! ```text
//! cargo run -p infeed-testkit --example train
//! ```
//!
//! Everything but the data comes from the crate `infeed`. The example is in this crate because its data is.
#![allow(clippy::print_stdout)]

use infeed::{Column, Loader, Next, Options, Recipe, open};
use infeed_testkit::{ShardSpec, shards};

/// The contents of a file `train.toml`; `PATHS` stands for the shards.
const RECIPE: &str = r#"
[source]
paths = ["PATHS"]

[[stage]]
op = "shuffle"
seed = 17

[[stage]]
op = "decode"
fields = { jpg = { name = "rgb" }, cls = { name = "int" } }

[[stage]]
op = "map"
name = "RandomResizedCrop"
on = ["jpg"]
args = { size = 32 }

[[stage]]
op = "map"
name = "RandomHorizontalFlip"
on = ["jpg"]

[[stage]]
op = "map"
name = "Normalize"
on = ["jpg"]
args = { mean = [0.485, 0.456, 0.406], std = [0.229, 0.224, 0.225] }

[[stage]]
op = "batch"
size = 16
drop_last = true
"#;

fn main() -> infeed::Result<()> {
    // Tiny WebDataset shards: 100 JPEGs of 64x48 with a class each.
    let dir = std::env::temp_dir().join(format!("infeed-example-{}", std::process::id()));
    shards(&dir, &ShardSpec { samples: 100, per_shard: 25, ..ShardSpec::default() })?;
    let done = train(&dir.join("train-{000000..000003}.tar").to_string_lossy());
    let _ = std::fs::remove_dir_all(&dir);
    done
}

fn train(paths: &str) -> infeed::Result<()> {
    // Opening checks the whole recipe; no sample is read yet.
    let plan = open(Recipe::from_toml(&RECIPE.replace("PATHS", paths))?)?;
    println!("{}", plan.explain());

    let mut loader = Loader::new(plan, Options::default())?;
    for epoch in 0..2 {
        let mut run = loader.start()?;
        let (mut batches, mut mean) = (0, 0.0);
        while let Next::Batch(batch) = run.next(None)? {
            // A training step would go here; this one only looks at the pixels.
            mean += batch.column("jpg").and_then(Column::bytes).map_or(0.0, mean_of);
            batches += 1;
        }
        println!("epoch {epoch}: {batches} batches, mean pixel {:.3}", mean / f64::from(batches));
    }
    println!("\n{}", loader.stats());
    Ok(())
}

/// Returns the mean of an array of f32.
fn mean_of(bytes: &[u8]) -> f64 {
    let values = bytes.chunks_exact(4).map(|b| f64::from(f32::from_ne_bytes([b[0], b[1], b[2], b[3]])));
    values.sum::<f64>() / (bytes.len() / 4) as f64
}
