//! What a cache is told.

use std::{path::PathBuf, time::Duration};

/// Where a cache lies and how large it may be.
#[derive(Debug, Clone)]
pub struct CacheOptions {
    /// The folder. In `/dev/shm` the cache is in memory, one copy for all processes of the machine.
    pub folder: PathBuf,
    /// The most bytes on disk, of all processes together. Without it: 80 % of the free space, or half of it in memory.
    pub limit: Option<u64>,
    /// Bytes of a chunk.
    pub chunk: u64,
    /// Whether it stays when nobody uses it. Without it: on disk yes, in memory no.
    pub keep: Option<bool>,
    /// How many bytes are fetched ahead of their use at one time, in this process.
    pub ahead: u64,
    /// How long one process waits for a chunk that another one fetches, before it reads from the store itself.
    pub patience: Duration,
}

impl CacheOptions {
    /// A cache in this folder; everything else is as it is best for most.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        CacheOptions {
            folder: folder.into(),
            limit: None,
            chunk: 4 << 20,
            keep: None,
            ahead: 256 << 20,
            patience: Duration::from_secs(30),
        }
    }

    /// The same with a limit in bytes.
    #[must_use]
    pub fn limit(mut self, bytes: u64) -> Self {
        self.limit = Some(bytes);
        self
    }

    /// The same with chunks of another size.
    #[must_use]
    pub fn chunk(mut self, bytes: u64) -> Self {
        self.chunk = bytes;
        self
    }

    /// Whether the folder is one in memory.
    pub(super) fn in_memory(&self) -> bool {
        self.folder.starts_with("/dev/shm")
    }

    pub(super) fn keeps(&self) -> bool {
        self.keep.unwrap_or(!self.in_memory())
    }
}
