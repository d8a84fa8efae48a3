//! Parses a 512-byte tar header.
//!
//! All tar variants share this block. A reader of rows needs the name (`name`, and in POSIX tars `prefix` before it),
//! the size in octal or base 256, the kind of member, and a checksum that distinguishes a header from data.

use crate::layout::instead::instead;

/// Size of a header, and the unit that data is padded to.
pub(crate) const BLOCK: u64 = 512;

/// The kind of a member, as far as a reader of rows needs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MemberKind {
    /// A regular file.
    File,
    /// PAX records for the next member.
    Pax,
    /// PAX records for all members that follow.
    PaxGlobal,
    /// The name of the next member, too long for its header.
    LongName,
    /// The link target of the next member. Links are not rows, but the overrides for the next member must survive this.
    LongLink,
    /// A file with holes, whose data is not its contents.
    Sparse,
    /// A link, folder or device: no data, whatever its size says.
    Empty,
    /// Anything else: its data is skipped.
    Other,
}

/// The content of a header. The caller keeps the name and reuses its memory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Header {
    pub(crate) kind: MemberKind,
    pub(crate) size: u64,
}

/// Whether a block is all zeros, like the padding at an archive's end.
pub(crate) fn is_zero(block: &[u8]) -> bool {
    // Nearly every header starts with a letter, so the first byte decides.
    block.first() == Some(&0) && block.iter().all(|b| *b == 0)
}

/// What is wrong with the first block of a file that is no tar: what the file is, if that shows, or else the fault.
pub(crate) fn first_fault(block: &[u8], fault: String) -> String {
    // Servers answer with JSON too. Other formats are made of it, so only a tar can tell.
    let json = || {
        let begins = matches!(block, [b'{', b'"' | b'\n' | b' ' | b'\r', ..]);
        begins.then_some("this is JSON, not a tar: did a server answer with an error?")
    };
    instead(block).or_else(json).map_or(fault, str::to_owned)
}

/// Parses a header and writes the member's name to `name`. The error says what is wrong.
pub(crate) fn parse(block: &[u8], name: &mut Vec<u8>) -> Result<Header, String> {
    if !checksum_holds(block) {
        return Err("the checksum of a tar header is wrong".to_owned());
    }
    let size = number(&block[124..136]).ok_or_else(|| {
        format!("the size in a tar header is not a number: `{}`", block[124..136].escape_ascii())
    })?;
    name.clear();
    // GNU tars have times in place of the prefix, and mark it by a space in the magic.
    if &block[257..263] == b"ustar\0" && block[345] != 0 {
        name.extend_from_slice(text(&block[345..500]));
        name.push(b'/');
    }
    name.extend_from_slice(text(&block[..100]));
    let kind = match block[156] {
        // Tars older than POSIX mark folders only by the slash at the end of their names.
        0 if name.ends_with(b"/") => MemberKind::Empty,
        0 | b'0' | b'7' => MemberKind::File,
        b'1'..=b'6' => MemberKind::Empty,
        b'x' | b'X' => MemberKind::Pax,
        b'g' => MemberKind::PaxGlobal,
        b'L' => MemberKind::LongName,
        b'K' => MemberKind::LongLink,
        b'S' => MemberKind::Sparse,
        _ => MemberKind::Other,
    };
    Ok(Header { kind, size })
}

/// Whether a block is a header: its checksum is correct. Some old tars summed signed bytes.
pub(crate) fn checksum_holds(block: &[u8]) -> bool {
    let Some(written) = octal(&block[148..156]) else { return false };
    // The checksum field counts as spaces. Summing the whole block and correcting for the field keeps the loop without
    // gaps, which is several times as fast; it runs once per member.
    let spaces = 8 * i64::from(b' ');
    let unsigned = |bytes: &[u8]| i64::from(bytes.iter().map(|b| u32::from(*b)).sum::<u32>());
    let signed = |bytes: &[u8]| bytes.iter().map(|b| i64::from(*b as i8)).sum::<i64>();
    let (all, field) = (&block[..512], &block[148..156]);
    i64::try_from(written).is_ok_and(|written| {
        written == unsigned(all) - unsigned(field) + spaces || written == signed(all) - signed(field) + spaces
    })
}

/// Returns the bytes up to the first zero.
/// The size that a header gives its member; `None` for a block that is no header.
pub(crate) fn member_size(block: &[u8]) -> Option<u64> {
    if block.len() < BLOCK as usize || !checksum_holds(block) { None } else { number(&block[124..136]) }
}

fn text(field: &[u8]) -> &[u8] {
    &field[..memchr::memchr(0, field).unwrap_or(field.len())]
}

/// Parses a number in octal digits or, with the top bit set, in big-endian binary.
fn number(field: &[u8]) -> Option<u64> {
    match field[0] {
        // Positive binary: the bits after the marker are the number.
        0x80..=0xbf => field[1..]
            .iter()
            .try_fold(u64::from(field[0] & 0x3f), |n, byte| n.checked_mul(256).map(|n| n | u64::from(*byte))),
        // Negative: not possible for a size.
        0xc0..=0xff => None,
        _ => octal(field),
    }
}

/// Parses octal digits between spaces and zeros; a blank field is zero.
fn octal(field: &[u8]) -> Option<u64> {
    let digits = text(field).trim_ascii();
    digits.iter().try_fold(0u64, |n, digit| match digit {
        b'0'..=b'7' => n.checked_mul(8).map(|n| n | u64::from(digit - b'0')),
        _ => None,
    })
}
