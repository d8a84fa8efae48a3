//! The memory of a buffer.

use crate::{Result, memory};
use memmap2::MmapMut;
use std::ops::{Deref, DerefMut};

/// From this size on, buffers are pages of the system instead of memory of the allocator.
const PAGES: usize = 1 << 20;

/// Memory that is zeroed when it is new.
///
/// Large ones are mapped: the system gives them zeroed. An allocator that has such a piece at hand would clear it once more.
#[derive(Debug)]
pub(super) enum Room {
    Heap(Box<[u8]>),
    Pages(MmapMut),
}

impl Room {
    pub(super) fn new(len: usize) -> Result<Self> {
        if len >= PAGES {
            let pages = MmapMut::map_anon(len).map_err(|_| memory::refused(len))?;
            return Ok(Room::Pages(pages));
        }
        // Probed first: `vec!` takes zeroed pages from the system without touching them, but aborts when there are none.
        drop(memory::with_capacity::<u8>(len)?);
        Ok(Room::Heap(vec![0; len].into_boxed_slice()))
    }
}

impl Default for Room {
    fn default() -> Self {
        Room::Heap(Box::default())
    }
}

impl Deref for Room {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        match self {
            Room::Heap(bytes) => bytes,
            Room::Pages(pages) => pages,
        }
    }
}

impl DerefMut for Room {
    fn deref_mut(&mut self) -> &mut [u8] {
        match self {
            Room::Heap(bytes) => bytes,
            Room::Pages(pages) => pages,
        }
    }
}
