//! Messages that several objects share: in the header of a named datatype, or in a heap of the file.

use super::{Header, Message, kind};
use crate::{
    cursor::Cursor,
    error::{Error, Result},
    heap::FractalHeap,
    meta::Meta,
};

/// Where the file keeps shared messages: for each heap, the kinds of messages that are in it.
#[derive(Debug, Clone, Default)]
pub(crate) struct SharedTable {
    heaps: Vec<(u16, FractalHeap)>,
}

impl SharedTable {
    /// Reads the table that the superblock's extension names, if there is one.
    pub(crate) fn read(meta: &Meta, extension: Option<u64>) -> Result<SharedTable> {
        let Some(extension) = extension else { return Ok(SharedTable::default()) };
        let header = Header::read(meta, extension)?;
        let none = SharedTable::default();
        let Some(message) = header.find(meta, &none, kind::SHARED_TABLE)? else { return Ok(none) };
        let mut cursor = message.cursor(meta, "shared message table");
        cursor.version(0..=0)?;
        let (address, count) = (cursor.defined()?, u64::from(cursor.u8()?));
        let each = 1 + 1 + 2 + 4 + 2 + 2 + 2 + 2 * u64::from(meta.sizes.offset);
        let bytes = meta.read(address, 4 + count * each + 4)?;
        let mut cursor = meta.cursor(&bytes, address, "shared message table");
        cursor.signature(b"SMTB")?;
        let mut heaps = Vec::new();
        for _ in 0..count {
            cursor.version(0..=0)?;
            cursor.skip(1)?;
            let kinds = cursor.u16()?;
            cursor.skip(4 + 2 + 2 + 2)?;
            cursor.address()?;
            if let Some(heap) = cursor.address()? {
                heaps.push((kinds, FractalHeap::open(meta, heap)?));
            }
        }
        cursor.checksum()?;
        Ok(SharedTable { heaps })
    }
}

/// Fetches the message that a reference of a kind names.
pub(super) fn fetch(
    meta: &Meta,
    table: &SharedTable,
    wanted: u16,
    cursor: &mut Cursor<'_>,
) -> Result<Message> {
    let version = cursor.version(1..=3)?;
    let place = cursor.u8()?;
    if version == 1 {
        cursor.skip(6)?;
    }
    if version == 3 && place == 1 {
        let id = cursor.take(8)?;
        let bit = match wanted {
            kind::DATASPACE => 1,
            kind::DATATYPE => 2,
            kind::FILL | kind::OLD_FILL => 4,
            kind::PIPELINE => 8,
            kind::ATTRIBUTE => 16,
            _ => 0,
        };
        let Some((_, heap)) = table.heaps.iter().find(|(kinds, _)| kinds & bit != 0) else {
            return Err(cursor.wrong("the file has no heap for shared messages of this kind"));
        };
        let data = heap.get(meta, id)?;
        return Ok(Message { kind: wanted, flags: 0, data, address: 0 });
    }
    let address = cursor.defined()?;
    let other = Header::read(meta, address)?;
    let found = other.messages.into_iter().find(|message| message.kind == wanted);
    match found {
        // A reference to a reference has no use; following it could go on for ever.
        Some(message) if message.flags & super::SHARED == 0 => Ok(message),
        _ => Err(Error::damaged_at(address, "a shared message is not where it should be")),
    }
}
