//! The directory of a ZIP archive: where its members are.
//!
//! Archives are read from their end, where the directory is. Nothing in it is believed: every place is compared with the
//! file, and a size that no deflated bytes can have is refused before memory is asked for.

mod packed;

pub(crate) use packed::{Crc, Inflate, Packed, inflate_head, read};

use crate::object::Object;
use bytes::Bytes;
use infeed_core::{Error, Result, memory};
use std::ops::Range;

/// Bytes at the end of a file that hold the end of the directory: its 22 bytes, a comment, and what points to larger ones.
const TAIL: u64 = 22 + 65_535 + 20 + 56;
/// Members of an archive.
const MOST_MEMBERS: u64 = 1 << 20;
/// Bytes of a directory.
const MOST_BYTES: u64 = 256 << 20;
/// What deflate can make of one byte, at most.
const RATIO: u64 = 1032;

const END: &[u8; 4] = b"PK\x05\x06";
const END_64: &[u8; 4] = b"PK\x06\x06";
const LOCATOR_64: &[u8; 4] = b"PK\x06\x07";
const ENTRY: &[u8; 4] = b"PK\x01\x02";
const LOCAL: &[u8; 4] = b"PK\x03\x04";
/// Bytes of a member's own header, without its name and what else stands behind it.
const HEADER: u64 = 30;

/// How a member is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Method {
    Stored,
    Deflated,
}

/// A file in the archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Member {
    pub(crate) name: String,
    pub(crate) method: Method,
    pub(crate) crc: u32,
    /// Bytes as they are in the archive, and once they are inflated.
    pub(crate) packed: u64,
    pub(crate) size: u64,
    /// Where its own header is.
    header: u64,
    /// Where the next member begins, or the directory.
    end: u64,
}

impl Member {
    /// Bytes of the archive that hold the member and its own header, whose length only the header tells.
    pub(crate) fn reach(&self) -> Range<u64> {
        let most = self.header.saturating_add(HEADER + 2 * 0xffff).saturating_add(self.packed);
        self.header..self.end.min(most)
    }

    /// The bytes of the member, as they are stored, out of those of its [`reach`](Self::reach).
    pub(crate) fn body<'a>(&self, reach: &'a [u8]) -> Option<&'a [u8]> {
        let begin = usize::try_from(behind_header(reach)?).ok()?;
        reach.get(begin..)?.get(..usize::try_from(self.packed).ok()?)
    }

    /// Unpacks bytes as they are stored, and compares their checksum.
    pub(crate) fn unpack<'a>(
        &self,
        stored: &'a [u8],
        inflate: &mut Inflate,
        inflated: &'a mut Vec<u8>,
    ) -> Result<&'a [u8]> {
        let out = match self.method {
            Method::Stored => stored,
            Method::Deflated => {
                memory::resize(inflated, usize::try_from(self.size).unwrap_or(usize::MAX))?;
                if !inflate.whole(stored, inflated) {
                    return Err(self.damaged("it cannot be inflated"));
                }
                inflated
            }
        };
        let mut sum = Crc::new();
        sum.update(out);
        if sum.sum() != self.crc {
            return Err(self.damaged("its checksum (CRC-32) is wrong"));
        }
        Ok(out)
    }

    fn damaged(&self, what: &str) -> Error {
        Error::sample(format!("member `{}`: {what}: the file is damaged", self.name))
    }
}

/// A number of `N` bytes.
fn number<const N: usize>(bytes: &[u8], at: usize) -> Option<u64> {
    let found: &[u8; N] = bytes.get(at..)?.first_chunk()?;
    Some(found.iter().rev().fold(0, |n, byte| n << 8 | u64::from(*byte)))
}

/// Where the directory is: its place, its length, and the number of members.
#[derive(Debug, PartialEq, Eq)]
struct Directory {
    range: Range<u64>,
    members: u64,
}

