//! The old B-tree: nodes of keys and children, down to level 0.

use crate::{
    error::{Error, Result},
    meta::Meta,
};
use std::collections::HashSet;

/// Walks a tree of a kind (0: groups, 1: chunks) in order, and gives each key of a leaf with its child. Keys have `key` bytes.
///
/// Levels must fall by one with every step down and no node may be met twice: a tree that goes in circles is an error.
pub(crate) fn v1(
    meta: &Meta,
    root: u64,
    kind: u8,
    key: usize,
    give: &mut dyn FnMut(&[u8], u64) -> Result<()>,
) -> Result<()> {
    let mut seen = HashSet::new();
    let mut waiting = vec![(root, None)];
    let o = usize::from(meta.sizes.offset);
    while let Some((address, level)) = waiting.pop() {
        if !seen.insert(address) {
            return Err(Error::damaged_at(address, "B-tree: a node is met twice, so it goes in circles"));
        }
        let head = meta.read(address, (8 + 2 * o) as u64)?;
        let mut cursor = meta.cursor(&head, address, "B-tree");
        cursor.signature(b"TREE")?;
        let (found, own, count) = (cursor.u8()?, cursor.u8()?, usize::from(cursor.u16()?));
        if found != kind || level.is_some_and(|level| level != own) {
            return Err(cursor.wrong("a node of the wrong kind or level"));
        }
        let bytes = meta.read(address, (8 + 2 * o + count * (key + o)) as u64)?;
        let mut cursor = meta.cursor(&bytes, address, "B-tree");
        cursor.skip(8 + 2 * o)?;
        let first = waiting.len();
        for _ in 0..count {
            let key = cursor.take(key)?;
            let child = cursor.defined()?;
            match own.checked_sub(1) {
                None => give(key, child)?,
                Some(below) => waiting.push((child, Some(below))),
            }
        }
        // The last one is taken first.
        waiting[first..].reverse();
    }
    Ok(())
}
