//! The table of formats: what each can read, how it is recognised, and how it is opened.
//!
//! One [`FormatEntry`] per format is the only place that knows its name. Opening, detection, `infeed list formats`, error
//! messages, the Python functions and the table in the docs are made from the entries.

use crate::{Args, Error, Found, Param, Result, Source, Store, Stream};
use serde_json::{Map, Value as Json};
use std::sync::Arc;

/// The result of opening.
#[derive(Debug, Clone)]
pub enum Opened {
    /// Rows that can be looked up by number.
    Rows(Arc<dyn Source>),
    /// Rows of a stream.
    Stream(Arc<dyn Stream>),
}

/// One format.
#[derive(Debug)]
pub struct FormatEntry {
    /// The name users write.
    pub name: &'static str,
    /// A one-line description.
    pub about: &'static str,
    /// What the Python docstring says beyond `about` and the arguments: fields, limits.
    pub details: &'static str,
    /// Its arguments, in documentation order.
    pub params: &'static [Param],
    /// File extensions, without that of a compression: `.tar`.
    pub endings: &'static [&'static str],
    /// Magic numbers of its files.
    pub magic: &'static [Magic],
    /// Its capabilities.
    pub can: Can,
    /// Inspects a file more closely than `endings` and `magic`. `None` means that it is not this format, whatever its
    /// name.
    pub recognise: Option<RecogniseFile>,
    /// Inspects a whole folder. Without it the files with one of `endings` are counted.
    pub recognise_folder: Option<RecogniseFolder>,
    /// Opens files. Arguments have been checked against `params`.
    pub open: fn(&OpenRequest<'_>) -> Result<Opened>,
}

/// Inspects a file: returns how sure it is that this is its format.
pub type RecogniseFile = fn(&FileLook<'_>) -> Option<Guess>;
/// Inspects a folder.
pub type RecogniseFolder = fn(&FolderLook<'_>) -> Result<Option<Guess>>;

/// Bytes at a fixed offset.
#[derive(Debug, Clone, Copy)]
pub struct Magic {
    /// The offset.
    pub at: usize,
    /// The bytes.
    pub bytes: &'static [u8],
}

/// The capabilities of a format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Can {
    /// Rows can be looked up by number: exact shuffles, equal shares, instant resume.
    pub rows: bool,
    /// Compressed files, commands and standard input can be read from front to back.
    pub stream: bool,
    /// Rows are decoded in blocks, and shuffles mix some blocks at a time.
    pub blocks: bool,
    /// Data may be in any store; otherwise only in local files.
    pub remote: bool,
    /// infeed can write it, too.
    pub write: bool,
    /// It can be opened on many paths; otherwise on one.
    pub many: bool,
}

impl Can {
    /// Rows by number from any store, and nothing else.
    pub const ROWS: Can =
        Can { rows: true, stream: false, blocks: false, remote: true, write: false, many: true };
}

/// A file whose format is to be detected.
#[derive(Debug, Clone, Copy)]
pub struct FileLook<'a> {
    /// Its name, without the extension of a compression.
    pub name: &'a str,
    /// Its first bytes, up to 4 KiB; empty for a compressed file.
    pub head: &'a [u8],
    /// Its size.
    pub size: u64,
    /// Whether it is the only file.
    pub alone: bool,
}

/// A folder whose format is to be detected.
#[derive(Debug, Clone, Copy)]
pub struct FolderLook<'a> {
    /// Its name, without a trailing `/`.
    pub folder: &'a str,
    /// Every file below it.
    pub files: &'a [&'a str],
    /// Its store, to inspect single files.
    pub store: &'a dyn Store,
}

/// How sure an entry is that data is of its format. The surest wins; if two are equally sure, that is an error that
/// names both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sure {
    /// Possible, if nothing else matches.
    Barely,
    /// Some evidence, but less than a matching name.
    Weak,
    /// The name matches.
    Name,
    /// The first bytes match.
    Head,
    /// Name and first bytes match.
    Certain,
}

/// An entry's guess about data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Guess {
    /// How sure it is.
    pub sure: Sure,
    /// How many files of a folder it covers. Among equally sure guesses about a folder, more files win.
    pub count: usize,
}

impl Guess {
    /// Creates a guess about one file.
    pub const fn new(sure: Sure) -> Self {
        Guess { sure, count: 1 }
    }
}

/// What is to be opened.
#[derive(Debug, Clone, Copy)]
pub struct OpenRequest<'a> {
    /// The entry that is being opened.
    pub entry: &'static FormatEntry,
    /// The store of all names. A name selects its store and stays as the user wrote it.
    pub store: &'a Arc<dyn Store>,
    /// Paths as the user wrote them: patterns, folders, `pipe:` commands, `-`.
    pub paths: &'a [String],
    /// What the paths stand for, if they were looked up already.
    pub found: Option<&'a [Found]>,
    /// The names below the only path, if that is a folder and was listed already.
    pub listed: Option<&'a [String]>,
    /// The arguments as given: only those in the entry's `params`.
    pub given: &'a Map<String, Json>,
    /// How many files may be inspected concurrently.
    pub threads: usize,
}

impl OpenRequest<'_> {
    /// Returns what the paths stand for, in the order in which they were written.
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

    /// Returns the arguments with defaults filled in.
    pub fn args(&self) -> Result<Args> {
        Args::new(self.entry.name, self.entry.params, self.given)
    }
}

impl FormatEntry {
    /// Whether a name, without the extension of a compression, has one of the entry's extensions.
    pub fn has_ending(&self, name: &str) -> bool {
        self.endings.iter().any(|ending| ends_with(name, ending))
    }

    /// Returns how sure the entry is of a file.
    pub fn look(&self, file: &FileLook<'_>) -> Option<Guess> {
        self.recognise.map_or_else(|| self.look_usual(file), |recognise| recognise(file))
    }

    /// Returns how sure an entry is that knows a file by its name and its first bytes.
    pub fn look_usual(&self, file: &FileLook<'_>) -> Option<Guess> {
        let named = self.has_ending(file.name);
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
        // Checks names and required arguments; values are checked where they are used.
        request.args()?;
        (self.open)(&request)
    }

    /// Returns the local file of a name, for formats that need one.
    pub fn local_path(&self, store: &dyn Store, name: &str) -> Result<std::path::PathBuf> {
        store.local_path(name).ok_or_else(|| {
            Error::argument(format!(
                "`{name}`: {} can only be read from a file of this machine; copy it there and give its path",
                self.name
            ))
        })
    }
}

/// The name of a file without the query of its URL, where a signed URL has its signature.
pub fn without_query(name: &str) -> &str {
    let web = name.starts_with("https://") || name.starts_with("http://");
    name.split_once('?').filter(|_| web).map_or(name, |(path, _)| path)
}

/// Whether a name has an extension, ignoring case, and something before it.
pub fn ends_with(name: &str, ending: &str) -> bool {
    name.len() > ending.len()
        && name.as_bytes()[name.len() - ending.len()..].eq_ignore_ascii_case(ending.as_bytes())
}
