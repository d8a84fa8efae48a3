//! Memory that others can change while it is read: files that are mapped.
//!
//! A decoder reads some bytes twice: first to check a size, then to use it. Between the two another process can write to
//! a mapped file, and the check is worth nothing; in C that is a write past a buffer. [`Bytes`] cannot say where it
//! points, and slices of a mapping travel far (through Arrow's arrays, for example). So whoever maps a file makes its
//! bytes with [`lend`], which remembers the addresses, and decoders ask [`owned`], which copies what lies there. Bytes
//! that were read into memory of our own cost one lookup.

use crate::{Result, memory};
use bytes::Bytes;
use std::{
    borrow::Cow,
    collections::BTreeMap,
    sync::{PoisonError, RwLock, TryLockError},
};

/// The start and end of everything that is lent now. Mappings of one process never overlap.
static LENT: RwLock<BTreeMap<usize, usize>> = RwLock::new(BTreeMap::new());

/// Memory of a mapping, which is forgotten when it is unmapped.
struct Lent<T: AsRef<[u8]>> {
    start: usize,
    memory: T,
}

impl<T: AsRef<[u8]>> AsRef<[u8]> for Lent<T> {
    fn as_ref(&self) -> &[u8] {
        self.memory.as_ref()
    }
}

impl<T: AsRef<[u8]>> Drop for Lent<T> {
    // Before the memory itself is dropped: its addresses may then belong to somebody else.
    fn drop(&mut self) {
        LENT.write().unwrap_or_else(PoisonError::into_inner).remove(&self.start);
    }
}

/// The bytes of memory that others can change. It must not overlap with other memory that is lent.
pub fn lend(memory: impl AsRef<[u8]> + Send + 'static) -> Bytes {
    let start = memory.as_ref().as_ptr() as usize;
    let end = start + memory.as_ref().len();
    LENT.write().unwrap_or_else(PoisonError::into_inner).insert(start, end);
    Bytes::from_owner(Lent { start, memory })
}

/// Whether others can change these bytes.
fn is_lent(bytes: &[u8]) -> bool {
    let lent = match LENT.try_read() {
        Ok(lent) => lent,
        Err(TryLockError::Poisoned(held)) => held.into_inner(),
        // Somebody maps a file at this moment. One copy too many is cheaper than to wait.
        Err(TryLockError::WouldBlock) => return true,
    };
    let (start, end) = (bytes.as_ptr() as usize, bytes.as_ptr() as usize + bytes.len());
    lent.range(..end).next_back().is_some_and(|(_, lent_end)| *lent_end > start)
}

/// Bytes that nobody else can change: the same ones, or a copy of what is lent.
pub fn owned(bytes: &Bytes) -> Result<Cow<'_, Bytes>> {
    if !is_lent(bytes) {
        return Ok(Cow::Borrowed(bytes));
    }
    let mut copy = memory::with_capacity(bytes.len())?;
    copy.extend_from_slice(bytes);
    Ok(Cow::Owned(Bytes::from(copy)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_lent_is_copied_and_nothing_else() {
        let own = Bytes::from(vec![7; 1000]);
        let lent = lend(vec![8; 1000]);
        assert_ne!(owned(&lent).unwrap().as_ptr(), lent.as_ptr());
        assert_eq!(owned(&lent).unwrap()[..], lent[..]);
        // Any part of it, however it is cut.
        for part in [lent.slice(0..1), lent.slice(999..), lent.slice(400..500)] {
            let copy = owned(&part).unwrap();
            assert!(copy.as_ptr() != part.as_ptr() && copy[..] == part[..]);
        }
        // Another thread of the tests may be lending at this moment, which makes a copy of everything.
        let kept = || (0..1000).any(|_| owned(&own).unwrap().as_ptr() == own.as_ptr());
        assert!(kept());
    }

    #[test]
    fn memory_is_forgotten_when_it_is_given_back() {
        let lent = lend(vec![1; 4096]);
        let (start, part) = (lent.as_ptr() as usize, lent.slice(4000..));
        drop(lent);
        assert!(LENT.read().unwrap().contains_key(&start), "a slice of it is still used");
        drop(part);
        assert!(LENT.read().unwrap().get(&start).is_none_or(|end| *end != start + 4096));
    }
}
