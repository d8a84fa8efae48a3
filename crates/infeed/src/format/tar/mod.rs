//! Tars of samples, in the layout of WebDataset.
//!
//! ```text
//! 000017.cls    7                 two members whose names differ only after the first dot
//! 000017.jpg    <a JPEG>          are two fields of the sample 000017
//! 000018.cls    2
//! 000018.jpg    ...
//! ```
//!
//! A tar has no table of contents, so one pass over its headers makes a [`TarIndex`]; after that every row can be read
//! directly, and shuffling needs no buffer. The pass is quick (it skips the data of large members), and its result can
//! be [saved](IndexCache). Many tars share the arrays of one [`TarSet`], in memory and in their file.
//!
//! Read: ustar, old tars, GNU long names, PAX records (also those before every member that Python writes), archives
//! appended to one another. Not read: compressed tars, sparse files. A fault in a tar is an error with its byte offset
//! or, with [`TarFormat::lenient`], an entry in [`TarIndex::damage`].

mod build;
mod check;
mod index;
mod many;
mod saved;
mod scan;
mod set;
mod view;
mod watch;
mod wids;
mod window;
mod write;

pub use index::TarIndex;
pub(in crate::format) use saved::codec::fuzz_saved;
pub use set::TarSet;
pub use write::{IndexState, IndexedTar};

use super::{
    folder::is_image, paths::Inputs, saved::IndexCache, search::Search, shared, source::open_shards,
};
use crate::stream::{Opening, TarStream};
use infeed_core::{
    Can, Error, Format, FormatEntry, Guess, Index, Indices, Magic, OpenRequest, Opened, Packing, Param,
    Result, Shard, Shards, Store, Sure,
};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

/// The tar format.
#[derive(Debug, Clone, Default)]
pub struct TarFormat {
    /// Skip damaged parts instead of refusing the shard.
    pub lenient: bool,
    /// Where indices are saved between runs.
    pub cache: IndexCache,
}

impl TarFormat {
    /// Returns the index of a shard, from the cache or by a scan.
    pub fn read_index(&self, store: &dyn Store, shard: &Shard) -> Result<TarIndex> {
        if let Some(index) = saved::load(&self.cache, store, shard) {
            return Ok(index);
        }
        self.find_rows(store, shard, self.cache.patience(), None)
    }

    /// Finds the rows of a shard by a scan; an index that took at least `patience` to make is saved.
    fn find_rows(
        &self,
        store: &dyn Store,
        shard: &Shard,
        patience: Duration,
        search: Option<&Search>,
    ) -> Result<TarIndex> {
        let start = Instant::now();
        let index = scan::scan(store, shard, self.lenient, search)?;
        if start.elapsed() >= patience {
            saved::save(&self.cache, store, shard, &index);
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

/// The entry of this format.
pub(super) const ENTRY: FormatEntry = FormatEntry {
    name: "tar",
    about: "WebDataset tars: members that share a name up to the first dot are one sample",
    details: "The fields of a sample are the extensions of its members. Compressed tars are read from front to back.",
    params: &[
        Param {
            name: "lenient",
            python: "bool",
            default: Some("false"),
            about: "skip damaged parts of a tar instead of refusing it",
        },
        Param {
            name: "index",
            python: "str | os.PathLike[str]",
            default: Some("\"auto\""),
            about: "where the index of members is kept between runs: auto (the user's cache folder, if making it took long), \
                    off, beside (the shard), or a folder",
        },
        Param {
            name: "stream",
            python: "bool",
            default: Some("false"),
            about: "read the tars from front to back, without an index: batches begin at once, shuffles mix what is in a buffer",
        },
    ],
    endings: &[".tar", ".tgz", ".tzst", ".tbz", ".tbz2", ".txz"],
    magic: &[Magic { at: 257, bytes: b"ustar" }],
    can: Can { stream: true, write: true, ..Can::ROWS },
    recognise: Some(|file| match wids::is_list(file) {
        true => Some(Guess::new(Sure::Certain)),
        false => ENTRY.look_usual(file),
    }),
    recognise_folder: Some(|folder| {
        let tars = folder.files.iter().filter(|name| ENTRY.has_ending(Packing::bare(name))).count();
        let images = folder.files.iter().filter(|name| is_image(name)).count();
        // Fewer images than tars are previews of them; with more images, a tar is a copy of them.
        let sure = if tars >= images { Sure::Certain } else { Sure::Weak };
        Ok((tars > 0).then(|| Guess { count: tars, ..Guess::new(sure) }))
    }),
    open,
};

fn open(request: &OpenRequest<'_>) -> Result<Opened> {
    let args = request.args()?;
    let (lenient, streamed) = (args.flag("lenient")?, args.flag("stream")?);
    let format = TarFormat { lenient, cache: shared::cache(&args)? };
    let tars = match Inputs::find(request)? {
        Inputs::Stream(openings) => return open_stream(request, &format, openings),
        Inputs::Files(names) => wids::expand(&**request.store, names)?,
    };
    if streamed || tars.names.iter().any(|name| Packing::of_name(name).is_some()) {
        return open_stream(request, &format, tars.names.into_iter().map(Opening::File).collect());
    }
    let opened = open_shards(request, &format, &tars.names)?;
    if let Opened::Rows(source) = &opened {
        tars.check(&**source)?;
    }
    Ok(opened)
}

fn open_stream(request: &OpenRequest<'_>, format: &TarFormat, openings: Vec<Opening>) -> Result<Opened> {
    if format.lenient {
        return Err(Error::argument(
            "a stream cannot skip damaged parts: lenient needs tars that are not compressed, and no stream=True",
        ));
    }
    let watch = watch::Watch { store: Arc::clone(request.store), cache: format.cache.clone() };
    let stream = TarStream::open_in(Arc::clone(request.store), openings)?.watched(Arc::new(watch));
    Ok(Opened::Stream(Arc::new(stream)))
}

#[cfg(test)]
mod tests;
