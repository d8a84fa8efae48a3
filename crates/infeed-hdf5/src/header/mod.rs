//! Object headers: the list of messages that an object is made of.

mod shared;

use crate::{
    cursor::Cursor,
    error::{Error, Result},
    meta::Meta,
};
use bytes::Bytes;
pub(crate) use shared::SharedTable;

/// Kinds of messages that are read.
pub(crate) mod kind {
    pub(crate) const DATASPACE: u16 = 0x01;
    pub(crate) const LINK_INFO: u16 = 0x02;
    pub(crate) const DATATYPE: u16 = 0x03;
    pub(crate) const OLD_FILL: u16 = 0x04;
    pub(crate) const FILL: u16 = 0x05;
    pub(crate) const LINK: u16 = 0x06;
    pub(crate) const EXTERNAL_FILES: u16 = 0x07;
    pub(crate) const LAYOUT: u16 = 0x08;
    pub(crate) const PIPELINE: u16 = 0x0b;
    pub(crate) const ATTRIBUTE: u16 = 0x0c;
    pub(crate) const SHARED_TABLE: u16 = 0x0f;
    pub(crate) const CONTINUATION: u16 = 0x10;
    pub(crate) const SYMBOL_TABLE: u16 = 0x11;
    pub(crate) const ATTRIBUTE_INFO: u16 = 0x15;
}

/// Messages of one object at most: the format's own limit of the old header.
const MOST_MESSAGES: usize = 65_536;
const SHARED: u8 = 2;

/// One message.
#[derive(Debug, Clone)]
pub(crate) struct Message {
    pub(crate) kind: u16,
    pub(crate) flags: u8,
    pub(crate) data: Bytes,
    pub(crate) address: u64,
}

impl Message {
    pub(crate) fn cursor<'a>(&'a self, meta: &Meta, what: &'static str) -> Cursor<'a> {
        meta.cursor(&self.data, self.address, what)
    }
}

/// The messages of an object.
#[derive(Debug, Clone)]
pub(crate) struct Header {
    /// Where it is: what tells objects apart.
    pub(crate) address: u64,
    messages: Vec<Message>,
}

impl Header {
    /// Reads the header at an address, with all of its continuations. Messages that are shared stay references.
    pub(crate) fn read(meta: &Meta, address: u64) -> Result<Header> {
        let front = meta.read(address, 4)?;
        let mut reading = Reading { meta, messages: Vec::new(), more: Vec::new() };
        if front.starts_with(b"OHDR") {
            reading.second(address)?;
        } else {
            reading.first(address)?;
        }
        Ok(Header { address, messages: reading.messages })
    }

    /// The first message of a kind, with shared ones fetched from where they are.
    pub(crate) fn find(&self, meta: &Meta, table: &SharedTable, wanted: u16) -> Result<Option<Message>> {
        let found = self.messages.iter().find(|message| message.kind == wanted);
        found.map(|message| resolve(meta, table, message)).transpose()
    }

    /// All messages of a kind.
    pub(crate) fn all(&self, meta: &Meta, table: &SharedTable, wanted: u16) -> Result<Vec<Message>> {
        let found = self.messages.iter().filter(|message| message.kind == wanted);
        found.map(|message| resolve(meta, table, message)).collect()
    }

    /// Whether there is a message of a kind.
    pub(crate) fn has(&self, wanted: u16) -> bool {
        self.messages.iter().any(|message| message.kind == wanted)
    }
}

/// A message itself, if it is a reference to one that several objects share.
fn resolve(meta: &Meta, table: &SharedTable, message: &Message) -> Result<Message> {
    if message.flags & SHARED == 0 {
        return Ok(message.clone());
    }
    let mut cursor = message.cursor(meta, "shared message");
    shared::fetch(meta, table, message.kind, &mut cursor)
}

/// Reads a datatype that may stand in another object (inside attributes).
pub(crate) fn shared_part(
    meta: &Meta,
    table: &SharedTable,
    kind: u16,
    bytes: &Bytes,
    at: u64,
) -> Result<Message> {
    let mut cursor = meta.cursor(bytes, at, "shared message");
    shared::fetch(meta, table, kind, &mut cursor)
}

struct Reading<'a> {
    meta: &'a Meta,
    messages: Vec<Message>,
    /// Continuations that are still to be read: address, length.
    more: Vec<(u64, u64)>,
}

