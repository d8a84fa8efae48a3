//! Parses pages of an LMDB file, as written by 64-bit little-endian builds.
//!
//! ```text
//! page      u64 number | u16 | u16 flags | u16 lower, u16 upper (or u32 pages of a long value) | u16 places of nodes ...
//! meta      two pages; the one of the younger transaction counts: page size, the trees' roots, the last page
//! node      u16 low, u16 high | u16 flags | u16 length of the key | the key | the value
//! ```
//!
//! In a branch, a node is a child page. In a leaf, it is an entry whose value is in the node, on pages of its own (if
//! it is long), or a tree (a named database).

use infeed_core::{Error, Result};
use std::ops::Range;

/// Size of a page header in bytes.
pub const HEAD: usize = 16;
/// Number of relevant bytes in a meta page.
pub const META: usize = 152;
const MAGIC: u32 = 0xbeef_c0de;
const BRANCH: u16 = 1;
const LEAF: u16 = 2;
const OVERFLOW: u16 = 4;
/// The tree may have several values per key.
const SORTED: u16 = 4;
/// The page number that means none.
pub const NONE: u64 = u64::MAX;

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().map(|b| u16::from_le_bytes(*b))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|b| u32::from_le_bytes(*b))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..)?.first_chunk().map(|b| u64::from_le_bytes(*b))
}

/// A tree of entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tree {
    /// Its root page, or [`NONE`].
    pub root: u64,
    /// How many entries it has.
    pub entries: u64,
    /// Whether keys may have several values.
    pub sorted: bool,
}

impl Tree {
    /// Parses a tree.
    pub fn parse(bytes: &[u8]) -> Option<Tree> {
        let sorted = u16_at(bytes, 4)? & SORTED != 0;
        Some(Tree { root: u64_at(bytes, 40)?, entries: u64_at(bytes, 32)?, sorted })
    }
}

/// The contents of a meta page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Meta {
    /// Page size in bytes.
    pub page: u64,
    /// The last page in use.
    pub last: u64,
    /// The transaction that wrote it.
    pub transaction: u64,
    /// The unnamed database.
    pub main: Tree,
}

/// Parses a meta page; `None` if it is not one.
pub fn meta(bytes: &[u8]) -> Option<Meta> {
    if u32_at(bytes, 16)? != MAGIC || u32_at(bytes, 20)? != 1 {
        return None;
    }
    let page = u64::from(u32_at(bytes, 40)?);
    let sound = page.is_power_of_two() && (256..=65536).contains(&page);
    let found = Meta {
        page,
        last: u64_at(bytes, 136)?,
        transaction: u64_at(bytes, 144)?,
        main: Tree::parse(bytes.get(88..136)?)?,
    };
    sound.then_some(found)
}

/// The contents of a page of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Page {
    /// Child pages.
    Branch(Vec<u64>),
    /// Entries.
    Leaf(Vec<Entry>),
}

/// An entry; ranges are within the page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Range of the key.
    pub key: Range<usize>,
    /// Location of the value.
    pub value: Stored,
}

/// The location of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stored {
    /// In the page.
    Here(Range<usize>),
    /// On pages of its own: the first page number and the length in bytes.
    Pages(u64, u32),
    /// It is a database.
    Tree(Tree),
    /// There are several values.
    Several,
}

fn wrong(number: u64, what: &str) -> Error {
    Error::sample(format!("page {number}: {what}"))
}

/// Parses a page of a tree.
pub fn page(bytes: &[u8], number: u64) -> Result<Page> {
    let bad = || wrong(number, "its nodes do not fit into it");
    if u64_at(bytes, 0) != Some(number) {
        return Err(wrong(number, "its number is wrong; the file is damaged, or was changed meanwhile"));
    }
    let flags = u16_at(bytes, 10).ok_or_else(bad)?;
    let lower = usize::from(u16_at(bytes, 12).ok_or_else(bad)?);
    let count = lower.checked_sub(HEAD).filter(|_| lower <= bytes.len()).ok_or_else(bad)? / 2;
    let nodes = (0..count).map(|at| u16_at(bytes, HEAD + at * 2).map(usize::from).ok_or_else(bad));
    if flags & BRANCH != 0 {
        let below = |node: Result<usize>| {
            let node = node?;
            let part = |at| u16_at(bytes, node + at).map(u64::from).ok_or_else(bad);
            Ok(part(0)? | part(2)? << 16 | part(4)? << 32)
        };
        return nodes.map(below).collect::<Result<_>>().map(Page::Branch);
    }
    if flags & LEAF == 0 {
        return Err(wrong(number, "it is neither branch nor leaf"));
    }
    nodes.map(|node| entry(bytes, node?).ok_or_else(bad)).collect::<Result<_>>().map(Page::Leaf)
}

