//! The file of a saved index: a header, the arrays of [`TarIndex`] in little-endian, a checksum.

use super::super::TarIndex;
use crate::format::saved::file::hash;
use infeed_core::Shard;

/// Changes whenever the layout or the rules by which rows are found change.
const MAGIC: &[u8; 8] = b"INFEEDX1";

/// Encodes an index; `None` for a shard whose modification time is unknown.
pub(in super::super) fn encode(index: &TarIndex, shard: &Shard) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(index.memory() + 256);
    out.extend_from_slice(MAGIC);
    let counts =
        [index.names.len(), index.key_ends.len(), index.ids.len(), index.huge.len(), index.keys.len()];
    for number in [shard.size, shard.modified?].into_iter().chain(counts.map(|n| n as u64)) {
        out.extend_from_slice(&number.to_le_bytes());
    }
    for name in &index.names {
        out.extend_from_slice(&(name.len() as u32).to_le_bytes());
        out.extend_from_slice(name.as_bytes());
    }
    // Row starts are row ends with a zero in front.
    out.extend_from_slice(&0u32.to_le_bytes());
    for array in [&index.ends, &index.key_ends, &index.blocks, &index.lens] {
        array.iter().for_each(|n| out.extend_from_slice(&n.to_le_bytes()));
    }
    index.ids.iter().for_each(|n| out.extend_from_slice(&n.to_le_bytes()));
    for (member, len) in &index.huge {
        out.extend_from_slice(&(*member as u32).to_le_bytes());
        out.extend_from_slice(&len.to_le_bytes());
    }
    out.extend_from_slice(&index.keys);
    let sum = hash(&out);
    out.extend_from_slice(&sum.to_le_bytes());
    Some(out)
}

/// Decodes an index, if the file is intact and matches the shard as it is now.
pub(in super::super) fn decode(file: &[u8], shard: &Shard) -> Option<TarIndex> {
    let (content, sum) = file.split_last_chunk::<8>()?;
    let mut rest = content.strip_prefix(MAGIC)?;
    let from = &mut rest;
    if number(from)? != shard.size || Some(number(from)?) != shard.modified {
        return None;
    }
    if hash(content) != u64::from_le_bytes(*sum) {
        return None;
    }
    let mut count = || usize::try_from(number(from)?).ok();
    let [names, rows, members, huge, keys] = [count()?, count()?, count()?, count()?, count()?];
    let mut index = TarIndex::default();
    for _ in 0..names {
        let len = u32::from_le_bytes(*bytes(from, 4)?.first_chunk()?);
        index.names.push(std::str::from_utf8(bytes(from, len as usize)?).ok()?.into());
    }
    if numbers(from, 1)? != [0] {
        return None;
    }
    index.ends = numbers(from, rows)?;
    index.key_ends = numbers(from, rows)?;
    index.blocks = numbers(from, members)?;
    index.lens = numbers(from, members)?;
    let ids = bytes(from, members.checked_mul(2)?)?;
    index.ids = ids.as_chunks().0.iter().map(|c| u16::from_le_bytes(*c)).collect();
    for _ in 0..huge {
        let member = u32::from_le_bytes(*bytes(from, 4)?.first_chunk()?);
        index.huge.push((u64::from(member), number(from)?));
    }
    index.keys = bytes(from, keys)?.to_vec();
    (rest.is_empty() && index.view().holds_together(shard.size)).then_some(index)
}

/// Returns the shard with the modification time that a saved index was made for.
pub(super) fn claimed(file: &[u8], shard: &Shard) -> Option<Shard> {
    let modified = file.get(16..24)?.first_chunk().map(|bytes| u64::from_le_bytes(*bytes));
    Some(Shard { modified, ..shard.clone() })
}

/// Parses arbitrary bytes behind a header and before a checksum that fit.
pub(in crate::format) fn fuzz_saved(data: &[u8], shard: &Shard) {
    // Of an empty index everything but the header has a known length: five counts, a zero, the checksum.
    let Some(mut file) = encode(&TarIndex::default(), shard) else { return };
    file.truncate(file.len() - 5 * 8 - 4 - 8);
    file.extend_from_slice(data);
    let sum = hash(&file);
    file.extend_from_slice(&sum.to_le_bytes());
    if let Some(index) = decode(&file, shard) {
        assert!(encode(&index, shard).as_ref() == Some(&file), "an index is written as another one");
    }
}

fn bytes<'a>(from: &mut &'a [u8], len: usize) -> Option<&'a [u8]> {
    let (head, tail) = from.split_at_checked(len)?;
    *from = tail;
    Some(head)
}

fn number(from: &mut &[u8]) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes(from, 8)?.first_chunk()?))
}

fn numbers(from: &mut &[u8], count: usize) -> Option<Vec<u32>> {
    Some(bytes(from, count.checked_mul(4)?)?.as_chunks().0.iter().map(|c| u32::from_le_bytes(*c)).collect())
}
