//! How much metadata may ask for before it is refused.

/// Limits that are checked before anything is allocated or followed. Metadata alone never makes this crate use more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Bytes of one object of metadata.
    pub max_metadata: u64,
    /// Bytes of one decoded chunk: of a whole shard where a shard cannot be read in parts.
    pub max_chunk: u64,
    /// Pieces of one plan.
    pub max_pieces: u64,
    /// Bytes of the index of one shard.
    pub max_index: u64,
    /// Arrays and groups that are listed in all.
    pub max_nodes: u64,
    /// Groups inside each other, lists inside each other, shards inside each other.
    pub max_depth: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            max_metadata: 256 << 20,
            max_chunk: 1 << 30,
            max_pieces: 1 << 20,
            max_index: 64 << 20,
            max_nodes: 1 << 20,
            max_depth: 64,
        }
    }
}

impl Limits {
    /// Limits for small machines and for tests: a few MiB of metadata, chunks of 16 MiB.
    pub fn small() -> Self {
        Limits {
            max_metadata: 4 << 20,
            max_chunk: 16 << 20,
            max_pieces: 1 << 16,
            max_index: 1 << 20,
            max_nodes: 1 << 12,
            ..Limits::default()
        }
    }
}
