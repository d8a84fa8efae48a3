//! The local heap: names of an old group, each ended by a zero.

use crate::{
    error::{Error, Result},
    meta::Meta,
};
use bytes::Bytes;

/// The names of a group.
#[derive(Debug)]
pub(crate) struct LocalHeap(Bytes);

impl LocalHeap {
    pub(crate) fn read(meta: &Meta, address: u64) -> Result<LocalHeap> {
        let len = 8 + 2 * u64::from(meta.sizes.length) + u64::from(meta.sizes.offset);
        let bytes = meta.read(address, len)?;
        let mut cursor = meta.cursor(&bytes, address, "local heap");
        cursor.signature(b"HEAP")?;
        cursor.version(0..=0)?;
        cursor.skip(3)?;
        let len = cursor.length()?;
        cursor.length()?;
        let data = cursor.defined()?;
        Ok(LocalHeap(meta.read(data, len)?))
    }

    /// The name that begins at an offset.
    pub(crate) fn text(&self, offset: u64) -> Result<String> {
        let rest = usize::try_from(offset).ok().and_then(|offset| self.0.get(offset..));
        let found = rest.and_then(|rest| rest.iter().position(|&b| b == 0).map(|end| &rest[..end]));
        let found = found.ok_or_else(|| Error::damaged("a name lies outside of its heap"))?;
        Ok(String::from_utf8_lossy(found).into_owned())
    }
}
