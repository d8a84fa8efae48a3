//! Indices of shards: which ones a slab needs, and those that are known.

use super::{Reader, Slab, advance, linear, strides};
use crate::{
    error::{Error, Result},
    objects::Span,
};
use std::{
    collections::HashMap,
    ops::Range,
    sync::{Arc, PoisonError, RwLock},
};

/// The index of a shard that must be read before chunks of the shard can be planned.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Need {
    /// The object.
    pub key: String,
    /// Where in it the index is.
    pub span: Span,
    /// The number of the shard.
    pub shard: u64,
}

/// Where the chunks of a shard are; a shard that was never written has none.
pub(super) type Places = Option<Arc<[Option<Range<u64>>]>>;

/// What was learnt, shared by the clones of a reader.
#[derive(Debug, Clone, Default)]
pub(super) struct Known(Arc<RwLock<HashMap<u64, Places>>>);

impl Known {
    pub(super) fn get(&self, shard: u64) -> Option<Places> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(&shard).cloned()
    }
}

impl Reader {
    /// The indices that a slab needs and that are not known yet: none for arrays without shards.
    pub fn needs(&self, slab: &Slab) -> Result<Vec<Need>> {
        self.check_slab(slab)?;
        let mut out = Vec::new();
        let Some(shard) = self.shard().filter(|_| !slab.count.contains(&0)) else { return Ok(out) };
        let (first, end) = self.touched(slab, &self.array.chunk)?;
        let numbers = strides(&self.array.grid());
        let mut at = first.clone();
        loop {
            let number = linear(&at, &numbers);
            if self.known.get(number).is_none() {
                let len = shard.index_bytes() as u64;
                let span = if shard.front { Span::Range(0..len) } else { Span::Last(len) };
                out.push(Need { key: self.array.key(&at), span, shard: number });
            }
            if !advance(&mut at, &first, &end) {
                return Ok(out);
            }
        }
    }

    /// Takes the bytes of an index; `None` says that there is no such object, so that all of it has the fill value.
    pub fn learn(&self, need: &Need, stored: Option<&[u8]>) -> Result<()> {
        let shard = self.shard().ok_or_else(|| Error::Request("this array has no shards".to_owned()))?;
        let places = match stored {
            None => None,
            Some(stored) => Some(shard.index(stored).map_err(|e| e.within(&need.key))?.into()),
        };
        self.known.0.write().unwrap_or_else(PoisonError::into_inner).insert(need.shard, places);
        Ok(())
    }

    /// Drops all indices.
    pub fn forget(&self) {
        self.known.0.write().unwrap_or_else(PoisonError::into_inner).clear();
    }
}
