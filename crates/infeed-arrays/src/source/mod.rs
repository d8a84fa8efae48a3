//! Arrays of many files as one source.
//!
//! `build` checks that the files go together and settles fields, rows and blocks. `reading` implements the source for the
//! engine. `facts` says how variables lie in their files. `dense` writes rows that lie in files as they do in batches. `band` decodes and keeps blocks. `far` says which bytes
//! rows need.

mod band;
mod build;
mod dense;
mod facts;
mod far;
mod reading;

use crate::{
    array::{Array, Dimensions, Element, Scratch, Slab},
    object::Object,
    shared::fill_shared,
};
use band::Band;
use infeed_core::{Error, FieldSpec, Result, Spec, Stamp, Store, Sums, blocks::BlockCache};
use std::{
    cell::RefCell,
    collections::HashSet,
    ops::Range,
    sync::{Arc, Mutex},
};

pub(crate) use build::{LARGEST_BLOCK, LARGEST_ROW, MIXED, MOST_MAPPED, Parts, SMALL_ROW, kind};

/// What a row is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RowKind {
    /// One step along an axis, which is counted from the end if it is negative.
    Axis(i64),
    /// All of a part.
    Whole,
}

/// Arrays of one file that go together: all of them with `rows="file"`, those of a group with `rows="group"`.
#[derive(Debug)]
pub(crate) struct Part {
    /// The number of its file, or of the first of its objects.
    pub(crate) object: usize,
    /// The number of its file or store.
    pub(crate) file: usize,
    /// The name of its file or store.
    pub(crate) name: Arc<str>,
    /// What errors and keys call it.
    pub(crate) key: String,
    /// Changes with all that it lies in; `None` if that can change without notice.
    pub(crate) stamp: Option<Stamp>,
    /// One for each field.
    pub(crate) arrays: Vec<Arc<dyn Array>>,
    pub(crate) dimensions: Dimensions,
}

/// What a field is counted in: the same in all parts, or an error.
pub(crate) fn units(parts: &[Part], field: &str) -> Result<Option<String>> {
    let Some(first) = parts.first() else { return Ok(None) };
    let own = first.dimensions.units(field);
    match parts.iter().find(|part| part.dimensions.units(field) != own) {
        None => Ok(own.map(str::to_owned)),
        Some(other) => {
            let said = |units: Option<&str>| units.map_or("nothing".to_owned(), |text| format!("`{text}`"));
            Err(Error::argument(format!(
                "`{field}` is counted in {} in `{}`, and in {} in `{}`: write it in the same units everywhere",
                said(own),
                first.name,
                said(other.dimensions.units(field)),
                other.name
            )))
        }
    }
}

/// Rows of arrays, by number.
#[derive(Debug)]
pub struct ArraySource {
    /// The name of the format.
    kind: &'static str,
    store: Arc<dyn Store>,
    objects: Vec<Object>,
    parts: Vec<Part>,
    /// The axis of the rows; `None` if every part is one row.
    axis: Option<i64>,
    spec: Spec,
    /// What the elements of each field are.
    elements: Vec<Element>,
    /// Rows of each part.
    rows: Sums<u64>,
    /// Rows of each file or store.
    shard_rows: Vec<u64>,
    blocks: Blocks,
    cache: BlockCache<Band>,
    /// Blocks that were announced to a store that is far away, and not read yet.
    announced: Mutex<HashSet<(usize, u32)>>,
    /// What opening has to say.
    notes: String,
}

/// Rows that are read together.
#[derive(Debug, Default)]
struct Blocks {
    /// Rows of each block; none if rows are read one by one.
    rows: Sums<u64>,
    /// Part and first row in it, of each block.
    starts: Vec<(usize, u64)>,
    /// Whether each field is decoded block by block; others are read row by row.
    banded: Vec<bool>,
    /// How many may be mixed at a time.
    mixed: Option<u64>,
}

thread_local! {
    pub(crate) static SCRATCH: RefCell<Scratch> = RefCell::default();
}

impl ArraySource {
    /// Returns how many blocks were decoded since the source was opened.
    pub fn decoded(&self) -> u64 {
        self.cache.decoded()
    }

    /// Returns the part of a row, and its number there.
    fn find(&self, row: u64) -> Result<(usize, u64)> {
        let lost = || Error::argument(format!("there is no row {row}: there are {}", self.rows.total()));
        self.rows.find(row).ok_or_else(lost)
    }

    /// Returns the places of fields.
    fn places(&self, fields: &[Arc<str>]) -> Result<Vec<usize>> {
        fields.iter().map(|name| self.spec.require(name, "read")).collect()
    }

    /// Returns the box of rows of an array.
    fn slab(&self, array: &dyn Array, rows: Range<u64>) -> Slab {
        match axis_of(self.axis, array.shape().len()) {
            Some(axis) => Slab::along(array.shape(), axis, rows),
            None => Slab::all(array.shape()),
        }
    }

    /// Returns the bytes of a field in a row.
    fn width(&self, part: usize, field: usize) -> u64 {
        let array = &self.parts[part].arrays[field];
        let shape = array.shape();
        let axis = axis_of(self.axis, shape.len());
        let sides = shape.iter().enumerate().filter(|(at, _)| Some(*at) != axis).map(|(_, side)| *side);
        sides.fold(array.element().size() as u64, u64::saturating_mul)
    }

    /// Writes one row of one field.
    fn write(&self, part: usize, row: u64, field: usize, out: &mut [u8]) -> Result<()> {
        let Part { object, arrays, .. } = &self.parts[part];
        let slab = self.slab(&*arrays[field], row..row + 1);
        fill_shared(&self.objects[*object..], &*arrays[field], &slab, out)
            .map_err(|e| e.in_field(&self.spec.fields[field].0))
    }

    /// Returns the spec of a field.
    fn field(&self, at: usize) -> &FieldSpec {
        &self.spec.fields[at].1
    }
}

/// Returns the axis of rows among `rank` axes, if rows lie along one and the array has it.
pub(crate) fn axis_of(axis: Option<i64>, rank: usize) -> Option<usize> {
    let axis = axis?;
    let from = if axis < 0 { axis.checked_add(rank as i64)? } else { axis };
    usize::try_from(from).ok().filter(|axis| *axis < rank)
}
