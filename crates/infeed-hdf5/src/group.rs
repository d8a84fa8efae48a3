//! Groups: links from names to objects, kept in one of three ways.

use crate::{
    error::{Error, Result},
    header::{Header, SharedTable, kind},
    heap::{FractalHeap, LocalHeap},
    meta::{Meta, TOGETHER},
    tree,
};

/// Where a link leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Link {
    /// To an object: the address of its header.
    Object(u64),
    /// To a path of the same file.
    Soft(String),
    /// To a path of another file.
    External {
        /// The other file.
        file: String,
        /// The path in it.
        path: String,
    },
    /// A kind that only a program knows.
    Other(u8),
}

/// Whether an object is a group.
pub(crate) fn is_group(header: &Header) -> bool {
    header.has(kind::SYMBOL_TABLE) || header.has(kind::LINK_INFO) || header.has(kind::LINK)
}

/// The links of a group, by name.
pub(crate) fn links(meta: &Meta, table: &SharedTable, header: &Header) -> Result<Vec<(String, Link)>> {
    let mut out = Vec::new();
    if let Some(message) = header.find(meta, table, kind::SYMBOL_TABLE)? {
        let mut cursor = message.cursor(meta, "symbol table");
        if let (Some(tree), Some(heap)) = (cursor.address()?, cursor.address()?) {
            symbols(meta, tree, heap, &mut out)?;
        }
    }
    for message in header.all(meta, table, kind::LINK)? {
        out.push(link(meta, &message.data)?);
    }
    if let Some(message) = header.find(meta, table, kind::LINK_INFO)? {
        let mut cursor = message.cursor(meta, "link info");
        cursor.version(0..=0)?;
        if cursor.u8()? & 1 != 0 {
            cursor.skip(8)?;
        }
        if let (Some(heap), Some(names)) = (cursor.address()?, cursor.address()?) {
            let heap = FractalHeap::open(meta, heap)?;
            tree::v2(meta, names, 5, &mut |record| {
                // A hash of the name, then the id.
                let id = record.get(4..11).ok_or_else(|| Error::damaged("a link's record is too short"))?;
                check_count(meta, out.len())?;
                out.push(link(meta, &heap.get(meta, id)?)?);
                Ok(())
            })?;
        }
    }
    // Trees and heaps have orders of their own; readers see one.
    out.sort_by(|(a, _), (b, _)| a.cmp(b));
    Ok(out)
}

fn check_count(meta: &Meta, count: usize) -> Result<()> {
    let limit = meta.limits.max_links;
    if count as u64 >= limit {
        return Err(Error::TooLarge { what: "a number of links", size: count as u64 + 1, limit });
    }
    Ok(())
}

/// Bytes that most nodes of symbols have.
const NODE: u64 = 1 << 10;

/// The old way: a tree of nodes with symbols, whose names are in a heap.
fn symbols(meta: &Meta, root: u64, heap: u64, out: &mut Vec<(String, Link)>) -> Result<()> {
    let heap = LocalHeap::read(meta, heap)?;
    let (o, l) = (u64::from(meta.sizes.offset), usize::from(meta.sizes.length));
    let mut nodes = Vec::new();
    tree::v1(meta, root, 0, l, &mut |_, node| {
        nodes.push(node);
        Ok(())
    })?;
    for (at, &node) in nodes.iter().enumerate() {
        if at % TOGETHER == 0 {
            meta.ahead(nodes[at..].iter().map(|node| (*node, NODE)));
        }
        let head = meta.read(node, 8)?;
        let mut cursor = meta.cursor(&head, node, "symbol node");
        cursor.signature(b"SNOD")?;
        cursor.version(1..=1)?;
        cursor.skip(1)?;
        let count = u64::from(cursor.u16()?);
        let bytes = meta.read(node, 8 + count * (2 * o + 24))?;
        let mut cursor = meta.cursor(&bytes, node, "symbol node");
        cursor.skip(8)?;
        for _ in 0..count {
            check_count(meta, out.len())?;
            let name = heap.text(cursor.uint(o as usize)?)?;
            let object = cursor.address()?;
            let kind = cursor.u32()?;
            cursor.skip(4)?;
            let value = cursor.u32()?;
            cursor.skip(12)?;
            let link = match (kind, object) {
                (2, _) => Link::Soft(heap.text(u64::from(value))?),
                (_, Some(object)) => Link::Object(object),
                _ => return Err(cursor.wrong("a symbol leads nowhere")),
            };
            out.push((name, link));
        }
    }
    Ok(())
}

/// A link message.
fn link(meta: &Meta, data: &[u8]) -> Result<(String, Link)> {
    let mut cursor = meta.cursor(data, 0, "link");
    cursor.version(1..=1)?;
    let flags = cursor.u8()?;
    let kind = if flags & 8 != 0 { cursor.u8()? } else { 0 };
    if flags & 4 != 0 {
        cursor.skip(8)?;
    }
    if flags & 16 != 0 {
        cursor.skip(1)?;
    }
    let len = cursor.uint(1 << (flags & 3))?;
    let len = usize::try_from(len).map_err(|_| cursor.wrong("the length of a name"))?;
    let name = String::from_utf8_lossy(cursor.take(len)?).into_owned();
    let link = match kind {
        0 => Link::Object(cursor.defined()?),
        1 => {
            let len = usize::from(cursor.u16()?);
            Link::Soft(String::from_utf8_lossy(cursor.take(len)?).into_owned())
        }
        64 => {
            let len = usize::from(cursor.u16()?);
            let mut inside = meta.cursor(cursor.take(len)?, 0, "external link");
            inside.skip(1)?;
            Link::External { file: inside.text()?, path: inside.text()? }
        }
        other => Link::Other(other),
    };
    Ok((name, link))
}
