//! Generates WebDataset shards with JPEGs and classes.

use crate::{JpegOptions, jpeg, photo};
use infeed::{
    engine::usable_cpus,
    write::{ShardOptions, ShardWriter},
};
use infeed_core::{Error, Result, parallel};
use std::{
    ops::ControlFlow,
    path::{Path, PathBuf},
};

/// The contents of the shards. Sample n does not depend on the number of samples or shards.
#[derive(Debug, Clone)]
pub struct ShardSpec {
    /// Total number of samples.
    pub samples: u64,
    /// Number of samples in each shard but the last.
    pub per_shard: u64,
    /// Width of each image.
    pub width: u32,
    /// Height of each image.
    pub height: u32,
    /// Sample n has class n modulo this.
    pub classes: u64,
    /// How the images are encoded.
    pub jpeg: JpegOptions,
    /// Whether each sample also has a `json` field with its number and class.
    pub json: bool,
    /// Prefix of the file names: `train` makes `train-000000.tar`.
    pub name: String,
    /// Seed of the images.
    pub seed: u64,
}

impl Default for ShardSpec {
    /// Twenty small images in two shards: takes milliseconds.
    fn default() -> Self {
        ShardSpec {
            samples: 20,
            per_shard: 10,
            width: 64,
            height: 48,
            classes: 10,
            jpeg: JpegOptions::default(),
            json: false,
            name: "train".to_owned(),
            seed: 0,
        }
    }
}

/// Generates the shards and returns their paths in order.
pub fn shards(dir: impl AsRef<Path>, spec: &ShardSpec) -> Result<Vec<PathBuf>> {
    shards_watched(dir, spec, &|| ControlFlow::Continue(()))
}

/// Like [`shards`], but calls `watch` after each sample, on any thread. If it breaks, the shards complete by
/// then are kept and returned.
pub fn shards_watched(
    dir: impl AsRef<Path>,
    spec: &ShardSpec,
    watch: &(dyn Fn() -> ControlFlow<()> + Sync),
) -> Result<Vec<PathBuf>> {
    if spec.samples == 0 || spec.per_shard == 0 || spec.classes == 0 {
        return Err(Error::argument("samples, per_shard and classes must be at least 1"));
    }
    let pattern = dir.as_ref().join(format!("{}-%06d.tar", spec.name)).to_string_lossy().into_owned();
    let count = usize::try_from(spec.samples.div_ceil(spec.per_shard))
        .map_err(|_| Error::argument(format!("{} samples are too many", spec.samples)))?;
    // One job per shard, so no thread waits for another.
    let made = parallel::map(count, usable_cpus(), |number| shard(&pattern, spec, number as u64, watch))?;
    Ok(made.into_iter().flatten().collect())
}

fn shard(
    pattern: &str,
    spec: &ShardSpec,
    number: u64,
    watch: &(dyn Fn() -> ControlFlow<()> + Sync),
) -> Result<Option<PathBuf>> {
    let options = ShardOptions { start: number, maxcount: spec.per_shard, ..ShardOptions::new(pattern) };
    let mut writer = ShardWriter::new(options)?;
    let first = number * spec.per_shard;
    for n in first..(first + spec.per_shard).min(spec.samples) {
        let image = jpeg(
            &photo(spec.width, spec.height, spec.seed.wrapping_add(n)),
            spec.width,
            spec.height,
            &spec.jpeg,
        )?;
        let class = n % spec.classes;
        let label = class.to_string();
        let note = format!(r#"{{"number": {n}, "class": {class}}}"#);
        let mut fields: Vec<(&str, &[u8])> = vec![("jpg", &image), ("cls", label.as_bytes())];
        if spec.json {
            fields.push(("json", note.as_bytes()));
        }
        writer.write(&format!("{n:08}"), &fields)?;
        if watch().is_break() {
            // Dropped without `finish`: the writer removes its draft.
            return Ok(None);
        }
    }
    Ok(writer.finish()?.into_iter().next().map(|written| PathBuf::from(written.name)))
}
