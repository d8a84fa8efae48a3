//! Reused read buffers.
//!
//! A fresh allocation above the allocator's threshold (128 KiB in glibc) is a new mapping: the kernel provides zeroed
//! pages one page fault at a time, and takes them back when the buffer is dropped. For image-sized rows that costs as
//! much as the read itself. A pool keeps dropped buffers and hands them out again, so the pages stay mapped.
//!
//! Buffers come in size classes, four per doubling, so that a kept buffer fits rows of about the same size with at most
//! a quarter wasted. They are zeroed once, when allocated; after that a reader overwrites what it hands out, so no
//! `unsafe` is needed.

mod room;

use crate::{Hold, Result};
use bytes::Bytes;
use room::Room;
use std::{
    ops::{Deref, DerefMut},
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicUsize, Ordering},
    },
};

/// Below this size the general allocator is as fast as a pool: it causes no page faults.
const SMALLEST: usize = 4 << 10;
/// Above this size buffers are so rare that keeping them only wastes memory.
const LARGEST: usize = 512 << 20;
/// Size classes per doubling.
const STEPS: usize = 4;
/// `log2(LARGEST / SMALLEST) * STEPS + 1` sizes.
const CLASSES: usize = 17 * STEPS + 1;

/// Buffers waiting to be reused.
#[derive(Debug)]
pub struct Pool {
    /// Last in, first out: the most recent buffer is the most likely to be in the CPU cache.
    classes: [Mutex<Vec<Room>>; CLASSES],
    /// When each class was last used, by a clock that ticks with every returned buffer.
    used: [AtomicUsize; CLASSES],
    clock: AtomicUsize,
    kept: AtomicUsize,
    limit: usize,
}

impl Pool {
    /// Creates a pool that keeps at most `limit` bytes of unused buffers.
    pub fn new(limit: usize) -> Arc<Pool> {
        Arc::new(Pool {
            classes: std::array::from_fn(|_| Mutex::new(Vec::new())),
            used: std::array::from_fn(|_| AtomicUsize::new(0)),
            clock: AtomicUsize::new(0),
            kept: AtomicUsize::new(0),
            limit,
        })
    }

    /// Returns the bytes of unused buffers.
    pub fn kept(&self) -> usize {
        self.kept.load(Ordering::Relaxed)
    }

    /// Returns a buffer of `len` bytes with unspecified contents.
    pub fn take(self: &Arc<Self>, len: usize) -> Result<PoolBuffer> {
        let Some(class) = class_of(len) else {
            return Ok(PoolBuffer { room: Room::new(len)?, len, home: None });
        };
        let old = self.lock(class).pop();
        let room = match old {
            Some(room) => {
                self.kept.fetch_sub(room.len(), Ordering::Relaxed);
                room
            }
            None => Room::new(class_size(class))?,
        };
        Ok(PoolBuffer { room, len, home: Some((Arc::clone(self), class)) })
    }

    /// Takes a buffer back, or drops it if enough are kept.
    fn give(&self, class: usize, room: Room) {
        let size = room.len();
        if size > self.limit {
            return;
        }
        self.used[class].store(self.clock.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
        let mut kept = self.kept.fetch_add(size, Ordering::Relaxed) + size;
        while kept > self.limit {
            // Sizes that were needed once (a whole shard, an index) must not displace the size of the rows.
            let Some(freed) = self.evict(class) else {
                self.kept.fetch_sub(size, Ordering::Relaxed);
                return;
            };
            kept = self.kept.fetch_sub(freed, Ordering::Relaxed) - freed;
        }
        self.lock(class).push(room);
    }

    /// Drops a buffer of the least recently used class other than `spared`. Returns its size.
    fn evict(&self, spared: usize) -> Option<usize> {
        let mut others: Vec<usize> = (0..CLASSES).filter(|class| *class != spared).collect();
        // Each time is read once: other threads change them meanwhile, and a sort that sees inconsistent values panics.
        others.sort_by_cached_key(|class| self.used[*class].load(Ordering::Relaxed));
        others.into_iter().find_map(|class| self.lock(class).pop()).map(|room| room.len())
    }

    fn lock(&self, class: usize) -> MutexGuard<'_, Vec<Room>> {
        self.classes[class].hold()
    }
}

/// Returns the class for buffers of `len` bytes, if buffers of that size are kept at all.
fn class_of(len: usize) -> Option<usize> {
    if !(SMALLEST..=LARGEST).contains(&len) {
        return None;
    }
    // The doubling that starts at or below `len`, then the first quarter of it that is large enough.
    let doubling = (len / SMALLEST).ilog2() as usize;
    let base = SMALLEST << doubling;
    let step = (len - base).div_ceil(base / STEPS);
    Some(doubling * STEPS + step)
}

/// Returns the size of a buffer of this class.
fn class_size(class: usize) -> usize {
    let base = SMALLEST << (class / STEPS);
    base + base / STEPS * (class % STEPS)
}

/// A buffer on loan. Fill it, then [`PoolBuffer::freeze`] it; it returns to the pool when its last view is dropped.
#[derive(Debug)]
pub struct PoolBuffer {
    room: Room,
    len: usize,
    home: Option<(Arc<Pool>, usize)>,
}

impl PoolBuffer {
    /// Makes the bytes immutable and shareable without a copy.
    pub fn freeze(self) -> Bytes {
        if self.len == 0 { Bytes::new() } else { Bytes::from_owner(self) }
    }
}

impl Deref for PoolBuffer {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.room[..self.len]
    }
}

impl DerefMut for PoolBuffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.room[..self.len]
    }
}

impl AsRef<[u8]> for PoolBuffer {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl Drop for PoolBuffer {
    fn drop(&mut self) {
        if let Some((pool, class)) = self.home.take() {
            pool.give(class, std::mem::take(&mut self.room));
        }
    }
}

#[cfg(test)]
mod tests;
