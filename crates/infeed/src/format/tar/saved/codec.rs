//! The file of a saved index: a head, the arrays of [`TarIndex`] as little-endian numbers, a checksum.

use super::super::TarIndex;
use infeed_core::Shard;

/// Changes whenever the layout or the rules by which rows are found change.
const MAGIC: &[u8; 8] = b"INFEEDX1";

/// The bytes of a file, or nothing for a shard whose age is unknown.
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
    for array in [&index.starts, &index.key_ends, &index.blocks, &index.lens] {
        array.iter().for_each(|n| out.extend_from_slice(&n.to_le_bytes()));
    }
    index.ids.iter().for_each(|n| out.extend_from_slice(&n.to_le_bytes()));
    for (member, len) in &index.huge {
        out.extend_from_slice(&member.to_le_bytes());
        out.extend_from_slice(&len.to_le_bytes());
    }
    out.extend_from_slice(&index.keys);
    let sum = hash(&out);
    out.extend_from_slice(&sum.to_le_bytes());
    Some(out)
}

/// The index in a file, if it is whole and belongs to this shard as it is now.
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
    let mut index = TarIndex { shard: shard.name.clone(), ..TarIndex::default() };
    for _ in 0..names {
        let len = u32::from_le_bytes(*bytes(from, 4)?.first_chunk()?);
        index.names.push(std::str::from_utf8(bytes(from, len as usize)?).ok()?.into());
    }
    index.starts = numbers(from, rows.checked_add(1)?)?;
    index.key_ends = numbers(from, rows)?;
    index.blocks = numbers(from, members)?;
    index.lens = numbers(from, members)?;
    let ids = bytes(from, members.checked_mul(2)?)?;
    index.ids = ids.as_chunks().0.iter().map(|c| u16::from_le_bytes(*c)).collect();
    for _ in 0..huge {
        let member = u32::from_le_bytes(*bytes(from, 4)?.first_chunk()?);
        index.huge.push((member, number(from)?));
    }
    index.keys = bytes(from, keys)?.to_vec();
    (rest.is_empty() && holds_together(&index, shard)).then_some(index)
}

/// A good checksum says that the file is what was written; this says that it was written by somebody sane.
fn holds_together(index: &TarIndex, shard: &Shard) -> bool {
    let members = index.ids.len();
    index.starts.is_sorted()
        && index.starts.first() == Some(&0)
        && index.starts.last().is_some_and(|n| *n as usize == members)
        && index.key_ends.is_sorted()
        && index.key_ends.last().map_or(0, |n| *n as usize) == index.keys.len()
        && index.ids.iter().all(|id| usize::from(*id) < index.names.len())
        && index.huge.is_sorted()
        && (0..members).all(|m| index.range_of(m).end <= shard.size)
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

/// Mixes eight bytes at a time. It guards against accidents, not against people.
pub(super) fn hash(bytes: &[u8]) -> u64 {
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    let (words, tail) = bytes.as_chunks::<8>();
    let mut last = [0; 8];
    last[..tail.len()].copy_from_slice(tail);
    let words = words.iter().map(|w| u64::from_le_bytes(*w));
    words.chain([u64::from_le_bytes(last), bytes.len() as u64]).fold(ODD, |state, word| {
        let mixed = (state ^ word).wrapping_mul(ODD);
        mixed ^ (mixed >> 29)
    })
}
