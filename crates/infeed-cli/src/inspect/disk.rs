//! The format of the files and their size on disk.

use infeed::{Result, format::detect, store::Stores};
use infeed_core::{Packing, Source};

/// Most files whose sizes are read; of more files only this many, spread evenly.
const ASKED: u64 = 20_000;

/// The name of the format; `auto` is detected.
pub(super) fn format(paths: &[String], given: &str) -> Result<String> {
    if given != "auto" {
        return Ok(given.to_owned());
    }
    let found = detect(&Stores::new(), paths)?;
    let name = found.entry.name;
    let packed = found.found.iter().any(|found| Packing::of_name(found.name()).is_some());
    Ok(if packed && found.entry.can.stream { format!("{name}, as a stream") } else { name.to_owned() })
}

/// Bytes on disk, and whether they were counted or estimated.
pub(super) fn bytes(source: &dyn Source) -> (u64, bool) {
    let size = |row: u64| std::fs::metadata(source.shard_of(row)).map_or(0, |m| m.len());
    let (rows, shards) = (source.rows(), source.shard_rows());
    // A source of whole files counts as one shard, but each of its rows has a file of its own.
    let whole_files = shards.len() == 1 && rows > 1 && source.shard_of(0) != source.shard_of(rows - 1);
    if whole_files {
        let step = rows.div_ceil(ASKED);
        let (count, sum) =
            (0..rows).step_by(step as usize).fold((0u64, 0u64), |(n, sum), row| (n + 1, sum + size(row)));
        return (if step == 1 { sum } else { (sum as f64 / count as f64 * rows as f64) as u64 }, step == 1);
    }
    let mut start = 0;
    let mut sum = 0;
    for n in shards {
        // A shard without rows cannot be found by row; its size is negligible.
        if *n > 0 {
            sum += size(start);
        }
        start += n;
    }
    (sum, true)
}
