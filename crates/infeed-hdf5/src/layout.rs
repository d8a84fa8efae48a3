//! The layout message: where the elements of a data set are.

use crate::{
    cursor::Cursor,
    error::{Error, Result},
    meta::Meta,
};
use bytes::Bytes;

/// How chunks are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChunkIndex {
    /// The old B-tree.
    TreeV1,
    /// There is one chunk: stored bytes and mask, if it is filtered.
    Single(Option<(u64, u32)>),
    /// All chunks follow each other.
    Implicit,
    /// An array of addresses.
    FixedArray,
    /// An array of addresses that can grow along one axis.
    ExtensibleArray,
    /// The new B-tree.
    TreeV2,
}

/// Where elements are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Layout {
    /// In the metadata themselves.
    Compact(Bytes),
    /// One after the other; `None` if nothing was ever written.
    Contiguous {
        /// Where they begin.
        address: Option<u64>,
    },
    /// In chunks of one shape.
    Chunked {
        /// The shape of a chunk.
        chunk: Vec<u64>,
        /// How chunks are found.
        index: ChunkIndex,
        /// Where that index is; `None` if nothing was ever written.
        address: Option<u64>,
        /// Chunks that stick out of the shape are not filtered.
        bare_edges: bool,
    },
    /// In other data sets.
    Virtual,
}

impl Layout {
    /// Reads the message; `element` is the size of an element.
    pub(crate) fn parse(meta: &Meta, cursor: &mut Cursor<'_>, data: &Bytes, element: u32) -> Result<Layout> {
        let version = cursor.version(1..=5)?;
        match version {
            1 | 2 => old(cursor, data, element),
            _ => new(meta, cursor, data, version, element),
        }
    }
}

fn old(cursor: &mut Cursor<'_>, data: &Bytes, element: u32) -> Result<Layout> {
    let (rank, class) = (usize::from(cursor.u8()?), cursor.u8()?);
    cursor.skip(5)?;
    let address = if class == 0 { None } else { cursor.address()? };
    let mut dims = Vec::new();
    for _ in 0..rank {
        dims.push(u64::from(cursor.u32()?));
    }
    match class {
        0 => {
            let len = cursor.u32()? as usize;
            compact(cursor, data, len)
        }
        1 => Ok(Layout::Contiguous { address }),
        2 => chunked(cursor, dims, element, ChunkIndex::TreeV1, address, false),
        other => Err(Error::Unsupported(format!("data layout {other}"))),
    }
}

fn new(meta: &Meta, cursor: &mut Cursor<'_>, data: &Bytes, version: u8, element: u32) -> Result<Layout> {
    match (cursor.u8()?, version) {
        (0, _) => {
            let len = usize::from(cursor.u16()?);
            compact(cursor, data, len)
        }
        (1, _) => {
            let address = cursor.address()?;
            cursor.length()?;
            Ok(Layout::Contiguous { address })
        }
        (2, 3) => {
            let rank = cursor.u8()?;
            let address = cursor.address()?;
            let dims = (0..rank).map(|_| cursor.u32().map(u64::from)).collect::<Result<Vec<u64>>>()?;
            chunked(cursor, dims, element, ChunkIndex::TreeV1, address, false)
        }
        (2, _) => {
            let (flags, rank, width) = (cursor.u8()?, cursor.u8()?, usize::from(cursor.u8()?));
            let dims = (0..rank).map(|_| cursor.uint(width)).collect::<Result<Vec<u64>>>()?;
            let index = match cursor.u8()? {
                1 if flags & 2 != 0 => ChunkIndex::Single(Some((cursor.length()?, cursor.u32()?))),
                1 => ChunkIndex::Single(None),
                2 => ChunkIndex::Implicit,
                3 => {
                    cursor.skip(1)?;
                    ChunkIndex::FixedArray
                }
                4 => {
                    cursor.skip(5)?;
                    ChunkIndex::ExtensibleArray
                }
                5 => {
                    cursor.skip(6)?;
                    ChunkIndex::TreeV2
                }
                other => return Err(Error::Unsupported(format!("chunk index {other}"))),
            };
            let address = cursor.address()?;
            chunked(cursor, dims, element, index, address, flags & 1 != 0)
        }
        (3, _) if meta.sizes.offset > 0 => Ok(Layout::Virtual),
        (other, _) => Err(Error::Unsupported(format!("data layout {other}"))),
    }
}

fn compact(cursor: &mut Cursor<'_>, data: &Bytes, len: usize) -> Result<Layout> {
    let start = cursor.position();
    cursor.skip(len)?;
    Ok(Layout::Compact(data.slice(start..start + len)))
}

/// The last of the stored sizes is that of an element.
fn chunked(
    cursor: &Cursor<'_>,
    mut dims: Vec<u64>,
    element: u32,
    index: ChunkIndex,
    address: Option<u64>,
    bare_edges: bool,
) -> Result<Layout> {
    let size = dims.pop();
    if size != Some(u64::from(element)) || dims.is_empty() || dims.contains(&0) {
        return Err(cursor.wrong("the shape of a chunk is impossible"));
    }
    Ok(Layout::Chunked { chunk: dims, index, address, bare_edges })
}
