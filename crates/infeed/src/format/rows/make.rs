//! Finds the rows of many files and settles their fields.

use super::{RowSet, saved, scan};
use crate::format::saved::IndexCache;
use crate::layout::rows::{RowLayout, RowPlaces, START, Sketch};
use infeed_core::{Error, Format, Index, Indices, Result, Shard, Shards, Store, StoreExt, parallel};
use infeed_records::Guess;
use std::{collections::HashMap, sync::Arc, time::Instant};

/// A row layout as a format of files with random access.
#[derive(Debug)]
pub(crate) struct RowFormat {
    layout: Arc<dyn RowLayout>,
    cache: IndexCache,
}

impl RowFormat {
    pub(crate) fn new(layout: Arc<dyn RowLayout>, cache: IndexCache) -> Self {
        RowFormat { layout, cache }
    }

    fn set(&self, store: &dyn Store, shards: &Shards, threads: usize) -> Result<RowSet> {
        let layout = &*self.layout;
        let shard = |at: usize| {
            shards.get(at).ok_or_else(|| Error::Internal { what: format!("there is no shard {at}") })
        };
        if let Some(first) = (0..shards.len()).find(|at| shards.sizes()[*at] > 0) {
            let first = shard(first)?;
            layout.prepare(&first.name, &store.read_one(&first, 0..first.size.min(START))?);
        }
        let inside = (threads / shards.len().max(1)).max(1);
        let all = parallel::map(shards.len(), threads, |at| {
            let shard = shard(at)?;
            let found = self.rows(store, &shard, inside)?;
            let head = scan::head(layout, store, &shard, &found)?;
            let sketch = layout.sketch(&head).map_err(|e| in_shard(&shard.name, e))?;
            Ok((found, head.titles, sketch))
        })?;
        let mut fields = Merged::default();
        for (at, (.., sketch)) in all.iter().enumerate().filter(|(_, (found, ..))| found.rows() > 0) {
            fields.merge(at, sketch, |at| shards.name(at).unwrap_or_default())?;
        }
        let schema = layout.schema(fields.all.into_iter().map(|(name, guess, _)| (name, guess)).collect())?;
        let mut set = RowSet::new(Arc::clone(&schema), all.len());
        for (at, (found, titles, _)) in all.into_iter().enumerate() {
            // A file without rows needs no codec, and may have no titles either.
            let codec = if found.rows() == 0 { None } else { Some(schema.codec(&titles)) };
            let codec = codec.transpose().map_err(|e| in_shard(&shards.name(at).unwrap_or_default(), e))?;
            set.push(found, codec);
        }
        Ok(set)
    }

    /// Returns the rows of a file, from the cache or by a scan.
    fn rows(&self, store: &dyn Store, shard: &Shard, threads: usize) -> Result<RowPlaces> {
        let tag = format!("{}:{}", self.layout.name(), self.layout.tag());
        if let Some(found) = saved::load(&self.cache, store, shard, &tag) {
            return Ok(found);
        }
        let start = Instant::now();
        let found = scan::find(&*self.layout, store, shard, threads)?;
        if start.elapsed() >= self.cache.patience() {
            saved::save(&self.cache, store, shard, &tag, &found);
        }
        Ok(found)
    }
}

/// The fields of all files, in the order of the first file that has each.
#[derive(Default)]
struct Merged {
    /// Name, guess, and the file that it was first seen in.
    all: Vec<(Arc<str>, Guess, usize)>,
    places: HashMap<Arc<str>, usize>,
}

impl Merged {
    /// Merges the fields of a file with those of the others.
    fn merge(&mut self, at: usize, sketch: &Sketch, named: impl Fn(usize) -> String) -> Result<()> {
        for (name, guess) in sketch {
            let place = *self.places.entry(Arc::clone(name)).or_insert_with(|| {
                self.all.push((Arc::clone(name), *guess, at));
                self.all.len() - 1
            });
            let (_, known, first) = &mut self.all[place];
            *known = known.meet(*guess).ok_or_else(|| {
                let (a, b) = (named(*first), named(at));
                let (one, other) = (known.what(), guess.what());
                Error::plan(
                    "read",
                    format!("the field `{name}` is {one} in shard `{a}` but {other} in shard `{b}`"),
                )
            })?;
        }
        Ok(())
    }
}

/// Adds the shard to an error about the start of a file.
fn in_shard(shard: &str, error: Error) -> Error {
    match error {
        Error::Sample { .. } => Error::plan("read", format!("shard `{shard}`: {error}")),
        other => other,
    }
}

impl Format for RowFormat {
    fn name(&self) -> &'static str {
        self.layout.name()
    }

    fn index(&self, store: &dyn Store, shard: &Shard) -> Result<Arc<dyn Index>> {
        let set = self.set(store, &Shards::new(std::slice::from_ref(shard))?, 1)?;
        set.only().ok_or_else(|| Error::Internal { what: "one shard gave no index".to_owned() })
    }

    fn indices(
        &self,
        store: &dyn Store,
        shards: &Shards,
        threads: usize,
    ) -> Result<Option<Arc<dyn Indices>>> {
        Ok(Some(Arc::new(self.set(store, shards, threads)?)))
    }
}
