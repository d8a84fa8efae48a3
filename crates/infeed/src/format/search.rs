//! Tells whoever runs a pipeline that much has to be read before its first batch.
//!
//! A tar in a remote store has no table of contents: without an index all of it is read once. Nobody should wonder for minutes
//! why nothing happens.

use infeed_core::Hold;
use std::sync::{
    Arc, Mutex,
    atomic::{AtomicU64, Ordering::Relaxed},
};

/// Searches of fewer bytes are not worth a word: they take some seconds at most.
const LONG: u64 = 256 << 20;

/// A search for rows in shards that are far away.
#[derive(Debug)]
pub struct Search {
    /// The shards that have no index.
    pub shards: usize,
    /// Their bytes.
    pub bytes: u64,
    done: AtomicU64,
}

/// Is told when a search begins, and whenever some of it is done; from several threads.
pub type SearchHook = Arc<dyn Fn(&Search) + Send + Sync>;

static HOOK: Mutex<Option<SearchHook>> = Mutex::new(None);

/// Sets who is told of long searches. Returns who was told before.
pub fn on_search(hook: Option<SearchHook>) -> Option<SearchHook> {
    std::mem::replace(&mut *HOOK.hold(), hook)
}

impl Search {
    /// Begins a search. Nothing is told of a short one.
    pub(super) fn begin(shards: usize, bytes: u64) -> Option<Search> {
        let search = Search { shards, bytes, done: AtomicU64::new(0) };
        (bytes >= LONG).then(|| search.tell())
    }

    /// Bytes that were read.
    pub fn done(&self) -> u64 {
        self.done.load(Relaxed)
    }

    /// Some bytes were read, or skipped.
    pub(super) fn passed(&self, bytes: u64) {
        self.done.fetch_add(bytes, Relaxed);
        self.told();
    }

    fn tell(self) -> Self {
        self.told();
        self
    }

    fn told(&self) {
        // Not under the lock: the hook may take its time.
        let hook = HOOK.hold().clone();
        if let Some(hook) = hook {
            hook(self);
        }
    }
}
