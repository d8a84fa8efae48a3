//! Reads chunks: length, type, data, CRC.

use crate::{Error, inflate};

pub(crate) const SIGNATURE: [u8; 8] = *b"\x89PNG\r\n\x1a\n";

/// One chunk, borrowed from the file.
pub(crate) struct Chunk<'a> {
    pub(crate) kind: [u8; 4],
    pub(crate) data: &'a [u8],
    /// Type and data together, which is what the CRC covers.
    covered: &'a [u8],
    crc: u32,
}

impl<'a> Chunk<'a> {
    /// The chunk at `at`, and where the next one begins. `Truncated` if any of it is missing.
    pub(crate) fn read(bytes: &'a [u8], at: usize) -> Result<(Self, usize), Error> {
        let rest = bytes.get(at..).ok_or(Error::Truncated)?;
        let (head, rest) = rest.split_first_chunk::<4>().ok_or(Error::Truncated)?;
        let kind = *rest.first_chunk::<4>().ok_or(Error::Truncated)?;
        let len = u32::from_be_bytes(*head) as usize;
        if len > i32::MAX as usize {
            return Err(Error::corrupt(format!("chunk {} claims {len} bytes", Name(kind))));
        }
        let (covered, rest) = rest.split_at_checked(4 + len).ok_or(Error::Truncated)?;
        let crc = u32::from_be_bytes(*rest.first_chunk::<4>().ok_or(Error::Truncated)?);
        Ok((Self { kind, data: &covered[4..], covered, crc }, at + 12 + len))
    }

    /// Checks the CRC. Costs one pass over the data, so reading a header skips chunks that it does not use.
    pub(crate) fn verify(&self) -> Result<(), Error> {
        if inflate::crc32(self.covered) == self.crc {
            return Ok(());
        }
        Err(Error::corrupt(format!("CRC of chunk {} does not match its data", Name(self.kind))))
    }

    /// Whether the specification forbids ignoring this chunk when its meaning is unknown.
    pub(crate) fn is_critical(&self) -> bool {
        self.kind[0] & 0x20 == 0
    }
}

/// The type of the chunk at `at`, if its first eight bytes are there.
pub(crate) fn kind_at(bytes: &[u8], at: usize) -> Option<[u8; 4]> {
    bytes.get(at + 4..)?.first_chunk::<4>().copied()
}

/// A chunk type as text; hostile bytes are escaped.
pub(crate) struct Name(pub(crate) [u8; 4]);

impl std::fmt::Display for Name {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0.escape_ascii())
    }
}
