//! Finds records: from an index file, or by following their headers.

use crate::layout::rows::RowPlaces;
use infeed_core::{Bytes, Error, Packing, Result, Shard, Store, StoreExt};
use infeed_records::tfrecord::{HEAD, TAIL, index, length};

/// Size of one read if records are small.
const LARGE: u64 = 256 << 10;
/// Records beyond this size are skipped: their headers are read one by one.
const FAR: u64 = 12 << 10;

/// The records of a file.
pub(super) fn find(store: &dyn Store, shard: &Shard, beside: bool, largest: u64) -> Result<RowPlaces> {
    let lens = if beside { saved(store, shard) } else { None };
    let lens = lens.map_or_else(|| scan(store, shard, largest), Ok)?;
    let mut found = RowPlaces::new(0, false);
    for len in lens {
        found.push(len, 0)?;
    }
    Ok(found)
}

/// Reads an index file, if it matches: the first, the middle and the last record must be where it says.
fn saved(store: &dyn Store, shard: &Shard) -> Option<Vec<u64>> {
    let bare = shard.name.rsplit_once('.').map_or(&*shard.name, |(bare, _)| bare);
    let names = [
        format!("{}.index", shard.name),
        format!("{}.idx", shard.name),
        format!("{bare}.index"),
        format!("{bare}.idx"),
    ];
    names.iter().find_map(|name| {
        let file = store.stat_one(name).ok()?;
        // A line has at least four bytes, and a record sixteen.
        let bytes = (file.size <= shard.size.saturating_mul(4)).then(|| store.read_all(&file).ok())??;
        let lens = index(std::str::from_utf8(&bytes).ok()?, shard.size)?;
        let (mut at, mut right) = (0, true);
        for (number, len) in lens.iter().enumerate() {
            if number == 0 || number == lens.len() / 2 || number + 1 == lens.len() {
                let head = store.read_one(shard, at..at + HEAD as u64).ok()?;
                right &= length(&head) == Some(len - (HEAD + TAIL) as u64);
            }
            at += len;
        }
        right.then_some(lens)
    })
}

/// The error for a compressed file whose name does not say so.
fn packed(name: &str, packing: Packing) -> Error {
    let (how, ending) = (packing.name(), packing.endings()[0]);
    Error::argument(format!(
        "`{name}` is compressed ({how}), so that its records cannot be read in any order: rename it to `{name}{ending}` to \
         stream it, or unpack it"
    ))
}

/// Follows the headers.
fn scan(store: &dyn Store, shard: &Shard, largest: u64) -> Result<Vec<u64>> {
    let wrong = |at: u64, what: String| Error::Format { shard: shard.name.to_string(), offset: at, what };
    let (mut lens, mut at) = (vec![], 0u64);
    let (mut start, mut bytes, mut last) = (0u64, Bytes::new(), 0u64);
    while at < shard.size {
        if shard.size - at < (HEAD + TAIL) as u64 {
            let what = format!("the file is cut off inside a record: {} bytes are left", shard.size - at);
            return Err(wrong(at, what));
        }
        let known = start + bytes.len() as u64;
        if at + HEAD as u64 > known {
            let piece = if last < FAR { LARGE } else { HEAD as u64 };
            (start, bytes) = (at, store.read_one(shard, at..(at + piece).min(shard.size))?);
        }
        let head = &bytes[(at - start) as usize..];
        let Some(len) = length(head) else {
            if at == 0
                && let Some(packing) = Packing::of_head(head)
            {
                return Err(packed(&shard.name, packing));
            }
            let bad = "the checksum of a record's length does not fit: the file is damaged, or no TFRecord";
            return Err(wrong(at, bad.to_owned()));
        };
        let whole = len.saturating_add((HEAD + TAIL) as u64);
        if whole > shard.size - at {
            let what =
                format!("the file is cut off inside a record of {len} bytes: {} are left", shard.size - at);
            return Err(wrong(at, what));
        }
        if len > largest {
            return Err(wrong(
                at,
                format!("row {} has {len} bytes; max_row=... allows longer ones", lens.len()),
            ));
        }
        lens.push(whole);
        at += whole;
        last = len;
    }
    Ok(lens)
}
