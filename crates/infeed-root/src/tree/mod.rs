//! Trees: their branches, as columns.
//!
//! `objects` reads what ROOT writes as objects; `branch` and `leaf` are the classes that matter; `columns` makes fields of them.

pub(crate) mod branch;
pub(crate) mod columns;
pub(crate) mod leaf;
mod objects;

use crate::{cursor::Cursor, error::Result};
use branch::Branch;
use columns::Column;
use objects::Objects;
use std::{collections::HashSet, sync::Arc};

/// A tree. Its entries are rows and its leaves are columns.
#[derive(Debug)]
pub struct Tree {
    /// Its name, with those of its directories.
    pub path: String,
    /// How many entries.
    pub entries: u64,
    /// The branches that have baskets.
    pub(crate) branches: Vec<Branch>,
    /// What can be read.
    pub(crate) columns: Vec<Column>,
    /// What cannot.
    pub(crate) refused: Vec<Refused>,
}

/// A branch that cannot be read.
#[derive(Debug)]
pub(crate) struct Refused {
    pub(crate) name: String,
    pub(crate) why: String,
    /// Whether it is damaged, and not only of a kind that is not read.
    pub(crate) damaged: bool,
}

impl Tree {
    /// Reads a tree of these bytes, which had a key of `key` bytes and lay at `at`.
    pub(crate) fn read(path: &str, class: &str, object: &[u8], key: usize, at: u64) -> Result<Tree> {
        let mut objects = Objects::new(Cursor::unpacked(object, at), key);
        let (entries, branches) =
            content(&mut objects, class).map_err(|error| error.inside(&format!("tree `{path}`")))?;
        let mut tree = Tree {
            path: path.to_owned(),
            entries,
            branches: Vec::new(),
            columns: Vec::new(),
            refused: Vec::new(),
        };
        for branch in branches {
            columns::add(&mut tree, branch, "");
        }
        // Names of split objects can come twice.
        let mut seen: HashSet<Arc<str>> = HashSet::new();
        for column in &mut tree.columns {
            if !seen.insert(Arc::clone(&column.name)) {
                column.name = format!("{}#{}", column.name, column.branch).into();
            }
        }
        Ok(tree)
    }

    /// The names of what can be read.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().map(|column| &*column.name)
    }
}

fn content(objects: &mut Objects<'_>, class: &str) -> Result<(u64, Vec<Branch>)> {
    if class != "TTree" {
        objects.head()?;
    }
    let head = objects.head()?;
    objects.versions("TTree", head.version, 16..=20)?;
    for base in ["TNamed", "TAttLine", "TAttFill", "TAttMarker"] {
        objects.skip(base)?;
    }
    let cursor = &mut objects.cursor;
    let entries = cursor.long("entries")?;
    // Bytes of all kinds, and the weight.
    cursor.take(if head.version >= 18 { 40 } else { 32 })?;
    // Timers and such.
    cursor.take(12)?;
    if head.version >= 17 {
        cursor.take(4)?;
    }
    let ranges = if head.version >= 19 { cursor.count("ranges of clusters")? } else { 0 };
    cursor.take(if head.version >= 18 { 48 } else { 40 })?;
    if head.version >= 19 {
        objects.numbers(ranges, true)?;
        objects.numbers(ranges, true)?;
    }
    if head.version >= 20 {
        objects.skip("TIOFeatures")?;
    }
    let branches = objects.list("branches", &mut |objects, class, _| branch::read(objects, class))?;
    Ok((entries, branches))
}
