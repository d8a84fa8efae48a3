//! A store in one zip file: its directory says where each object is.
//!
//! Writers of Zarr store members as they are, so that an object of the store is a range of the file ([`Zip::range`]). Members that
//! were deflated can be read as well, but only whole; encrypted ones and other methods are refused by name.

use crate::{
    error::{Error, ReadError, Result},
    limits::Limits,
    objects::{Objects, Span, below, cut},
};
use bytes::Bytes;
use std::{collections::BTreeMap, fmt, ops::Range, sync::Arc};

/// A file, as bytes by range.
pub trait ByteRanges: Send + Sync {
    /// Length in bytes.
    fn size(&self) -> u64;

    /// The bytes of a range. The caller never asks for bytes behind [`size`](Self::size), and expects as many as it asked for.
    fn read(&self, range: Range<u64>) -> Result<Bytes, ReadError>;
}

impl ByteRanges for Bytes {
    fn size(&self) -> u64 {
        self.len() as u64
    }

    fn read(&self, range: Range<u64>) -> Result<Bytes, ReadError> {
        cut(self, &Span::Range(range))
    }
}

/// What the directory says of one object.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Member {
    /// Length in bytes, once it is unpacked.
    pub size: u64,
    /// Length in bytes in the file.
    pub stored: u64,
    /// Whether it must be unpacked.
    pub deflated: bool,
    /// Where its head is: the bytes follow behind that.
    head: u64,
}

/// An open zip file.
pub struct Zip {
    source: Arc<dyn ByteRanges>,
    members: BTreeMap<String, Member>,
    limits: Limits,
}

impl fmt::Debug for Zip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Zip").field("members", &self.members.len()).finish_non_exhaustive()
    }
}

const END: usize = 22;
const LOCATOR: u64 = 20;
const ENTRY: usize = 46;
const HEAD: u64 = 30;

fn u16_at(data: &[u8], at: usize) -> Option<u64> {
    data.get(at..)?.first_chunk::<2>().map(|b| u64::from(u16::from_le_bytes(*b)))
}

fn u32_at(data: &[u8], at: usize) -> Option<u64> {
    data.get(at..)?.first_chunk::<4>().map(|b| u64::from(u32::from_le_bytes(*b)))
}

fn u64_at(data: &[u8], at: usize) -> Option<u64> {
    data.get(at..)?.first_chunk::<8>().map(|b| u64::from_le_bytes(*b))
}

impl Zip {
    /// Reads the directory.
    pub fn open(source: Arc<dyn ByteRanges>, limits: Limits) -> Result<Zip> {
        let wrong = || Error::NotZarr("no zip file: its directory is missing or damaged".to_owned());
        let size = source.size();
        let from = size.saturating_sub(END as u64 + 0xffff + LOCATOR);
        let tail = source.read(from..size).map_err(Error::Read)?;
        // The end has a comment of any length behind it, which says how long it is.
        let ends = (0..(tail.len() + 1).saturating_sub(END)).rev();
        let mut ends = ends.filter(|&at| tail[at..].starts_with(b"PK\x05\x06"));
        let fits =
            |at: &usize| u16_at(&tail, at + 20).is_some_and(|len| at + END + len as usize == tail.len());
        let end = ends.find(fits).ok_or_else(wrong)?;
        let (mut len, mut place) =
            (u32_at(&tail, end + 12).ok_or_else(wrong)?, u32_at(&tail, end + 16).ok_or_else(wrong)?);
        // Large files have another end in front, and a note that says where.
        let note = (from + end as u64)
            .checked_sub(LOCATOR)
            .map(|at| source.read(at..at + LOCATOR).map_err(Error::Read));
        if let Some(note) = note.transpose()?.filter(|note| note.starts_with(b"PK\x06\x07")) {
            let at = u64_at(&note, 8)
                .filter(|at| at.checked_add(56).is_some_and(|end| end <= size))
                .ok_or_else(wrong)?;
            let large = source.read(at..at + 56).map_err(Error::Read)?;
            if !large.starts_with(b"PK\x06\x06") {
                return Err(wrong());
            }
            (len, place) = (u64_at(&large, 40).ok_or_else(wrong)?, u64_at(&large, 48).ok_or_else(wrong)?);
        }
        if len > limits.max_metadata {
            return Err(Error::TooLarge {
                what: "the directory of a zip file",
                size: len,
                limit: limits.max_metadata,
            });
        }
        let end = place.checked_add(len).filter(|&end| end <= size).ok_or_else(wrong)?;
        let directory = source.read(place..end).map_err(Error::Read)?;
        let members = members(&directory, size)?;
        Ok(Zip { source, members, limits })
    }

    /// All objects by key.
    pub fn members(&self) -> &BTreeMap<String, Member> {
        &self.members
    }

    /// Where in the file the bytes of a member are. The head in front of them is read to know how long it is.
    fn place(&self, key: &str, member: &Member) -> Result<Range<u64>> {
        let wrong = || Error::damaged("the zip file's directory and its members do not agree").within(key);
        let size = self.source.size();
        let end = member.head.checked_add(HEAD).filter(|&end| end <= size).ok_or_else(wrong)?;
        let head = self.source.read(member.head..end).map_err(Error::Read)?;
        if !head.starts_with(b"PK\x03\x04") {
            return Err(wrong());
        }
        let more = u16_at(&head, 26).zip(u16_at(&head, 28)).map(|(name, extra)| name + extra);
        let start = end + more.ok_or_else(wrong)?;
        let end = start.checked_add(member.stored).filter(|&end| end <= size).ok_or_else(wrong)?;
        Ok(start..end)
    }