/// Finds the directory in the last bytes of a file of `size` bytes.
fn directory(tail: &[u8], size: u64) -> Option<Directory> {
    let base = size.checked_sub(tail.len() as u64)?;
    // The comment behind it could hold its signature, too: its length must lead to the end.
    let ends = |at: &usize| {
        tail[*at..].starts_with(END) && number::<2>(tail, at + 20) == Some((tail.len() - at - 22) as u64)
    };
    let at = (0..=tail.len().checked_sub(22)?).rev().find(ends)?;
    let (mut members, mut len, mut start) =
        (number::<2>(tail, at + 10)?, number::<4>(tail, at + 12)?, number::<4>(tail, at + 16)?);
    if members == 0xffff || len == 0xffff_ffff || start == 0xffff_ffff {
        let locator = at.checked_sub(20).filter(|at| tail[*at..].starts_with(LOCATOR_64));
        if let Some(locator) = locator {
            let place = number::<8>(tail, locator + 8)?.checked_sub(base)?;
            let place = usize::try_from(place).ok().filter(|at| *at < tail.len())?;
            if !tail[place..].starts_with(END_64) {
                return None;
            }
            (members, len, start) = (
                number::<8>(tail, place + 32)?,
                number::<8>(tail, place + 40)?,
                number::<8>(tail, place + 48)?,
            );
        }
    }
    let end = start.checked_add(len).filter(|end| *end <= size)?;
    Some(Directory { range: start..end, members })
}

/// Reads the lines of a directory.
fn lines(bytes: &[u8], count: u64, size: u64) -> Result<Vec<Member>, String> {
    let short = || "the directory of the archive is cut short".to_owned();
    // A line has at least 46 bytes, so that a count is a claim that can be checked.
    if count > MOST_MEMBERS || count.saturating_mul(46) > bytes.len() as u64 {
        return Err(format!("the archive claims {count} members"));
    }
    let mut out = Vec::new();
    let mut at = 0;
    for _ in 0..count {
        let line = bytes.get(at..).filter(|line| line.starts_with(ENTRY)).ok_or_else(short)?;
        let field = |at| number::<2>(line, at).ok_or_else(short);
        let wide = |at| number::<4>(line, at).ok_or_else(short);
        let (flags, method) = (field(8)?, field(10)?);
        let (name_len, extra_len, comment) = (field(28)? as usize, field(30)? as usize, field(32)? as usize);
        let name = line.get(46..46 + name_len).ok_or_else(short)?;
        let name = String::from_utf8_lossy(name).into_owned();
        let extra = line.get(46 + name_len..46 + name_len + extra_len).ok_or_else(short)?;
        let (mut inflated, mut packed, mut header) = (wide(24)?, wide(20)?, wide(42)?);
        larger(extra, [&mut inflated, &mut packed, &mut header]).ok_or_else(short)?;
        let crc = wide(16)? as u32;
        at += 46 + name_len + extra_len + comment;
        if name.ends_with('/') {
            continue;
        }
        let refuse = |what: String| Err(format!("member `{name}`: {what}"));
        if flags & 1 != 0 {
            return refuse("it is encrypted".to_owned());
        }
        let method = match method {
            0 => Method::Stored,
            8 => Method::Deflated,
            other => {
                return refuse(format!(
                    "it is compressed with method {other}; stored and deflated ones (8) can be read, and NumPy and torch write \
                     no others"
                ));
            }
        };
        let possible = match method {
            Method::Stored => inflated == packed,
            Method::Deflated => inflated <= packed.saturating_mul(RATIO),
        };
        if !possible || header.checked_add(packed).is_none_or(|end| end > size) {
            return refuse(format!("{inflated} bytes in {packed} at {header} of {size} are impossible"));
        }
        out.push(Member { name, method, crc, packed, size: inflated, header, end: 0 });
    }
    Ok(out)
}

/// Takes sizes and places beyond 32 bits from the extra field, in the order in which they are given there.
fn larger(mut extra: &[u8], numbers: [&mut u64; 3]) -> Option<()> {
    if numbers.iter().all(|number| **number != 0xffff_ffff) {
        return Some(());
    }
    while let Some(kind) = number::<2>(extra, 0) {
        let len = number::<2>(extra, 2)? as usize;
        let body = extra.get(4..4 + len)?;
        if kind == 1 {
            let mut at = 0;
            for one in numbers {
                if *one == 0xffff_ffff {
                    *one = number::<8>(body, at)?;
                    at += 8;
                }
            }
            return Some(());
        }
        extra = &extra[4 + len..];
    }
    // Without one, the number is what it is.
    Some(())
}

