//! Rows stored one after the other in a file: lines, records.
//!
//! A [`RowLayout`] defines how such files are cut and what fields rows have. It serves two readers: `format::rows`
//! finds the rows of files once and then reads any of them; `stream` reads them from front to back, from compressed
//! files and pipes. Fields come from the first rows of every file ([`RowLayout::sketch`]), which must agree with one
//! another.

mod codec;
mod places;

pub(crate) use codec::{FirstRows, Row, RowCodec, RowSchema, Sketch, numbered};
pub(crate) use places::RowPlaces;

use infeed_core::{Error, Result, Shard, Store};
use infeed_records::{Guess, split::Split};
use std::{fmt::Debug, sync::Arc};

/// Bytes of a file that [`RowLayout::prepare`] sees.
pub(crate) const START: u64 = 64 << 10;
/// The default size of the largest row.
pub(crate) const LARGEST: i64 = 256 << 20;
/// Maximum bytes of first rows that are read to learn the fields.
pub(crate) const LOOK: u64 = 8 << 20;

/// How files are cut into rows.
pub(crate) trait RowLayout: Debug + Send + Sync {
    /// Returns the name users know it by.
    fn name(&self) -> &'static str;

    /// Inspects the start of the first file, before any other method is called.
    fn prepare(&self, _name: &str, _start: &[u8]) {}

    /// Returns a splitter that finds rows, from the start of a file.
    fn splitter(&self) -> Box<dyn Split>;

    /// Returns `Some` if rows are lines, so that a file can be split anywhere; the value says whether blank lines are
    /// rows.
    fn lines(&self) -> Option<bool> {
        None
    }

    /// Whether errors name lines.
    fn numbered(&self) -> bool {
        true
    }

    /// Whether the first row of a file has the titles of columns.
    fn titled(&self) -> bool {
        false
    }

    /// Returns the size of the largest row that is accepted.
    fn largest(&self) -> u64;

    /// Returns what the rows of a file depend on besides its bytes: saved rows are used only with the same tag.
    fn tag(&self) -> String;

    /// Finds the rows of a file in a format-specific way, if the format has one.
    fn find(&self, _: &dyn Store, _: &Shard) -> Result<Option<RowPlaces>> {
        Ok(None)
    }

    /// Whether data with this start is not compressed, whatever it looks like.
    fn is_plain(&self, _start: &[u8]) -> bool {
        false
    }

    /// Returns how many rows are read to learn the fields.
    fn look(&self) -> usize;

    /// Returns the fields found in the first rows of a file.
    fn sketch(&self, head: &FirstRows) -> Result<Sketch>;

    /// Settles the fields, once those of all files are known.
    fn schema(&self, fields: Vec<(Arc<str>, Guess)>) -> Result<Arc<dyn RowSchema>>;
}

/// Returns the message of an error without its location.
pub(crate) fn said(error: Error) -> String {
    match error {
        Error::Sample { what, .. } => what,
        other => other.to_string(),
    }
}
