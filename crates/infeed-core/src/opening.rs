//! The table of formats: what each can read, how it is recognised, and how it is opened.
//!
//! One [`FormatEntry`] per format is the only place that knows its name. Opening, detection, `infeed list formats`, error
//! messages, the Python functions and the table in the docs are made from the entries.

use crate::{Args, Error, Found, Param, Result, Source, Store, Stream};
use serde_json::{Map, Value as Json};
use std::sync::Arc;

/// What opening gives.
#[derive(Debug, Clone)]
pub enum Opened {
    /// Rows that can be looked up.
    Rows(Arc<dyn Source>),
    /// Rows that pass by.
    Stream(Arc<dyn Stream>),
}

/// One format.
#[derive(Debug)]
pub struct FormatEntry {
    /// The name users write.
    pub name: &'static str,
    /// One line.
    pub about: &'static str,
    /// What the documentation of the Python function says beyond `about` and the arguments: fields, limits.
    pub details: &'static str,
    /// Its arguments in the order in which documentation lists them.
    pub params: &'static [Param],
    /// What the names of its files end with, without the ending of a compression: `.tar`.
    pub endings: &'static [&'static str],
    /// What its files have at fixed places.
    pub magic: &'static [Magic],
    /// What it can do.
    pub can: Can,
    /// Looks at a file closer than `endings` and `magic` do. `None` as an answer means that it is not this format, whatever
    /// its name says.
    pub recognise: Option<RecogniseFile>,
    /// Looks at a whole folder. Without it the files with one of `endings` are counted.
    pub recognise_folder: Option<RecogniseFolder>,
    /// Opens files. Arguments have been checked against `params`.
    pub open: fn(&OpenRequest<'_>) -> Result<Opened>,
}

/// Looks at a file: how sure it is that this is its format.
pub type RecogniseFile = fn(&FileLook<'_>) -> Option<Guess>;
/// Looks at a folder.
pub type RecogniseFolder = fn(&FolderLook<'_>) -> Result<Option<Guess>>;

/// Bytes at a fixed place.
#[derive(Debug, Clone, Copy)]
pub struct Magic {
    /// Where they lie.
    pub at: usize,
    /// What lies there.
    pub bytes: &'static [u8],
}

/// What a format can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Can {
    /// Rows are addressed by number: exact shuffles, equal shares, instant resumes.
    pub rows: bool,
    /// Compressed files, commands and standard input are read from front to back.
    pub stream: bool,
    /// Rows are decoded in blocks, and shuffles mix some blocks at a time.
    pub blocks: bool,
    /// Data may lie in any store; otherwise only in files of this machine.
    pub remote: bool,
    /// infeed writes it, too.
    pub write: bool,
    /// It is opened on many paths; otherwise on one.
    pub many: bool,
}

impl Can {
    /// Rows by number from any store, and nothing else.
    pub const ROWS: Can =
        Can { rows: true, stream: false, blocks: false, remote: true, write: false, many: true };
}

/// A file, for telling its format.
#[derive(Debug, Clone, Copy)]
pub struct FileLook<'a> {
    /// Its name, without the ending of a compression.
    pub name: &'a str,
    /// Its first bytes, 4 KiB where it has them; of a compressed file nothing.
    pub head: &'a [u8],
    /// Its size.
    pub size: u64,
    /// Whether it is the only file.
    pub alone: bool,
}

/// A folder, for telling what lies in it.
#[derive(Debug, Clone, Copy)]
pub struct FolderLook<'a> {
    /// Its name, without a `/` at its end.
    pub folder: &'a str,
    /// Every file below it.
    pub files: &'a [&'a str],
    /// Where it lies: for a look at single files.
    pub store: &'a dyn Store,
}

/// How sure an entry is that data is of its format. The surest wins; two that are equally sure are an error that names
/// both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sure {
    /// It could be, if it is nothing else.
    Barely,
    /// Something speaks for it, but less than a name of its own.
    Weak,
    /// The name says so.
    Name,
    /// The first bytes say so.
    Head,
    /// Name and first bytes say so.
    Certain,
}

/// What an entry takes data for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Guess {
    /// How sure it is.
    pub sure: Sure,
    /// How many files of a folder it speaks for. Among folders' guesses that are equally sure, more files win.
    pub count: usize,
}

impl Guess {
    /// A guess about one file.
    pub const fn new(sure: Sure) -> Self {
        Guess { sure, count: 1 }
    }
}

/// What is to be opened.
#[derive(Debug, Clone, Copy)]
pub struct OpenRequest<'a> {
    /// The entry that is being opened.
    pub entry: &'static FormatEntry,
    /// Where everything lies. Names say which store, and stay what the user wrote.
    pub store: &'a Arc<dyn Store>,
    /// Paths as the user wrote them: patterns, folders, `pipe:` commands, `-`.
    pub paths: &'a [String],
    /// What the paths stand for, when they were looked up already.
    pub found: Option<&'a [Found]>,
    /// The names below the only path, when that is a folder and was listed already.
    pub listed: Option<&'a [String]>,
    /// The arguments as they were given: only those in the entry's `params`.
    pub given: &'a Map<String, Json>,
    /// How many files may be looked at at once.
    pub threads: usize,
}

impl OpenRequest<'_> {
    /// What the paths stand for, in the order in which they were written.
    pub fn find(&self) -> Result<Vec<Found>> {
        if let Some(found) = self.found {
            return Ok(found.to_vec());
        }
        let mut found = Vec::new();
        for path in self.paths {
            found.extend(self.store.find(path)?);
        }
        Ok(found)
    }

    /// The arguments with defaults filled in.
    pub fn args(&self) -> Result<Args> {
        Args::new(self.entry.name, self.entry.params, self.given)
    }
}

impl FormatEntry {
    /// Whether a name, without the ending of a compression, has one of the entry's endings.
    pub fn has_ending(&self, name: &str) -> bool {
        self.endings.iter().any(|ending| ends_with(name, ending))
    }

    /// How sure the entry is of a file.
    pub fn look(&self, file: &FileLook<'_>) -> Option<Guess> {
        let named = self.has_ending(file.name);
        if let Some(recognise) = self.recognise {
            return recognise(file);
        }
        let there = |m: &Magic| file.head.get(m.at..).is_some_and(|rest| rest.starts_with(m.bytes));
        match (named, self.magic.iter().any(there)) {
            (true, true) => Some(Guess::new(Sure::Certain)),
            (false, true) => Some(Guess::new(Sure::Head)),
            (true, false) => Some(Guess::new(Sure::Name)),
            (false, false) => None,
        }
    }

    /// Checks the names of arguments and opens.
    pub fn open(&'static self, request: OpenRequest<'_>) -> Result<Opened> {
        let request = OpenRequest { entry: self, ..request };
        // Names and what must be given; values are looked at by whoever uses them.
        request.args()?;
        (self.open)(&request)
    }

    /// The file of this machine behind a name, for formats that need one.
    pub fn local_path(&self, store: &dyn Store, name: &str) -> Result<std::path::PathBuf> {
        store.local_path(name).ok_or_else(|| {
            Error::argument(format!(
                "`{name}`: {} can only be read from a file of this machine; copy it there and give its path",
                self.name
            ))
        })
    }
}

/// Whether a name has an ending, in upper or lower case, and something before it.
pub fn ends_with(name: &str, ending: &str) -> bool {
    name.len() > ending.len()
        && name.as_bytes()[name.len() - ending.len()..].eq_ignore_ascii_case(ending.as_bytes())
}
