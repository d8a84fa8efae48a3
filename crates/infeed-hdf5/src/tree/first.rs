//! The old B-tree: nodes of keys and children, down to level 0.

use crate::{
    error::{Error, Result},
    meta::{Meta, TOGETHER},
};
use std::collections::HashSet;

/// Walks a tree of a kind (0: groups, 1: chunks) in order, and gives each key of a leaf with its child. Keys have `key` bytes.
///
/// It is walked level by level, so that the nodes of one can be asked for together. Levels must fall by one with every step down and no
/// node may be met twice: a tree that goes in circles is an error.
pub(crate) fn v1(
    meta: &Meta,
    root: u64,
    kind: u8,
    key: usize,
    give: &mut dyn FnMut(&[u8], u64) -> Result<()>,
) -> Result<()> {
    let mut seen = HashSet::new();
    let (mut nodes, mut level) = (vec![root], None);
    // How long the nodes of the next level are, told by those of this one.
    let mut usual = 0;
    let o = usize::from(meta.sizes.offset);
    while !nodes.is_empty() {
        let (mut below, mut longest) = (Vec::new(), 0);
        for together in nodes.chunks(TOGETHER) {
            meta.ahead(together.iter().map(|address| (*address, usual)));
            for &address in together {
                if !seen.insert(address) {
                    return Err(Error::damaged_at(
                        address,
                        "B-tree: a node is met twice, so it goes in circles",
                    ));
                }
                let head = meta.read(address, (8 + 2 * o) as u64)?;
                let mut cursor = meta.cursor(&head, address, "B-tree");
                cursor.signature(b"TREE")?;
                let (found, own, count) = (cursor.u8()?, cursor.u8()?, usize::from(cursor.u16()?));
                if found != kind || level.is_some_and(|level| level != own) {
                    return Err(cursor.wrong("a node of the wrong kind or level"));
                }
                level = Some(own);
                let len = (8 + 2 * o + count * (key + o)) as u64;
                longest = len.max(longest);
                let bytes = meta.read(address, len)?;
                let mut cursor = meta.cursor(&bytes, address, "B-tree");
                cursor.skip(8 + 2 * o)?;
                for _ in 0..count {
                    let key = cursor.take(key)?;
                    let child = cursor.defined()?;
                    if own == 0 { give(key, child)? } else { below.push(child) }
                }
            }
        }
        usual = longest.max(LEAST);
        nodes = below;
        level = level.and_then(|level| level.checked_sub(1));
    }
    Ok(())
}

/// A root may have few children, and its nodes all they can hold.
const LEAST: u64 = 4 << 10;
