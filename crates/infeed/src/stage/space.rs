//! Whether the files that are missing fit.

use super::{names::Item, part};
use infeed_core::{Error, Result};
use std::{os::unix::fs::MetadataExt, path::Path};

/// Checks that the missing files fit, before the first is copied.
pub(super) fn check_space(folder: &Path, missing: &[&Item], bytes: u64, free: u64) -> Result<()> {
    if bytes <= free {
        return Ok(());
    }
    // What unfinished copies have already is not needed again.
    let blocks = |item: &&Item| {
        let [part, _] = part::own_names(&item.name);
        std::fs::symlink_metadata(folder.join(part))
            .map_or(0, |data| data.blocks().saturating_mul(512).min(item.shard.size))
    };
    let needed = bytes.saturating_sub(missing.iter().map(blocks).sum());
    if needed <= free {
        return Ok(());
    }
    let what = format!(
        "{} are needed for {} files, and {} are free; make room, or stage less",
        human(needed),
        missing.len(),
        human(free)
    );
    Err(Error::io(
        "stage into",
        folder.display().to_string(),
        std::io::Error::new(std::io::ErrorKind::StorageFull, what),
    ))
}

/// `1.5 GB`: decimal units, as for disks.
fn human(bytes: u64) -> String {
    let mut value = bytes as f64;
    for unit in ["bytes", "KB", "MB", "GB"] {
        if value < 1000.0 {
            return if unit == "bytes" { format!("{bytes} bytes") } else { format!("{value:.1} {unit}") };
        }
        value /= 1000.0;
    }
    format!("{value:.1} TB")
}
