//! The new B-tree: records in leaves and in the nodes above them.

use crate::{
    cursor::width_of,
    error::{Error, Result},
    meta::{Meta, TOGETHER},
};
use std::collections::{HashSet, VecDeque};

/// What the widths of a node's pointers depend on.
struct Level {
    /// Records that fit into a node.
    most: u64,
    /// Bytes that count all records below, at most.
    all_width: usize,
    all: u64,
}

/// Walks a tree of one of the record types and gives every record, in no order that means anything.
pub(crate) fn v2(
    meta: &Meta,
    address: u64,
    kind: u8,
    give: &mut dyn FnMut(&[u8]) -> Result<()>,
) -> Result<()> {
    let (o, l) = (usize::from(meta.sizes.offset), usize::from(meta.sizes.length));
    let bytes = meta.read(address, (16 + o + 2 + l + 4) as u64)?;
    let mut cursor = meta.cursor(&bytes, address, "B-tree of version 2");
    cursor.signature(b"BTHD")?;
    cursor.version(0..=0)?;
    let found = cursor.u8()?;
    let node = u64::from(cursor.u32()?);
    let record = u64::from(cursor.u16()?);
    let depth = cursor.u16()?;
    cursor.skip(2)?;
    let root = cursor.address()?;
    let count = u64::from(cursor.u16()?);
    cursor.length()?;
    cursor.checksum()?;
    if found != kind {
        return Err(cursor.wrong(&format!("records of type {found} instead of {kind}")));
    }
    if record == 0 || node < 10 + record || depth > 32 {
        return Err(cursor.wrong("nodes that hold no record, or too deep a tree"));
    }
    let Some(root) = root else { return Ok(()) };
    let leaf = (node - 10) / record;
    let count_width = width_of(leaf);
    let mut levels = vec![Level { most: leaf, all_width: 0, all: leaf }];
    for _ in 0..depth {
        let below = &levels[levels.len() - 1];
        let pointer = (o + count_width + below.all_width) as u64;
        let most = node.saturating_sub(10 + pointer) / (record + pointer);
        let all = (most + 1).saturating_mul(below.all).saturating_add(most);
        levels.push(Level { most, all_width: width_of(all), all });
    }
    let mut seen = HashSet::new();
    // Level by level, so that the nodes of one can be asked for together.
    let mut waiting = VecDeque::from([(root, count, usize::from(depth))]);
    let mut asked = 0;
    while let Some((address, count, level)) = waiting.pop_front() {
        if !seen.insert(address) {
            return Err(Error::damaged_at(address, "B-tree: a node is met twice, so it goes in circles"));
        }
        if count > levels[level].most {
            return Err(Error::damaged_at(address, "B-tree: more records than a node can hold"));
        }
        if asked == 0 {
            asked = waiting.len().min(TOGETHER - 1);
            meta.ahead([(address, node)].into_iter().chain(waiting.iter().map(|next| (next.0, node))));
        } else {
            asked -= 1;
        }
        let pointer =
            level.checked_sub(1).map_or(0, |below| o + count_width + levels[below].all_width) as u64;
        let pointers = if level == 0 { 0 } else { (count + 1) * pointer };
        let bytes = meta.read(address, 6 + count * record + pointers + 4)?;
        let mut cursor = meta.cursor(&bytes, address, "B-tree of version 2");
        cursor.signature(if level == 0 { b"BTLF" } else { b"BTIN" })?;
        cursor.version(0..=0)?;
        cursor.skip(1)?;
        for _ in 0..count {
            give(cursor.take(record as usize)?)?;
        }
        if level > 0 {
            for _ in 0..=count {
                let child = cursor.defined()?;
                let records = cursor.uint(count_width)?;
                cursor.skip(levels[level - 1].all_width)?;
                waiting.push_back((child, records, level - 1));
            }
        }
        cursor.checksum()?;
    }
    Ok(())
}
