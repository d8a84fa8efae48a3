//! Trees: their branches, as columns.
//!
//! `objects` reads what ROOT writes as objects; `branch` and `leaf` are the classes that matter; `columns` makes fields of them, with `types` and
//! `small` for numbers in fewer bits.
//! `basket` has the bytes of some entries, `decode` makes cells of them; `pieces` says where they lie.

mod basket;
mod branch;
mod columns;
mod decode;
mod leaf;
mod objects;
mod pieces;
mod small;
mod types;

use crate::{
    cursor::Cursor,
    error::Result,
    table::{Field, Refused, Table, tell_apart},
};
use branch::Branch;
use columns::Column;
use objects::Objects;
use std::sync::Arc;

/// A tree.
#[derive(Debug)]
pub(crate) struct Tree {
    entries: u64,
    /// The branches that have baskets.
    branches: Vec<Branch>,
    /// What can be read.
    columns: Vec<Column>,
    /// What cannot.
    refused: Vec<Refused>,
}

impl Tree {
    /// Reads a tree of these bytes, which had a key of `key` bytes and lay at `at`.
    pub(crate) fn read(path: &str, class: &str, object: &[u8], key: usize, at: u64) -> Result<Table> {
        let mut objects = Objects::new(Cursor::unpacked(object, at), key);
        let (entries, branches) =
            content(&mut objects, class).map_err(|error| error.inside(&format!("tree `{path}`")))?;
        let mut tree = Tree { entries, branches: Vec::new(), columns: Vec::new(), refused: Vec::new() };
        for branch in branches {
            columns::add(&mut tree, branch, "");
        }
        tell_apart(tree.columns.iter_mut().map(|column| &mut column.name));
        let field = |column: &Column| Field { name: Arc::clone(&column.name), spec: column.spec.clone() };
        Ok(Table {
            path: path.to_owned(),
            entries,
            fields: tree.columns.iter().map(field).collect(),
            refused: std::mem::take(&mut tree.refused),
            pieces: Box::new(tree),
        })
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
