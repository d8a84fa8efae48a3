//! Keys: what stands before every object of a file.

use crate::{
    bytes::FileBytes,
    cursor::Cursor,
    error::{Error, Result},
    pack,
};
use infeed_codecs::Scratch;

/// From this version on, places in the file have 8 bytes.
const WIDE: u16 = 1000;
/// Bytes that one object may have when it is unpacked, which is what ROOT allows.
pub(crate) const LARGEST: usize = 1 << 30;

/// A key.
#[derive(Debug, Clone)]
pub(crate) struct Key {
    /// Bytes of key and object in the file.
    pub(crate) stored: usize,
    /// Bytes of the object when it is unpacked.
    pub(crate) len: usize,
    /// Bytes of the key.
    pub(crate) head: usize,
    pub(crate) cycle: u16,
    /// Where it lies.
    pub(crate) seek: u64,
    pub(crate) class: String,
    pub(crate) name: String,
}

impl Key {
    pub(crate) fn read(cursor: &mut Cursor<'_>) -> Result<Key> {
        // A negative length is that of a gap.
        let stored = cursor.count("bytes of a key and its object")?;
        let version = cursor.u16()?;
        let len = cursor.count("bytes of an object")?;
        cursor.u32()?;
        let (head, cycle) = (usize::from(cursor.u16()?), cursor.u16()?);
        let seek = cursor.seek(version > WIDE)?;
        cursor.seek(version > WIDE)?;
        let (class, name) = (cursor.text()?, cursor.text()?);
        cursor.text()?;
        Ok(Key { stored, len, head, cycle, seek, class, name })
    }

    /// Reads its object.
    pub(crate) fn object(&self, file: &dyn FileBytes) -> Result<Vec<u8>> {
        let place = || format!("the object `{}` of class {}", self.name, self.class);
        if self.head > self.stored {
            let what = format!("{} has {} bytes and a key of {}", place(), self.stored, self.head);
            return Err(Error::damaged(self.seek, what));
        }
        if self.len > LARGEST {
            return Err(Error::Unsupported(format!("{} has {} bytes", place(), self.len)));
        }
        let end = self.seek.checked_add(self.stored as u64).filter(|end| *end <= file.size());
        let Some(end) = end else {
            let what = format!(
                "{} of {} bytes is not in the file of {}: it is cut short; copy it again",
                place(),
                self.stored,
                file.size()
            );
            return Err(Error::damaged(self.seek, what));
        };
        let at = self.seek + self.head as u64;
        let stored = file.read_one(at..end)?;
        if stored.len() == self.len {
            return Ok(stored.to_vec());
        }
        let mut out = Vec::new();
        pack::unpack(&stored, self.len, at, &mut out, &mut Scratch::default())
            .map_err(|e| e.inside(&place()))?;
        Ok(out)
    }
}
