//! A tree or an n-tuple: entries, and columns of them that lie in pieces.

use crate::{
    bytes::FileBytes,
    cells::{Cells, Memory},
    error::Result,
};
use infeed_core::FieldSpec;
use std::{collections::HashSet, fmt, ops::Range, sync::Arc};

/// A tree or an n-tuple. Its entries are rows and its columns are fields.
#[derive(Debug)]
pub struct Table {
    /// Its name, with those of its directories.
    pub path: String,
    /// How many entries.
    pub entries: u64,
    /// What can be read.
    pub(crate) fields: Vec<Field>,
    /// What cannot.
    pub(crate) refused: Vec<Refused>,
    pub(crate) pieces: Box<dyn Pieces>,
}

/// A column.
#[derive(Debug, Clone)]
pub(crate) struct Field {
    pub(crate) name: Arc<str>,
    pub(crate) spec: FieldSpec,
}

/// A column that cannot be read.
#[derive(Debug)]
pub(crate) struct Refused {
    pub(crate) name: String,
    pub(crate) why: String,
    /// Whether it is damaged, and not only of a kind that is not read.
    pub(crate) damaged: bool,
}

/// Where blocks may be cut.
#[derive(Debug)]
pub(crate) struct Cuts {
    /// Between entries where all columns begin a piece; at last, behind all of them.
    pub(crate) common: Vec<u64>,
    /// Where one of the columns does, if others are unpacked twice then; anywhere if none is given.
    pub(crate) fine: Option<Vec<u64>>,
}

/// How the entries of columns lie in a file: baskets of branches, or pages of clusters. Columns are counted as the fields of
/// their table.
pub(crate) trait Pieces: fmt::Debug + Send + Sync {
    /// The bytes that some entries of columns need, or about these: for stores that like to know early.
    fn ranges(&self, columns: &[usize], rows: &Range<u64>) -> Vec<Range<u64>>;

    /// Reads and decodes some entries of a column.
    fn cells(
        &self,
        file: &dyn FileBytes,
        column: usize,
        rows: &Range<u64>,
        memory: &mut Memory<'_>,
    ) -> Result<Cells>;

    /// About how many bytes an entry of a column has.
    fn entry_bytes(&self, column: usize) -> u64;

    /// Where blocks of these columns may be cut.
    fn cuts(&self, columns: &[usize]) -> Cuts;

    /// Checks that the pieces of a column lie in a file of so many bytes.
    fn check(&self, column: usize, size: u64) -> Result<()>;
}

impl Table {
    /// The names of what can be read.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.fields.iter().map(|field| &*field.name)
    }

    /// What cannot be read, and why.
    pub fn refused(&self) -> impl Iterator<Item = (&str, &str)> {
        self.refused.iter().map(|refused| (refused.name.as_str(), refused.why.as_str()))
    }
}

/// Makes names different that come twice: those of split objects do.
pub(crate) fn tell_apart<'a>(names: impl Iterator<Item = &'a mut Arc<str>>) {
    let mut seen: HashSet<Arc<str>> = HashSet::new();
    for (number, name) in names.enumerate() {
        if !seen.insert(Arc::clone(name)) {
            *name = format!("{name}#{number}").into();
        }
    }
}
