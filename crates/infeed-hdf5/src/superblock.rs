//! The superblock: where a file begins, how wide its addresses are, and where its root group is.

use crate::{
    cursor::Sizes,
    error::{Error, Result},
    meta::Meta,
};

const SIGNATURE: &[u8; 8] = b"\x89HDF\r\n\x1a\n";

/// What the superblock says beyond what [`Meta`] keeps of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Superblock {
    /// The header of the root group.
    pub(crate) root: u64,
    /// Where more is said about the file.
    pub(crate) extension: Option<u64>,
    /// Its version.
    pub(crate) version: u8,
}

/// Whether bytes from the front of a file show that it is HDF5: the signature stands at 0, 512, 1024, 2048 and so on.
pub fn is_hdf5(front: &[u8]) -> bool {
    let places = std::iter::once(0).chain((9..32).map(|bit| 1usize << bit));
    places.take_while(|&at| at < front.len()).any(|at| front[at..].starts_with(SIGNATURE))
}

/// Finds and reads it, and tells `meta` what all later reads need.
pub(crate) fn open(meta: &mut Meta) -> Result<Superblock> {
    let start = find(meta)?;
    let len = 128.min(meta.len() - start);
    let bytes = meta.read(start, len)?;
    let mut cursor = meta.cursor(&bytes, start, "superblock");
    cursor.skip(8)?;
    let version = cursor.version(0..=3)?;
    if version < 2 {
        cursor.skip(4)?;
    }
    let sizes = Sizes { offset: cursor.u8()?, length: cursor.u8()? };
    if ![2, 4, 8].contains(&sizes.offset) || ![2, 4, 8].contains(&sizes.length) {
        return Err(cursor.wrong("addresses and lengths must have 2, 4 or 8 bytes"));
    }
    meta.sizes = sizes;
    let after = cursor.position();
    let mut cursor = meta.cursor(&bytes, start, "superblock");
    cursor.skip(after)?;
    let block = if version < 2 {
        cursor.skip(1 + 2 + 2 + 4 + if version == 1 { 4 } else { 0 })?;
        let base = cursor.defined()?;
        cursor.skip(usize::from(sizes.offset))?;
        let end = cursor.defined()?;
        cursor.skip(usize::from(sizes.offset))?;
        // The root group is told as an entry of a symbol table: a name, then the header.
        cursor.skip(usize::from(sizes.offset))?;
        let root = cursor.defined()?;
        (base, end, root, None)
    } else {
        cursor.skip(1)?;
        let base = cursor.defined()?;
        let extension = cursor.address()?;
        let end = cursor.defined()?;
        let root = cursor.defined()?;
        cursor.checksum()?;
        (base, end, root, extension)
    };
    let (base, end, root, extension) = block;
    // Some files say 0 though they begin behind a user block; the place of the signature is what counts.
    meta.base = if base == 0 { start } else { base };
    if meta.base > start {
        return Err(cursor.wrong("the base address is behind the superblock"));
    }
    // The end counts from the front of the file in old versions and from the base in new ones: only the smaller is sure.
    if end > meta.len() {
        return Err(Error::Truncated { needs: end, has: meta.len() });
    }
    Ok(Superblock { root, extension, version })
}

fn find(meta: &Meta) -> Result<u64> {
    for place in std::iter::once(0).chain((9..63).map(|bit| 1u64 << bit)) {
        if place.saturating_add(8) > meta.len() {
            break;
        }
        if meta.read(place, 8)?.starts_with(SIGNATURE) {
            return Ok(place);
        }
    }
    Err(Error::NotHdf5)
}
