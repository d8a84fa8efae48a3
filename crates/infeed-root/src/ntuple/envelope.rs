//! The anchor, and envelopes: blocks of metadata with a checksum.

use super::little::Little;
use crate::{
    bytes::FileBytes,
    cells::Work,
    cursor::Cursor,
    error::{Error, Result},
    hash3::xxh3,
    key::LARGEST,
    pack,
};

/// Bytes of a checksum.
pub(super) const SUM: usize = 8;
/// Bytes of the anchor's fields that are known.
const ANCHOR: usize = 64;

/// A place in the file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Link {
    pub(super) seek: u64,
    /// Bytes there.
    pub(super) bytes: u64,
    /// Bytes when they are unpacked.
    pub(super) len: u64,
}

/// What an envelope holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Header = 1,
    Footer = 2,
    Pages = 3,
}

/// Where header and footer are.
pub(super) struct Anchor {
    pub(super) header: Link,
    pub(super) footer: Link,
}

/// Reads the anchor, which is an object of a key: with a length, a version and big-endian numbers.
pub(super) fn anchor(object: &[u8], at: u64) -> Result<Anchor> {
    let mut cursor = Cursor::unpacked(object, at);
    cursor.u32()?;
    cursor.u16()?;
    let fields = &object[cursor.at()..];
    let Some((fields, sum)) = fields.split_last_chunk::<SUM>().filter(|(fields, _)| fields.len() >= ANCHOR)
    else {
        return Err(cursor.wrong(format!("an anchor of {} bytes", object.len())));
    };
    if xxh3(fields) != u64::from_be_bytes(*sum) && !cfg!(fuzzing) {
        return Err(cursor.wrong("the checksum of the anchor is wrong"));
    }
    let versions = [cursor.u16()?, cursor.u16()?, cursor.u16()?, cursor.u16()?];
    if versions[0] != 1 {
        let [epoch, major, minor, patch] = versions;
        return Err(Error::Unsupported(format!(
            "RNTuple of version {epoch}.{major}.{minor}.{patch} is not known (1 is); write it again with ROOT 6.36 or later"
        )));
    }
    let mut link =
        || -> Result<Link> { Ok(Link { seek: cursor.u64()?, bytes: cursor.u64()?, len: cursor.u64()? }) };
    let (header, footer) = (link()?, link()?);
    let most = cursor.u64()?;
    for link in [header, footer] {
        if most > 0 && link.bytes > most {
            return Err(Error::Unsupported(format!(
                "its metadata has {} bytes and lies in several keys",
                link.bytes
            )));
        }
    }
    Ok(Anchor { header, footer })
}

/// A locator: where something lies, and how many bytes it has there.
pub(super) fn locator(reader: &mut Little<'_>) -> Result<(u64, u64)> {
    let head = reader.i32()?;
    if head >= 0 {
        return Ok((reader.u64()?, head as u64));
    }
    let head = head.unsigned_abs();
    let (kind, own) = (head >> 24, head & 0xffff);
    if kind != 1 || own != 20 {
        return Err(Error::Unsupported(format!("a locator of type {kind} with {own} bytes is not known")));
    }
    let bytes = reader.u64()?;
    Ok((reader.u64()?, bytes))
}

/// A link to another envelope.
pub(super) fn link(reader: &mut Little<'_>) -> Result<Link> {
    let len = reader.u64()?;
    let (seek, bytes) = locator(reader)?;
    Ok(Link { seek, bytes, len })
}

/// Reads an envelope, with its head and without its checksum, which is compared and returned.
pub(super) fn read(file: &dyn FileBytes, link: Link, kind: Kind, work: &mut Work) -> Result<(Vec<u8>, u64)> {
    let wrong = |what: String| Error::damaged(link.seek, format!("the envelope {kind:?}: {what}"));
    let len = usize::try_from(link.len).ok().filter(|len| (16..=LARGEST).contains(len));
    let len = len.ok_or_else(|| wrong(format!("{} bytes", link.len)))?;
    let end = link.seek.checked_add(link.bytes).filter(|end| *end <= file.size());
    let end = end.ok_or_else(|| {
        wrong(format!("{} bytes are not in the file, which has {}; copy it again", link.bytes, file.size()))
    })?;
    let stored = file.read_one(link.seek..end)?;
    let mut data = Vec::new();
    if stored.len() == len {
        data.extend_from_slice(&stored);
    } else {
        pack::unpack(&stored, len, link.seek, &mut data, &mut work.codecs)?;
    }
    let Some(sum) = data.last_chunk::<SUM>().map(|sum| u64::from_le_bytes(*sum)) else {
        return Err(wrong("it is empty".to_owned()));
    };
    data.truncate(len - SUM);
    if xxh3(&data) != sum && !cfg!(fuzzing) {
        return Err(wrong("its checksum is wrong".to_owned()));
    }
    let head = Little::new(&data, link.seek).u64()?;
    if head & 0xffff != kind as u64 || head >> 16 != link.len {
        return Err(wrong(format!(
            "it says that it is one of type {} with {} bytes",
            head & 0xffff,
            head >> 16
        )));
    }
    Ok((data, sum))
}
