//! Rows that are boxes: windows along the axis of rows, patches of the last axes, variables stacked to one field.
//!
//! ```text
//! args      the arguments of boxes
//! windows   which steps a row has
//! patches   where patches begin
//! check     what can be cut and stacked, and which fields that gives
//! build     from what was opened to fields, rows and blocks
//! region    which part of an array a row needs, and where it goes
//! chunks    decoded chunks, kept while they may be needed again
//! reading   the source for the engine
//! far       which bytes rows need
//! fill      what patches are filled up with
//! ```
//!
//! Rows are counted part by part; in a part, step by step; for a step, patch by patch. So the number of a row says where its box
//! is, on every rank and after every resume. Boxes share chunks with their neighbours, and with boxes that come much later in
//! a shuffle: so chunks are kept, not rows, and all of the memory is for them, the oldest leaving first.

mod args;
mod build;
mod check;
mod chunks;
mod far;
mod fill;
mod patches;
mod reading;
#[cfg(test)]
mod refused;
mod region;
#[cfg(test)]
mod tests;
mod windows;

pub(crate) use args::{Form, with_boxes};

use crate::{array::Element, object::Object, source::Part};
use chunks::Chunk;
use infeed_core::{
    Error, Result, Spec, Store, Sums,
    blocks::{BlockCache, Key},
};
use std::{
    collections::HashSet,
    ops::Range,
    sync::{Arc, Mutex},
};

/// Boxes of arrays, by number.
#[derive(Debug)]
pub struct BoxSource {
    /// The name of the format.
    kind: &'static str,
    store: Arc<dyn Store>,
    objects: Vec<Object>,
    parts: Vec<Part>,
    /// The axis of the rows; `None` if every part is one row.
    axis: Option<i64>,
    form: Form,
    spec: Spec,
    /// What each field is made of.
    fields: Vec<Field>,
    /// The names of the variables, and what their elements are.
    names: Vec<Arc<str>>,
    elements: Vec<Element>,
    /// What fills up patches of each variable.
    fills: Vec<Vec<u8>>,
    /// One for each part.
    cuts: Vec<Cut>,
    /// Rows of each part: those that begin in it.
    rows: Sums<u64>,
    /// Steps of each part; one if rows lie along no axis.
    steps: Sums<u64>,
    /// Rows of each file or store.
    shard_rows: Vec<u64>,
    /// Rows of each block, where chunks hold several steps.
    blocks: Sums<u64>,
    mixed: Option<u64>,
    cache: BlockCache<Chunk>,
    /// Chunks that were announced to a store that is far away, and not read yet.
    announced: Mutex<HashSet<Key>>,
    /// What opening has to say.
    notes: String,
}

/// What a field is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Field {
    /// Variables: one, or those that are stacked. The target of a window, or the window.
    Values { variables: Vec<usize>, target: bool },
    /// Where the patch begins.
    Origin,
}

/// How a part is cut.
#[derive(Debug)]
struct Cut {
    /// Windows, steps or volumes in all parts before: patches are drawn by their number.
    first: u64,
    /// The sides of the axes that patches are cut out of.
    sides: Vec<u64>,
    /// Patches of each window, step or volume.
    patches: u64,
    /// One for each variable.
    variables: Vec<Variable>,
}

/// How an array of a part is read.
#[derive(Debug)]
struct Variable {
    /// The axis of rows.
    axis: Option<usize>,
    /// Whether patches are cut out of it; a number for each row stays as it is.
    cut: bool,
    /// Its chunks, if they are decoded and kept.
    chunk: Option<Vec<u64>>,
    /// The number of its first chunk, among those of all parts.
    first_chunk: usize,
}

/// Where a row is.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Place {
    part: usize,
    /// The first step in the part; 0 if rows lie along no axis.
    begin: u64,
    /// Where the patch begins; empty without patches.
    origin: Vec<u64>,
}

impl BoxSource {
    /// Returns how many chunks were decoded since the source was opened.
    pub fn decoded(&self) -> u64 {
        self.cache.decoded()
    }

    fn place(&self, row: u64) -> Result<Place> {
        let lost = || Error::argument(format!("there is no row {row}: there are {}", self.rows.total()));
        let (part, inside) = self.rows.find(row).ok_or_else(lost)?;
        let cut = &self.cuts[part];
        let (base, patch) = (inside / cut.patches.max(1), inside % cut.patches.max(1));
        let begin = match &self.form.windows {
            None => base,
            Some(windows) if windows.across => {
                let before = self.steps.range(part).unwrap_or_default();
                let first = windows.beginning(before.clone(), self.steps.total()).start;
                (first + base) * windows.stride - before.start
            }
            Some(windows) => base * windows.stride,
        };
        let origin = match &self.form.patches {
            Some(patches) => patches.origin(&cut.sides, cut.first + base, patch),
            None => Vec::new(),
        };
        Ok(Place { part, begin, origin })
    }

    /// Returns the parts that the steps of a row lie in, with their steps there.
    fn lies(&self, part: usize, steps: Range<u64>) -> Vec<(usize, Range<u64>)> {
        let lens = self.steps.lens();
        if self.form.windows.is_none_or(|windows| !windows.across) || steps.end <= lens[part] {
            return vec![(part, steps)];
        }
        let (mut out, Range { mut start, mut end }) = (Vec::new(), steps);
        for (number, len) in lens.iter().enumerate().skip(part) {
            if start < *len && start < end {
                out.push((number, start..end.min(*len)));
            }
            if end <= *len {
                break;
            }
            (start, end) = (start.saturating_sub(*len), end - len);
        }
        out
    }

    /// Returns the places of fields.
    fn places(&self, fields: &[Arc<str>]) -> Result<Vec<usize>> {
        fields.iter().map(|name| self.spec.require(name, "read")).collect()
    }

    /// Returns the shape of a variable in a row, without steps.
    fn row_shape(&self, part: usize, variable: usize) -> Vec<u64> {
        let mut shape = self.parts[part].arrays[variable].shape().to_vec();
        let Variable { axis, cut, .. } = &self.cuts[part].variables[variable];
        if let Some(axis) = axis {
            shape.remove(*axis);
        }
        if let (true, Some(patches)) = (cut, &self.form.patches) {
            let from = shape.len().saturating_sub(patches.size.len());
            shape.splice(from.., patches.size.iter().copied());
        }
        shape
    }

    /// Returns the shape of a field in the rows of a part.
    fn shape(&self, part: usize, field: usize) -> Vec<u64> {
        let Field::Values { variables, target } = &self.fields[field] else {
            return vec![self.cuts[part].sides.len() as u64];
        };
        let mut shape = Vec::new();
        if let Some(windows) = &self.form.windows {
            shape.push(if *target { windows.horizon } else { windows.length });
        }
        if self.form.stack.is_some() {
            shape.push(variables.len() as u64);
        }
        shape.extend(self.row_shape(part, variables[0]));
        shape
    }

    /// Returns the bytes of a field in a row of a part.
    fn width(&self, part: usize, field: usize) -> u64 {
        let size = match &self.fields[field] {
            Field::Values { variables, .. } => self.parts[part].arrays[variables[0]].element().size(),
            Field::Origin => 8,
        };
        self.shape(part, field).iter().fold(size as u64, |all, side| all.saturating_mul(*side))
    }
}
