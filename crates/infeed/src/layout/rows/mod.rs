//! Rows that lie one after the other in a file: lines, records.
//!
//! A [`RowLayout`] says how such files are cut and what fields rows have. It serves two readers: `format::rows` finds the rows
//! of files once and then reads any of them; `stream` takes them from front to back, out of compressed files and pipes.
//! Fields come from the first rows of every file ([`RowLayout::sketch`]), which must agree with one another.

mod codec;
mod places;

pub(crate) use codec::{FirstRows, Row, RowCodec, RowSchema, Sketch, numbered};
pub(crate) use places::RowPlaces;

use infeed_core::{Error, Result, Shard, Store};
use infeed_records::{Guess, split::Split};
use std::{fmt::Debug, sync::Arc};

/// Bytes of a file that [`RowLayout::prepare`] sees.
pub(crate) const START: u64 = 64 << 10;
/// The largest row, unless the user says otherwise.
pub(crate) const LARGEST: i64 = 256 << 20;
/// Bytes of first rows that are looked at, at most.
pub(crate) const LOOK: u64 = 8 << 20;

/// How files are cut into rows.
pub(crate) trait RowLayout: Debug + Send + Sync {
    /// The name users know it by.
    fn name(&self) -> &'static str;

    /// Looks at the beginning of the first file, before anything else is asked.
    fn prepare(&self, _name: &str, _start: &[u8]) {}

    /// Finds rows, from the beginning of a file.
    fn splitter(&self) -> Box<dyn Split>;

    /// Whether rows are lines, so that a file can be cut anywhere; and then, whether blank ones are rows.
    fn lines(&self) -> Option<bool> {
        None
    }

    /// Whether errors speak of lines.
    fn numbered(&self) -> bool {
        true
    }

    /// Whether the first row of a file has the titles of columns.
    fn titled(&self) -> bool {
        false
    }

    /// The largest row that is taken.
    fn largest(&self) -> u64;

    /// What the rows of a file depend on, besides its bytes: saved rows are used only by the same.
    fn tag(&self) -> String;

    /// Finds the rows of a file in a way of its own.
    fn find(&self, _: &dyn Store, _: &Shard) -> Result<Option<RowPlaces>> {
        Ok(None)
    }

    /// Whether data that starts like this is not compressed, whatever it looks like.
    fn is_plain(&self, _start: &[u8]) -> bool {
        false
    }

    /// How many rows are looked at to learn the fields.
    fn look(&self) -> usize;

    /// The fields that the first rows of a file show.
    fn sketch(&self, head: &FirstRows) -> Result<Sketch>;

    /// Settles the fields, when those of all files are known.
    fn schema(&self, fields: Vec<(Arc<str>, Guess)>) -> Result<Arc<dyn RowSchema>>;
}

/// What an error says without its place.
pub(crate) fn said(error: Error) -> String {
    match error {
        Error::Sample { what, .. } => what,
        other => other.to_string(),
    }
}
