//! LMDB: every entry is a row with the fields `key` and `value`.
//!
//! The tree is walked once to learn the offsets of the values; after that a value is a byte range, read by `pread`. The
//! file is not mapped, so a truncated file is an error and not a signal. No lock file is written, so data sets may be
//! read-only, and a fork is harmless. A concurrent writer is noticed, if at all, by a page that has changed: copy a
//! database that is still written to.

mod index;

pub use index::LmdbIndex;

use super::{
    paths::{Inputs, is_side_file, not_streamed},
    source::open_shards,
};
use infeed_core::{
    Can, Format, FormatEntry, Guess, Index, OpenRequest, Opened, Param, Result, Shard, Store, Sure,
};
use infeed_records::lmdb;
use std::sync::Arc;

/// How keys are returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Keys {
    Auto,
    Text,
    Bytes,
}

/// Reads LMDB files.
#[derive(Debug)]
struct Lmdb {
    name: Option<String>,
    keys: Keys,
}

/// The entry of this format.
pub(super) const ENTRY: FormatEntry = FormatEntry {
    name: "lmdb",
    about: "LMDB: every entry is a row with `key` and `value`",
    details: "Takes the folder or the file data.mdb in it. Rows are in the order of the keys. No lock is taken and nothing is \
              written: copy a database that is still written to. DUPSORT databases are refused.",
    params: &[
        Param {
            name: "name",
            python: "str | None",
            default: Some("null"),
            about: "a database with a name inside the file",
        },
        Param {
            name: "key",
            python: "LmdbKeys",
            default: Some("\"auto\""),
            about: "what keys are: text, bytes, or auto: text when all of them are UTF-8",
        },
    ],
    endings: &[".mdb", ".lmdb"],
    magic: &[],
    can: Can::ROWS,
    recognise: Some(|file| {
        let named = ENTRY.has_ending(file.name) && !is_side_file(file.name);
        match (named, lmdb::meta(file.head).is_some()) {
            (true, true) => Some(Guess::new(Sure::Certain)),
            (true, false) => Some(Guess::new(Sure::Name)),
            (false, true) => Some(Guess::new(Sure::Head)),
            (false, false) => None,
        }
    }),
    recognise_folder: Some(|folder| {
        let own = |name: &&&str| ENTRY.has_ending(name) && !is_side_file(name);
        let count = folder.files.iter().filter(own).count();
        Ok((count > 0).then(|| Guess { count, ..Guess::new(Sure::Name) }))
    }),
    open,
};

fn open(request: &OpenRequest<'_>) -> Result<Opened> {
    let args = request.args()?;
    let keys = match args.text("key")? {
        "auto" => Keys::Auto,
        "text" => Keys::Text,
        "bytes" => Keys::Bytes,
        _ => return Err(args.error("key", "must be text, bytes or auto")),
    };
    let name = if args.is_none("name") { None } else { Some(args.text("name")?.to_owned()) };
    match Inputs::find(request)? {
        Inputs::Files(names) => open_shards(request, &Lmdb { name, keys }, &names),
        Inputs::Stream(_) => Err(not_streamed(request)),
    }
}

impl Format for Lmdb {
    fn name(&self) -> &'static str {
        "lmdb"
    }

    fn index(&self, store: &dyn Store, shard: &Shard) -> Result<Arc<dyn Index>> {
        let as_text = match self.keys {
            Keys::Auto => None,
            Keys::Text => Some(true),
            Keys::Bytes => Some(false),
        };
        Ok(Arc::new(LmdbIndex::read(store, shard, self.name.as_deref(), as_text)?))
    }
}
