//! The schema: fields, and the columns that they are stored in.

use super::{encoding::Encoding, little::Little};
use crate::error::Result;

/// A field as it is described.
#[derive(Debug)]
pub(super) struct Described {
    /// The field above it; itself if there is none.
    pub(super) parent: usize,
    pub(super) role: u16,
    pub(super) name: String,
    pub(super) class: String,
    /// How often it repeats in an entry, if it is an array.
    pub(super) repeats: Option<u64>,
}

/// A column as it is described.
#[derive(Debug)]
pub(super) struct Stored {
    pub(super) field: usize,
    /// What its elements are, or why they are not read.
    pub(super) encoding: Result<Encoding, String>,
    /// Which of several ways of storing its field it belongs to.
    pub(super) representation: u16,
    /// Whether it was added later, so that its first elements are zeros that are not stored.
    pub(super) deferred: bool,
}

/// The columns of each field: one list for each column that a field has, of which a cluster has one. Those of projected fields are
/// columns of other fields.
pub(super) type Choices = Vec<Vec<Vec<usize>>>;

/// Fields and columns, by number.
#[derive(Debug, Default)]
pub(super) struct Schema {
    pub(super) fields: Vec<Described>,
    pub(super) columns: Vec<Stored>,
    /// Columns of projected fields: the column and the field.
    pub(super) aliases: Vec<(usize, usize)>,
}

impl Schema {
    /// Reads the lists of the header, or those that the footer adds.
    pub(super) fn add(&mut self, reader: &mut Little<'_>) -> Result<()> {
        let (count, mut list) = reader.list("fields", 8)?;
        for _ in 0..count {
            self.fields.push(field(&mut list.record()?)?);
        }
        let (count, mut list) = reader.list("columns", 8)?;
        for _ in 0..count {
            self.columns.push(column(&mut list.record()?)?);
        }
        let (count, mut list) = reader.list("alias columns", 8)?;
        for _ in 0..count {
            let mut record = list.record()?;
            self.aliases.push((record.u32()? as usize, record.u32()? as usize));
        }
        // What is behind them describes streamed types, which are not read.
        Ok(())
    }

    /// Orders columns by fields.
    pub(super) fn choices(&self) -> Choices {
        let mut own: Vec<Vec<usize>> = vec![Vec::new(); self.fields.len()];
        for (at, column) in self.columns.iter().enumerate() {
            if let Some(own) = own.get_mut(column.field) {
                own.push(at);
            }
        }
        let mut out: Vec<Vec<Vec<usize>>> = own.iter().map(|own| self.alike(own)).collect();
        for (column, field) in &self.aliases {
            let Some(of) = self.columns.get(*column).map(|column| column.field) else { continue };
            let found =
                out.get(of).and_then(|lists| lists.iter().find(|list| list.contains(column)).cloned());
            if let (Some(found), Some(to)) = (found, out.get_mut(*field)) {
                to.push(found);
            }
        }
        out
    }

    /// Puts columns together that have the same place in different representations.
    fn alike(&self, own: &[usize]) -> Vec<Vec<usize>> {
        let mut lists: Vec<Vec<usize>> = Vec::new();
        let mut place = 0;
        for (at, column) in own.iter().enumerate() {
            let representation = self.columns[*column].representation;
            let same = at > 0 && self.columns[own[at - 1]].representation == representation;
            place = if same { place + 1 } else { 0 };
            match lists.get_mut(place) {
                Some(list) => list.push(*column),
                None => lists.push(vec![*column]),
            }
        }
        lists
    }
}

fn field(record: &mut Little<'_>) -> Result<Described> {
    record.u32()?;
    record.u32()?;
    let parent = record.u32()? as usize;
    let (role, flags) = (record.u16()?, record.u16()?);
    let (name, class) = (record.text()?, record.text()?);
    record.text()?;
    record.text()?;
    let repeats = if flags & 1 != 0 { Some(record.u64()?) } else { None };
    Ok(Described { parent, role, name, class, repeats })
}

fn column(record: &mut Little<'_>) -> Result<Stored> {
    let (kind, bits) = (record.u16()?, record.u16()?);
    let field = record.u32()? as usize;
    let (flags, representation) = (record.u16()?, record.u16()?);
    let deferred = flags & 1 != 0;
    if deferred {
        record.u64()?;
    }
    let range = if flags & 2 != 0 { Some((record.f64()?, record.f64()?)) } else { None };
    Ok(Stored { field, encoding: Encoding::new(kind, bits, range), representation, deferred })
}