impl Reading<'_> {
    /// The old header: no checksums, everything at multiples of 8 bytes.
    fn first(&mut self, address: u64) -> Result<()> {
        let head = self.meta.read(address, 16)?;
        let mut cursor = self.meta.cursor(&head, address, "object header");
        if cursor.u8()? != 1 {
            return Err(Error::damaged_at(address, "there is no object header"));
        }
        cursor.skip(1 + 2 + 4)?;
        let len = u64::from(cursor.u32()?);
        let mut next = Some((address.saturating_add(16), len));
        let mut parts = 0;
        while let Some((at, len)) = next {
            let bytes = self.meta.read(at, len)?;
            let mut cursor = self.meta.cursor(&bytes, at, "object header");
            while cursor.rest().len() >= 8 {
                let (kind, len, flags) = (cursor.u16()?, cursor.u16()?, cursor.u8()?);
                cursor.skip(3)?;
                self.message(&bytes, &mut cursor, at, kind, usize::from(len), flags)?;
            }
            parts += 1;
            next = self.next(parts, address)?;
        }
        Ok(())
    }

    /// The new header: signatures and checksums.
    fn second(&mut self, address: u64) -> Result<()> {
        let front = self.meta.read(address, 6)?;
        let flags = front[5];
        let fixed = 6 + if flags & 0x20 != 0 { 16 } else { 0 } + if flags & 0x10 != 0 { 4 } else { 0 };
        let width = 1usize << (flags & 3);
        let head = self.meta.read(address, (fixed + width) as u64)?;
        let mut cursor = self.meta.cursor(&head, address, "object header");
        cursor.signature(b"OHDR")?;
        cursor.version(2..=2)?;
        cursor.skip(fixed - 5)?;
        let len = cursor.uint(width)?;
        let prefix = (fixed + width) as u64;
        let whole = len.checked_add(prefix + 4).ok_or_else(|| cursor.wrong("its length"))?;
        let mut next = Some((address, whole));
        let mut parts = 0;
        while let Some((at, len)) = next {
            let bytes = self.meta.read(at, len)?;
            let end =
                bytes.len().checked_sub(4).ok_or_else(|| cursor.wrong("a part of less than 4 bytes"))?;
            let mut check = self.meta.cursor(&bytes, at, "object header");
            check.skip(end)?;
            check.checksum()?;
            let body = bytes.slice(..end);
            let mut cursor = self.meta.cursor(&body, at, "object header");
            if parts == 0 {
                cursor.skip(prefix as usize)?;
            } else {
                cursor.signature(b"OCHK")?;
            }
            let order = if flags & 4 != 0 { 2 } else { 0 };
            while cursor.rest().len() >= 4 + order {
                let (kind, len, flags) = (u16::from(cursor.u8()?), cursor.u16()?, cursor.u8()?);
                cursor.skip(order)?;
                self.message(&body, &mut cursor, at, kind, usize::from(len), flags)?;
            }
            parts += 1;
            next = self.next(parts, address)?;
        }
        Ok(())
    }

    /// The continuation that is read next.
    fn next(&mut self, parts: usize, address: u64) -> Result<Option<(u64, u64)>> {
        if parts > MOST_MESSAGES {
            return Err(Error::damaged_at(address, "an object header never ends"));
        }
        Ok((!self.more.is_empty()).then(|| self.more.remove(0)))
    }

    fn message(
        &mut self,
        bytes: &Bytes,
        cursor: &mut Cursor<'_>,
        at: u64,
        kind: u16,
        len: usize,
        flags: u8,
    ) -> Result<()> {
        let start = cursor.position();
        let data = cursor.take(len)?;
        let address = at.saturating_add(start as u64);
        if kind == kind::CONTINUATION {
            let mut inside = self.meta.cursor(data, address, "continuation");
            let more = (inside.defined()?, inside.length()?);
            if self.more.len() >= MOST_MESSAGES {
                return Err(inside.wrong("too many continuations"));
            }
            self.more.push(more);
        } else if kind != 0 {
            if self.messages.len() >= MOST_MESSAGES {
                return Err(cursor.wrong("too many messages"));
            }
            self.messages.push(Message { kind, flags, data: bytes.slice(start..start + len), address });
        }
        Ok(())
    }
}
