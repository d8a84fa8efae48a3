//! Makes the index of a tar while a stream reads it, so that the next run can look its rows up at once.

use super::{build::Builder, saved};
use crate::{
    format::saved::{IndexCache, is_far},
    stream::{TarNotes, TarWatch},
};
use infeed_core::{Shard, Store};
use std::sync::Arc;

/// Watches the tars of a stream and saves their indices. Only of remote tars: the rows of local ones are found quickly.
#[derive(Debug)]
pub(super) struct Watch {
    pub(super) store: Arc<dyn Store>,
    pub(super) cache: IndexCache,
}

impl TarWatch for Watch {
    fn begin(&self, shard: &Shard) -> Option<Box<dyn TarNotes>> {
        let far = is_far(&*self.store, &shard.name) && self.cache != IndexCache::Off;
        if !far || saved::load_here(&self.cache, &*self.store, shard).is_some() {
            return None;
        }
        Some(Box::new(Notes {
            store: Arc::clone(&self.store),
            cache: self.cache.clone(),
            shard: shard.clone(),
            builder: Builder::default(),
        }))
    }
}

/// The index of a tar in the making. It is saved when the tar was read to its end without a fault.
struct Notes {
    store: Arc<dyn Store>,
    cache: IndexCache,
    shard: Shard,
    builder: Builder,
}

impl TarNotes for Notes {
    fn member(&mut self, name: &[u8], body: u64, size: u64) -> bool {
        self.builder.add(name, body, size).is_ok()
    }

    fn close(&mut self) {
        self.builder.close();
    }

    fn end(self: Box<Self>) {
        let Notes { store, cache, shard, builder } = *self;
        saved::save(&cache, &*store, &shard, &builder.finish());
    }
}