    /// The range of the file that an object is; `None` if there is no such object. Deflated objects are none.
    pub fn range(&self, key: &str) -> Result<Option<Range<u64>>> {
        let Some(member) = self.members.get(key) else { return Ok(None) };
        if member.deflated {
            let what =
                "ranges of a deflated member of a zip file; write the store without compression of its own";
            return Err(Error::unsupported(what).within(key));
        }
        self.place(key, member).map(Some)
    }

    fn inflated(&self, key: &str, member: &Member) -> Result<Bytes> {
        let limit = self.limits.max_chunk;
        if let Some(size) = [member.size, member.stored].into_iter().find(|size| *size > limit) {
            return Err(Error::TooLarge { what: "a member of a zip file", size, limit });
        }
        let stored = self.source.read(self.place(key, member)?).map_err(Error::Read)?;
        // Deflate makes bytes at most 1032 times fewer: nothing larger is allocated.
        if member.size > member.stored.saturating_mul(1032).saturating_add(64) {
            return Err(Error::damaged("a deflated member cannot be that large").within(key));
        }
        let mut out = vec![0; member.size as usize];
        let made = infeed_codecs::inflate(&stored, &mut out, &mut infeed_codecs::Scratch::default());
        if made != Ok(out.len()) {
            return Err(Error::damaged("a deflated member is damaged").within(key));
        }
        Ok(out.into())
    }
}

/// The entries of the directory.
fn members(directory: &[u8], size: u64) -> Result<BTreeMap<String, Member>> {
    let wrong = || Error::NotZarr("the directory of the zip file is damaged".to_owned());
    let mut out = BTreeMap::new();
    let mut rest = directory;
    while rest.starts_with(b"PK\x01\x02") {
        let field = |at| u16_at(rest, at).ok_or_else(wrong);
        let wide = |at| u32_at(rest, at).ok_or_else(wrong);
        let (flags, method) = (field(8)?, field(10)?);
        let (name, extra, comment) = (field(28)? as usize, field(30)? as usize, field(32)? as usize);
        let (mut stored, mut len, mut head) = (wide(20)?, wide(24)?, wide(42)?);
        let more = rest.get(ENTRY..).and_then(|more| more.get(..name + extra + comment)).ok_or_else(wrong)?;
        let key = String::from_utf8_lossy(&more[..name]).into_owned();
        if let Some(large) = extra_of(&more[name..name + extra], 1) {
            // Numbers that do not fit are here, in this order.
            let mut numbers = large.as_chunks::<8>().0.iter().map(|n| u64::from_le_bytes(*n));
            for number in [&mut len, &mut stored, &mut head] {
                if *number == u64::from(u32::MAX) {
                    *number = numbers.next().ok_or_else(wrong)?;
                }
            }
        }
        if !key.ends_with('/') {
            if flags & 1 != 0 {
                return Err(Error::unsupported("encrypted members of zip files").within(&key));
            }
            if !matches!(method, 0 | 8) {
                return Err(
                    Error::unsupported(format!("compression method {method} of zip files")).within(&key)
                );
            }
            if head > size || stored > size || (method == 0 && stored != len) {
                return Err(wrong());
            }
            out.insert(key, Member { size: len, stored, deflated: method == 8, head });
        }
        rest = &rest[ENTRY + name + extra + comment..];
    }
    if rest.is_empty() { Ok(out) } else { Err(wrong()) }
}

/// An extra field by its number.
fn extra_of(mut extra: &[u8], wanted: u64) -> Option<&[u8]> {
    while let Some((id, len)) = u16_at(extra, 0).zip(u16_at(extra, 2)) {
        let (data, rest) = extra.get(4..)?.split_at_checked(len as usize)?;
        if id == wanted {
            return Some(data);
        }
        extra = rest;
    }
    None
}

impl Objects for Zip {
    fn size(&self, key: &str) -> Result<Option<u64>, ReadError> {
        Ok(self.members.get(key).map(|member| member.size))
    }

    fn read(&self, key: &str, span: &Span) -> Result<Option<Bytes>, ReadError> {
        let Some(member) = self.members.get(key) else { return Ok(None) };
        if member.deflated {
            return Ok(Some(cut(&self.inflated(key, member)?, span)?));
        }
        let place = self.place(key, member)?;
        let range = match span {
            Span::All => 0..member.stored,
            Span::Range(range) => range.clone(),
            Span::Last(len) => member.stored.saturating_sub(*len)..member.stored,
        };
        let short = matches!(span, Span::Last(len) if *len > member.stored);
        if short || range.start > range.end || range.end > member.stored {
            return Err(format!("{key}: {span:?} of {} bytes", member.stored).into());
        }
        self.source.read(place.start + range.start..place.start + range.end).map(Some)
    }

    fn children(&self, folder: &str) -> Result<Vec<String>, ReadError> {
        let mut names = below(self.members.keys().map(String::as_str), folder);
        names.sort();
        names.dedup();
        Ok(names)
    }
}

/// Opens arbitrary bytes as a zip file and reads its members.
pub fn fuzz_zip(data: &[u8]) {
    let Ok(zip) = Zip::open(Arc::new(Bytes::copy_from_slice(data)), Limits::small()) else { return };
    for (key, member) in zip.members().iter().take(64) {
        if let Ok(Some(found)) = Objects::read(&zip, key, &Span::All) {
            assert_eq!(found.len() as u64, member.size, "a member has another size");
        }
    }
    let _ = crate::Tree::open(Arc::new(zip), "", Limits::small()).and_then(|tree| tree.list());
}
