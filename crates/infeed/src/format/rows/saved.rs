//! Saves the rows of a file between runs.
//!
//! ```text
//! magic | size and age of the file | hash of the layout's tag | start | counted | jumps | rows | lengths | checksum
//! ```

use crate::format::saved::{IndexCache, file::hash};
use crate::layout::rows::RowPlaces;
use infeed_core::{Shard, Store};

const MAGIC: &[u8; 8] = b"infdrow1";
/// The suffix of saved files.
const SUFFIX: &str = "infeed-rows";

/// Loads saved rows that match the file.
pub(super) fn load(cache: &IndexCache, store: &dyn Store, shard: &Shard, tag: &str) -> Option<RowPlaces> {
    // Rows are quickly found again, and nothing in the file could tell that their places still fit.
    cache.load(store, shard, SUFFIX, |file| if file.older { None } else { decode(&file.bytes, shard, tag) })
}

/// Saves rows for the next run, if wanted and possible.
pub(super) fn save(cache: &IndexCache, store: &dyn Store, shard: &Shard, tag: &str, found: &RowPlaces) {
    if let Some(bytes) = encode(found, shard, tag) {
        cache.save(store, shard, SUFFIX, &bytes);
    }
}

fn encode(found: &RowPlaces, shard: &Shard, tag: &str) -> Option<Vec<u8>> {
    let numbers = [shard.size, shard.modified?, hash(tag.as_bytes()), found.start, u64::from(found.counted)];
    let mut out = MAGIC.to_vec();
    out.reserve(found.lens.len() * 4 + found.jumps.len() * 16 + 80);
    numbers.iter().for_each(|n| out.extend_from_slice(&n.to_le_bytes()));
    out.extend_from_slice(&(found.jumps.len() as u64).to_le_bytes());
    found.jumps.iter().for_each(|(row, line)| {
        out.extend_from_slice(&row.to_le_bytes());
        out.extend_from_slice(&line.to_le_bytes());
    });
    out.extend_from_slice(&found.rows().to_le_bytes());
    found.lens.lens().iter().for_each(|len| out.extend_from_slice(&len.to_le_bytes()));
    let sum = hash(&out);
    out.extend_from_slice(&sum.to_le_bytes());
    Some(out)
}

/// Parses arbitrary bytes behind a header and before a checksum that fit.
pub(in crate::format) fn fuzz_saved(data: &[u8], shard: &Shard) {
    // Without rows everything but the header has a known length: four numbers and the checksum.
    let Some(mut file) = encode(&RowPlaces::of(0, vec![], vec![], false), shard, "") else { return };
    file.truncate(file.len() - 4 * 8 - 8);
    file.extend_from_slice(data);
    let sum = hash(&file);
    file.extend_from_slice(&sum.to_le_bytes());
    if let Some(found) = decode(&file, shard, "") {
        assert_eq!(found.rows(), found.lens.len() as u64);
    }
}

fn decode(bytes: &[u8], shard: &Shard, tag: &str) -> Option<RowPlaces> {
    let (body, sum) = bytes.split_last_chunk::<8>()?;
    if u64::from_le_bytes(*sum) != hash(body) {
        return None;
    }
    let mut rest = body.strip_prefix(MAGIC)?;
    let mut next = || {
        let (number, after) = rest.split_first_chunk::<8>()?;
        rest = after;
        Some(u64::from_le_bytes(*number))
    };
    if (next()?, Some(next()?), next()?) != (shard.size, shard.modified, hash(tag.as_bytes())) {
        return None;
    }
    let (start, counted, jumps) = (next()?, next()? == 1, next()?);
    let jumps = (0..jumps).map(|_| Some((next()?, next()?))).collect::<Option<Vec<_>>>()?;
    let rows = next()?;
    let (lens, []) = rest.as_chunks::<4>() else { return None };
    let lens: Vec<u32> = lens.iter().map(|len| u32::from_le_bytes(*len)).collect();
    let end = lens.iter().try_fold(start, |sum, len| sum.checked_add(u64::from(*len)))?;
    (lens.len() as u64 == rows && end <= shard.size).then(|| RowPlaces::of(start, lens, jumps, counted))
}
