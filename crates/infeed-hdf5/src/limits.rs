//! How much a file may ask for before it is refused.

/// Limits that are checked before anything is allocated or followed. A file's own words never make this crate use more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Bytes of metadata that are looked at in all, repeated looks counted again.
    pub max_metadata: u64,
    /// Bytes of one decoded chunk.
    pub max_chunk: u64,
    /// Chunks of one data set that have an address of their own.
    pub max_chunks: u64,
    /// Links that are listed in all.
    pub max_links: u64,
    /// Groups inside each other, soft links behind each other, types inside each other.
    pub max_depth: u32,
    /// Bytes of one read of data that are not chunked: longer runs are cut.
    pub max_run: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            max_metadata: 2 << 30,
            max_chunk: 1 << 30,
            max_chunks: 1 << 28,
            max_links: 1 << 22,
            max_depth: 64,
            max_run: 16 << 20,
        }
    }
}

impl Limits {
    /// Limits for small machines and for tests: a few MiB of metadata, chunks of 16 MiB.
    pub fn small() -> Self {
        Limits {
            max_metadata: 4 << 20,
            max_chunk: 16 << 20,
            max_chunks: 1 << 18,
            max_links: 1 << 14,
            ..Limits::default()
        }
    }
}