/// Notes where members end: where the next one begins, or what lies behind the last.
fn bound(members: &mut [Member], directory: u64) {
    let mut begins: Vec<u64> = members.iter().map(|member| member.header).collect();
    begins.sort_unstable();
    for member in members {
        let next = begins.partition_point(|begin| *begin <= member.header);
        member.end = begins.get(next).copied().unwrap_or(directory).max(member.header);
    }
}

/// Reads the directory of an archive, in which every name stands once.
pub(crate) fn members(object: &Object) -> Result<Vec<Member>> {
    let members = all_members(object)?;
    let twice = members.iter().enumerate().find(|(at, one)| {
        members.len() < 4096 && members[..*at].iter().any(|before| before.name == one.name)
    });
    match twice {
        Some((_, one)) => {
            Err(object.damaged(object.size(), format!("two members are called `{}`", one.name)))
        }
        None => Ok(members),
    }
}

/// Reads the directory of an archive.
pub(crate) fn all_members(object: &Object) -> Result<Vec<Member>> {
    let size = object.size();
    let start = size.saturating_sub(TAIL);
    let tail = object.get(start..size)?;
    let wrong = |what: String| object.damaged(size, what);
    let found = directory(&tail, size).ok_or_else(|| {
        wrong("there is no end of a ZIP archive: the file was cut short, or is no archive".to_owned())
    })?;
    let len = found.range.end - found.range.start;
    if len > MOST_BYTES {
        return Err(wrong(format!("a directory of {len} bytes")));
    }
    let begin = found.range.start;
    let bytes: Bytes = if found.range.start >= start {
        tail.slice((found.range.start - start) as usize..(found.range.end - start) as usize)
    } else {
        object.get(found.range)?
    };
    let mut members = lines(&bytes, found.members, size).map_err(wrong)?;
    bound(&mut members, begin);
    Ok(members)
}

/// Where the bytes behind a member's own header begin in it.
fn behind_header(header: &[u8]) -> Option<u64> {
    let header = header.get(..HEADER as usize).filter(|header| header.starts_with(LOCAL))?;
    Some(HEADER + number::<2>(header, 26)? + number::<2>(header, 28)?)
}

/// Where the bytes of a member begin: behind its own header, whose length differs from that in the directory.
pub(crate) fn data_at(object: &Object, member: &Member) -> Result<u64> {
    let wrong = || -> Error {
        object.damaged(member.header, format!("member `{}` is not where the directory says", member.name))
    };
    let end = member.header.checked_add(HEADER).filter(|end| *end <= object.size()).ok_or_else(wrong)?;
    let at = member.header + behind_header(&object.get(member.header..end)?).ok_or_else(wrong)?;
    at.checked_add(member.packed).filter(|end| *end <= object.size()).map(|_| at).ok_or_else(wrong)
}

/// Reads arbitrary bytes as the end of an archive. Panics if something impossible is accepted.
pub fn fuzz_npz(data: &[u8]) {
    let size = data.len() as u64;
    let Some(found) = directory(&data[data.len() - data.len().min(TAIL as usize)..], size) else { return };
    assert!(found.range.start <= found.range.end && found.range.end <= size);
    let bytes = &data[found.range.start as usize..found.range.end as usize];
    let Ok(mut members) = lines(bytes, found.members, size) else { return };
    assert!(members.len() as u64 <= found.members);
    bound(&mut members, found.range.start);
    for member in members {
        let reach = member.reach();
        assert!(reach.start <= reach.end);
        let _ = member.body(data.get(reach.start as usize..reach.end as usize).unwrap_or_default());
        assert!(member.header + member.packed <= size);
        assert!(member.size <= member.packed.saturating_mul(RATIO));
    }
}
