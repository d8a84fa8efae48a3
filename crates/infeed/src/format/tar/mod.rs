//! Tars of samples, as WebDataset lays them out.
//!
//! ```text
//! 000017.cls    7                 two members whose names differ only after the first dot
//! 000017.jpg    <a JPEG>          are two fields of the sample 000017
//! 000018.cls    2
//! 000018.jpg    ...
//! ```
//!
//! A tar has no table of contents, so one pass over its headers makes a [`TarIndex`]; after that every row is as
//! near as any other, and shuffling needs no buffer. The pass is quick (it skips the data of large members), and its
//! result can be [saved](IndexCache). Many tars share the arrays of one [`TarSet`], in memory and in their file.
//!
//! Read: ustar, old tars, GNU long names, PAX records (also those before every member that Python writes), archives
//! appended to one another. Not read: compressed tars, sparse files. A fault in a tar is an error with its byte
//! offset, or, with [`TarFormat::lenient`], a note in [`TarIndex::damage`].

mod build;
pub(crate) mod header;
mod index;
mod many;
pub(crate) mod names;
pub(crate) mod pax;
mod saved;
mod scan;
mod set;
mod view;
mod window;

pub use index::TarIndex;
pub use saved::IndexCache;
pub(in crate::format) use saved::file::hash;
pub use set::TarSet;

use infeed_core::{Args, Entry, Format, Index, Indices, Param, Result, Shard, Shards, Store};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

/// Cuts tars into rows.
#[derive(Debug, Clone, Default)]
pub struct TarFormat {
    /// Step over damaged parts instead of refusing the shard.
    pub lenient: bool,
    /// Where indices are kept between runs.
    pub cache: IndexCache,
}

impl TarFormat {
    /// The index of a shard, saved or made now.
    pub fn read_index(&self, store: &dyn Store, shard: &Shard) -> Result<TarIndex> {
        self.find_rows(store, shard, self.cache.patience())
    }

    /// The index of a shard; one that took at least `patience` to make is saved.
    fn find_rows(&self, store: &dyn Store, shard: &Shard, patience: Duration) -> Result<TarIndex> {
        if let Some(index) = self.cache.load(shard) {
            return Ok(index);
        }
        let start = Instant::now();
        let index = scan::scan(store, shard, self.lenient)?;
        if start.elapsed() >= patience {
            self.cache.save(shard, &index);
        }
        Ok(index)
    }
}

impl Format for TarFormat {
    fn name(&self) -> &'static str {
        "tar"
    }

    fn index(&self, store: &dyn Store, shard: &Shard) -> Result<Arc<dyn Index>> {
        Ok(Arc::new(self.read_index(store, shard)?))
    }

    fn indices(
        &self,
        store: &dyn Store,
        shards: &Shards,
        threads: usize,
    ) -> Result<Option<Arc<dyn Indices>>> {
        Ok(Some(Arc::new(self.read_set(store, shards, threads)?)))
    }
}

/// The table row of this format.
pub(super) const ENTRY: Entry<dyn Format> = Entry {
    name: "tar",
    about: "WebDataset tars: members that share a name up to the first dot are one sample",
    params: &[
        Param {
            name: "lenient",
            python: "bool",
            default: Some("false"),
            about: "step over damaged parts of a tar",
        },
        Param {
            name: "index",
            python: "str",
            default: Some("\"auto\""),
            about: "where indices are kept: auto, off, beside (the shard), or a folder",
        },
    ],
    build: |args: &Args| {
        let cache = match args.text("index")? {
            "" => return Err(args.error("index", "must be auto, off, beside or a folder")),
            "auto" => IndexCache::Auto,
            "off" => IndexCache::Off,
            "beside" => IndexCache::Beside,
            folder => IndexCache::Folder(folder.into()),
        };
        Ok(Box::new(TarFormat { lenient: args.flag("lenient")?, cache }))
    },
};

#[cfg(test)]
mod tests;
