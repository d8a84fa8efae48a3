//! N-tuples (RNTuple): the newer way of ROOT to store entries.
//!
//! `little` reads numbers and frames; `envelope` the anchor and blocks of metadata; `schema` fields and columns as they are described, and
//! `fields` makes columns of a table of them. `pages` says where the elements of columns lie, `stretch` which of them entries need and
//! `encoding` what they are; `decode` makes cells of them.

mod decode;
mod encoding;
mod envelope;
mod fields;
mod little;
mod pages;
mod pieces;
mod schema;
mod stretch;

use crate::{
    bytes::FileBytes,
    cells::Work,
    error::Result,
    table::{Field, Table, tell_apart},
};
use envelope::Kind;
use fields::{Column, Fields, Shape};
use little::Little;
use pages::Cluster;
use schema::{Schema, Stored};
use std::sync::Arc;

/// An n-tuple.
#[derive(Debug)]
pub(crate) struct Ntuple {
    entries: u64,
    /// In the order of their entries.
    clusters: Vec<Cluster>,
    /// Columns of the file.
    stored: Vec<Stored>,
    /// Columns of the table.
    columns: Vec<Column>,
    /// About how many bytes an entry of each has.
    weights: Vec<u64>,
}

impl Ntuple {
    /// Reads an n-tuple whose anchor is this object, which lay at `at`.
    pub(crate) fn read(path: &str, file: &dyn FileBytes, object: &[u8], at: u64) -> Result<Table> {
        Ntuple::content(path, file, object, at).map_err(|error| error.inside(&format!("RNTuple `{path}`")))
    }

    fn content(path: &str, file: &dyn FileBytes, object: &[u8], at: u64) -> Result<Table> {
        let mut work = Work::default();
        let anchor = envelope::anchor(object, at)?;
        let (header, sum) = envelope::read(file, anchor.header, Kind::Header, &mut work)?;
        let mut reader = Little::new(&header, anchor.header.seek);
        reader.u64()?;
        reader.features()?;
        // Name, description and writer.
        for _ in 0..3 {
            reader.text()?;
        }
        let mut schema = Schema::default();
        schema.add(&mut reader)?;
        let (footer, _) = envelope::read(file, anchor.footer, Kind::Footer, &mut work)?;
        let mut reader = Little::new(&footer, anchor.footer.seek);
        reader.u64()?;
        reader.features()?;
        if reader.u64()? != sum {
            return Err(reader.wrong("the footer belongs to another header"));
        }
        let mut more = reader.record()?;
        if more.left() > 0 {
            schema.add(&mut more)?;
        }
        let clusters = pages::read(file, &mut reader, (schema.columns.len(), sum), &mut work)?;
        let entries = clusters.last().map_or(0, |last| last.first + last.entries);
        let Fields { mut columns, refused, .. } = Fields::new(&schema);
        tell_apart(columns.iter_mut().map(|column| &mut column.name));
        let field = |column: &Column| Field { name: Arc::clone(&column.name), spec: column.spec.clone() };
        let fields = columns.iter().map(field).collect();
        let weights = columns.iter().map(|column| weight(column, &clusters, entries)).collect();
        let pieces = Box::new(Ntuple { entries, clusters, stored: schema.columns, columns, weights });
        Ok(Table { path: path.to_owned(), entries, fields, refused, pieces })
    }
}

fn weight(column: &Column, clusters: &[Cluster], entries: u64) -> u64 {
    let size = column.dtype.size();
    match &column.shape {
        Shape::Flat(_, item) => (item * size) as u64,
        Shape::Sizes(_) => size as u64,
        Shape::Ragged { data, .. } => {
            let pages = |cluster: &Cluster| -> u64 {
                data.iter().filter_map(|at| cluster.columns.get(*at)).map(|pages| pages.elements()).sum()
            };
            let all: u64 = clusters.iter().map(pages).fold(0, u64::saturating_add);
            (all.saturating_mul(size as u64)).checked_div(entries).unwrap_or(0).clamp(1, 1 << 30)
        }
    }
}
