//! MDS shards, as MosaicML's `streaming` writes them.
//!
//! ```text
//! index.json            shards: names, sizes, checksums, columns with their encodings
//! shard.00000.mds       u32 count | u32 offsets[count + 1] | a copy of the columns | the samples
//! a sample              u32 sizes of the columns without a fixed size | the columns' bytes, one after the other
//! ```

mod encoding;
mod index;

pub use encoding::{Encoding, decode};
pub use index::{Column, File, Shard, parse};

use infeed_core::{Error, Result, memory};
use std::ops::Range;

/// Returns where the first sample of a shard begins and the lengths of all samples, from the first bytes of the
/// shard. `size` is the size of the shard.
pub fn samples(head: &[u8], size: u64) -> Result<(u64, Vec<u64>)> {
    let short = || Error::sample("the table of samples is cut off");
    let (words, _) = head.as_chunks::<4>();
    let (count, offsets) = words.split_first().ok_or_else(short)?;
    let count = u32::from_le_bytes(*count) as usize;
    let offsets = offsets.get(..=count).ok_or_else(short)?;
    let start = u64::from(u32::from_le_bytes(offsets[0]));
    if start < (count as u64 + 2) * 4 {
        return Err(Error::sample(format!(
            "the first sample begins at byte {start}, inside the table of samples"
        )));
    }
    // A shard without samples has an offset too.
    if start > size {
        return Err(Error::sample(format!("the samples begin at byte {start} of a shard of {size}")));
    }
    let mut lens = memory::with_capacity(count)?;
    let mut at = start;
    for (number, offset) in offsets[1..].iter().enumerate() {
        let end = u64::from(u32::from_le_bytes(*offset));
        if end < at || end > size {
            return Err(Error::sample(format!(
                "sample {number} lies at bytes {at}..{end} of a shard of {size}"
            )));
        }
        lens.push(end - at);
        at = end;
    }
    Ok((start, lens))
}

/// Returns how many bytes of the table [`samples`] needs for this many samples.
pub fn table(count: u64) -> u64 {
    (count + 2) * 4
}

/// Finds the columns in a sample.
pub fn columns(sample: &[u8], columns: &[Column], out: &mut Vec<Range<usize>>) -> Result<()> {
    out.clear();
    let short = || {
        Error::sample(format!("the sample is cut off: its columns do not fit into {} bytes", sample.len()))
    };
    let variable = columns.iter().filter(|column| column.size.is_none()).count();
    let (head, _) = sample.split_at_checked(variable * 4).ok_or_else(short)?;
    let mut sizes = head.as_chunks::<4>().0.iter().map(|size| u32::from_le_bytes(*size) as usize);
    let mut at = head.len();
    for column in columns {
        let size = column.size.or_else(|| sizes.next()).ok_or_else(short)?;
        let end = at.checked_add(size).filter(|end| *end <= sample.len()).ok_or_else(short)?;
        out.push(at..end);
        at = end;
    }
    if at != sample.len() {
        return Err(Error::sample(format!("the sample has {} bytes, its columns have {at}", sample.len())));
    }
    Ok(())
}

/// Feeds arbitrary bytes to the parsers of tables and samples: everything they return must lie within the input.
pub fn fuzz_mds(data: &[u8]) {
    if let Ok((start, lens)) = samples(data, data.len() as u64) {
        assert!(start + lens.iter().sum::<u64>() <= data.len() as u64);
    }
    let column = |text: &str| Column {
        name: "c".into(),
        size: Encoding::parse(text).and_then(|e| e.size()),
        encoding: Encoding::parse(text),
    };
    let texts = ["int", "str", "ndarray", "ndarray:int16", "ndarray:float32:2", "json", "uint8"];
    let all: Vec<Column> = texts.iter().map(|text| column(text)).collect();
    let mut found = vec![];
    if columns(data, &all, &mut found).is_ok() {
        assert_eq!(found.len(), all.len());
        assert_eq!(found.last().map(|range| range.end), Some(data.len()));
    }
    let bytes = infeed_core::Bytes::copy_from_slice(data);
    for encoding in all.iter().filter_map(|column| column.encoding.as_ref()) {
        let _ = decode(&bytes, encoding);
    }
    if let Ok(text) = std::str::from_utf8(data) {
        let _ = parse(text);
    }
}

#[cfg(test)]
mod tests;
