//! Takes numbers and names out of a structure, and never reads past its end.

use crate::error::{Error, Result};

/// How many bytes addresses and lengths take in this file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sizes {
    pub(crate) offset: u8,
    pub(crate) length: u8,
}

/// A place in a structure.
#[derive(Debug, Clone)]
pub(crate) struct Cursor<'a> {
    data: &'a [u8],
    at: usize,
    address: u64,
    sizes: Sizes,
    what: &'static str,
}

impl<'a> Cursor<'a> {
    /// Begins at the front of `data`, which lie at `address`; `what` names the structure in errors.
    pub(crate) fn new(data: &'a [u8], address: u64, sizes: Sizes, what: &'static str) -> Self {
        Cursor { data, at: 0, address, sizes, what }
    }

    /// What is wrong, with the place.
    pub(crate) fn wrong(&self, what: &str) -> Error {
        Error::damaged_at(self.address.saturating_add(self.at as u64), format!("{}: {what}", self.what))
    }

    pub(crate) fn take(&mut self, len: usize) -> Result<&'a [u8]> {
        let rest = self.data.get(self.at..).unwrap_or_default();
        let Some(found) = rest.get(..len) else {
            return Err(self.wrong(&format!("ends {} bytes early", len - rest.len())));
        };
        self.at += len;
        Ok(found)
    }

    pub(crate) fn skip(&mut self, len: usize) -> Result<()> {
        self.take(len).map(drop)
    }

    /// What is left.
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.data.get(self.at..).unwrap_or_default()
    }

    pub(crate) fn position(&self) -> usize {
        self.at
    }

    /// A little-endian number of up to 8 bytes.
    pub(crate) fn uint(&mut self, len: usize) -> Result<u64> {
        if len > 8 {
            return Err(self.wrong("a number of more than 8 bytes"));
        }
        let mut wide = [0; 8];
        wide[..len].copy_from_slice(self.take(len)?);
        Ok(u64::from_le_bytes(wide))
    }

    pub(crate) fn u8(&mut self) -> Result<u8> {
        Ok(self.uint(1)? as u8)
    }

    pub(crate) fn u16(&mut self) -> Result<u16> {
        Ok(self.uint(2)? as u16)
    }

    pub(crate) fn u32(&mut self) -> Result<u32> {
        Ok(self.uint(4)? as u32)
    }

    pub(crate) fn u64(&mut self) -> Result<u64> {
        self.uint(8)
    }

    /// A length of the file's own width.
    pub(crate) fn length(&mut self) -> Result<u64> {
        self.uint(usize::from(self.sizes.length))
    }

    /// An address of the file's own width; `None` is the undefined address.
    pub(crate) fn address(&mut self) -> Result<Option<u64>> {
        let len = usize::from(self.sizes.offset);
        let address = self.uint(len)?;
        let none = if len >= 8 { u64::MAX } else { (1 << (len * 8)) - 1 };
        Ok((address != none).then_some(address))
    }

    /// An address that must be there.
    pub(crate) fn defined(&mut self) -> Result<u64> {
        self.address()?.ok_or_else(|| self.wrong("an address is not defined"))
    }

    pub(crate) fn signature(&mut self, wanted: &[u8; 4]) -> Result<()> {
        let found = self.take(4)?;
        if found == wanted {
            return Ok(());
        }
        self.at -= 4;
        Err(self.wrong(&format!("the signature {} is missing", String::from_utf8_lossy(wanted))))
    }

    /// A version that must be one of those known.
    pub(crate) fn version(&mut self, known: std::ops::RangeInclusive<u8>) -> Result<u8> {
        let version = self.u8()?;
        if known.contains(&version) {
            return Ok(version);
        }
        Err(Error::Unsupported(format!(
            "version {version} of a structure ({}); versions {} to {} are known",
            self.what,
            known.start(),
            known.end()
        )))
    }

    /// A text that ends with a zero.
    pub(crate) fn text(&mut self) -> Result<String> {
        let rest = self.rest();
        let Some(len) = rest.iter().position(|&b| b == 0) else {
            return Err(self.wrong("a name has no end"));
        };
        self.at += len + 1;
        Ok(String::from_utf8_lossy(&rest[..len]).into_owned())
    }

    /// Checks the checksum of everything before this place, which follows now.
    pub(crate) fn checksum(&mut self) -> Result<()> {
        let before = self.data.get(..self.at).unwrap_or_default();
        let sum = crate::checksum::lookup3(before);
        // Fuzzers would never get past a checksum to what is behind it.
        if self.u32()? == sum || cfg!(fuzzing) {
            return Ok(());
        }
        Err(self.wrong("the checksum does not agree"))
    }
}

/// Bytes that are needed for a number up to `largest`.
pub(crate) fn width_of(largest: u64) -> usize {
    (largest.max(1).ilog2() / 8 + 1) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn never_past_the_end() {
        let sizes = Sizes { offset: 8, length: 4 };
        let mut cursor =
            Cursor::new(&[1, 2, 3, 4, 255, 255, 255, 255, 255, 255, 255, 255, 7], 100, sizes, "test");
        assert_eq!(cursor.length().unwrap(), 0x0403_0201);
        assert_eq!(cursor.address().unwrap(), None);
        assert_eq!(cursor.u8().unwrap(), 7);
        assert!(cursor.u8().unwrap_err().to_string().contains("ends 1 bytes early, at address 113"));
        assert_eq!(width_of(255), 1);
        assert_eq!(width_of(256), 2);
    }
}