fn entry(bytes: &[u8], node: usize) -> Option<Entry> {
    let size = u32::from(u16_at(bytes, node)?) | u32::from(u16_at(bytes, node + 2)?) << 16;
    let flags = u16_at(bytes, node + 4)?;
    let key = node + 8..node + 8 + usize::from(u16_at(bytes, node + 6)?);
    let start = key.end;
    let inside = start..start.checked_add(usize::try_from(size).ok()?)?;
    let value = match flags & 7 {
        1 => Stored::Pages(u64_at(bytes, start)?, size),
        2 => Stored::Tree(Tree::parse(bytes.get(inside)?)?),
        0 => Stored::Here(inside),
        _ => Stored::Several,
    };
    let end = if let Stored::Here(range) = &value { range.end } else { start };
    (end <= bytes.len()).then_some(Entry { key, value })
}

/// Checks the header of the pages of a long value.
pub fn long(head: &[u8], number: u64) -> Result<()> {
    let sound =
        u64_at(head, 0) == Some(number) && u16_at(head, 10).is_some_and(|flags| flags & OVERFLOW != 0);
    if sound {
        Ok(())
    } else {
        Err(wrong(number, "it does not hold a value; the file is damaged, or was changed meanwhile"))
    }
}

/// Feeds arbitrary bytes to the page parser: everything it returns must lie within the page.
pub fn fuzz_lmdb(data: &[u8]) {
    if let Some(meta) = meta(data) {
        assert!(meta.page >= 256);
    }
    if let Ok(Page::Leaf(entries)) = page(data, 0) {
        for entry in entries {
            assert!(entry.key.end <= data.len());
            if let Stored::Here(range) = entry.value {
                assert!(range.start <= range.end && range.end <= data.len());
            }
        }
    }
    let _ = long(data, 0);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Builds a leaf with one entry.
    fn leaf(key: &[u8], value: &[u8]) -> Vec<u8> {
        let mut out = vec![0; 256];
        let node = 256 - 8 - key.len() - value.len();
        out[0] = 7;
        out[10] = 2;
        out[12..14].copy_from_slice(&18u16.to_le_bytes());
        out[16..18].copy_from_slice(&(node as u16).to_le_bytes());
        out[node..node + 2].copy_from_slice(&(value.len() as u16).to_le_bytes());
        out[node + 6..node + 8].copy_from_slice(&(key.len() as u16).to_le_bytes());
        out[node + 8..].copy_from_slice(&[key, value].concat());
        out
    }

    #[test]
    fn entries_of_a_leaf() {
        let bytes = leaf(b"key", b"value");
        let Page::Leaf(entries) = page(&bytes, 7).unwrap() else { panic!("no leaf") };
        assert_eq!(&bytes[entries[0].key.clone()], b"key");
        assert_eq!(entries[0].value, Stored::Here(251..256));
        assert!(page(&bytes, 8).unwrap_err().to_string().contains("its number is wrong"));
        assert!(page(&bytes[..250], 7).is_err());
        assert!(page(&[], 7).is_err());
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(noise in prop::collection::vec((0usize..256, any::<u8>()), 0..12)) {
            let mut bytes = leaf(b"key", b"value");
            bytes[0] = 0;
            for (at, byte) in noise {
                bytes[at] = byte;
                fuzz_lmdb(&bytes);
            }
            fuzz_lmdb(&bytes[..bytes.len() / 2]);
        }
    }
}
