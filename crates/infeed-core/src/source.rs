//! Sources: rows by number.

use crate::{Cache, Error, Record, Result, Shard, Spec, Variable, format::Fields};
use serde_json::{Map, Value as Json};
use std::{fmt::Debug, ops::Range, sync::Arc};

/// A field, the name of its decoder, and the decoder's arguments. Without a name the field is not decoded: it lies in an image
/// and cannot follow it, so that nothing may move the image away from it.
pub type FieldDecoder = (Arc<str>, &'static str, Map<String, Json>);

/// What fetching some rows costs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReadCost {
    /// Bytes of the fields.
    pub used: u64,
    /// Bytes that are fetched to have them.
    pub read: u64,
    /// Requests for these bytes.
    pub requests: u64,
}

/// How rows that are far away are fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fetching {
    /// The rows that are wanted; neighbours among them together.
    Rows,
    /// All rows of their blocks.
    Blocks,
}

/// Everything that can be read by row number: store x format, a folder, a wrapped data set.
pub trait Source: Debug + Send + Sync {
    /// Returns the fields of a record.
    fn spec(&self) -> &Spec;

    /// Returns the rows of each shard; their sum is the length. Rows are numbered shard after shard.
    fn shard_rows(&self) -> &[u64];

    /// Returns the name of the shard that holds a row.
    fn shard_of(&self, row: u64) -> String;

    /// Returns the name of a row.
    fn key(&self, row: u64) -> String;

    /// Returns about how many bytes are read for a row.
    fn row_bytes(&self, row: u64, fields: &[Arc<str>]) -> u64;

    /// Returns the records of these rows, in the same order, with these fields. Sorted rows let neighbours be read
    /// together.
    fn fetch(&self, rows: &[u64], fields: &[Arc<str>]) -> Result<Vec<Record>>;

    /// Returns a number for each row that differs from that of every other row, and becomes another one when the data of these
    /// fields changes: over name, size and version of what holds it, and its place there ([`Stamp`](crate::Stamp)). A row without
    /// one, such as a file that is not there, is read as usual. `None`, for no rows too, if the source cannot tell whether its
    /// data has changed.
    fn stamps(&self, _rows: &[u64], _fields: &[Arc<str>]) -> Option<Vec<Option<u128>>> {
        None
    }

    /// Announces that these rows will be fetched soon. Only a hint: doing nothing is correct.
    fn will_fetch(&self, _rows: &[u64], _fields: &[Arc<str>]) {}

    /// Like [`Source::will_fetch`], for orders that read block after block: the rest of the blocks of these rows will be fetched
    /// soon, too.
    fn will_fetch_blocks(&self, rows: &[u64], fields: &[Arc<str>]) {
        self.will_fetch(rows, fields);
    }

    /// Estimates what it costs to fetch these rows together, if the data is far away. `None` if nobody knows.
    fn read_cost(&self, _rows: &[u64], _fields: &[Arc<str>], _fetching: Fetching) -> Option<ReadCost> {
        None
    }

    /// Returns the kind of network file system that the data is on, if it is on one ([`Store::network`](crate::Store::network)).
    fn network(&self) -> Option<&'static str> {
        None
    }

    /// Returns how many bytes can be announced now, if the data is so far away that rows should be announced long before they
    /// are fetched ([`Store::room_ahead`](crate::Store::room_ahead)).
    fn room_ahead(&self) -> Option<u64> {
        None
    }

    /// Says which step of a run the announcements that follow are for, and that the rows of all steps before `done` were fetched
    /// ([`Store::ahead_for`](crate::Store::ahead_for)).
    fn ahead_for(&self, _run: u64, _step: u64, _done: u64) {}

    /// Says that rows which were announced and not fetched are no longer wanted.
    fn forget_ahead(&self) {}

    /// Returns the caches through which it reads.
    fn caches(&self) -> Vec<&dyn Cache> {
        Vec::new()
    }

    /// Returns the objects in which its rows lie. Empty if it cannot say.
    fn objects(&self) -> Vec<Shard> {
        Vec::new()
    }

    /// Calls `each` with the bytes that these rows need, and the number of their object. Errors leave bytes out: they are
    /// reported when the rows are fetched.
    fn bytes_of(&self, _rows: &[u64], _fields: &[Arc<str>], _each: &mut dyn FnMut(usize, Range<u64>)) {}

    /// Returns the names of the classes that a `label` field numbers, if the source has them.
    fn classes(&self) -> &[String] {
        &[]
    }

    /// Returns the decoders of fields whose meaning the source knows, for pipelines that name no other: boxes must follow
    /// their image although nobody said that they are boxes.
    fn decoders(&self) -> Vec<FieldDecoder> {
        Vec::new()
    }

    /// Returns descriptions of what was left out of damaged shards when they were opened.
    fn damage(&self) -> Vec<String> {
        Vec::new()
    }

    /// Returns a number per row that is known without reading: `bytes`, and `label` if there are classes. `None` if the
    /// source does not know it.
    fn column(&self, _name: &str) -> Result<Option<Vec<i64>>> {
        Ok(None)
    }

    /// Returns the rows of each unit that is read and decoded as a whole (a row group), if units are larger than a
    /// row; their sum is the length. A shuffle then mixes some units at a time, so that each is decoded once. Empty
    /// if rows are read one by one.
    fn block_rows(&self) -> &[u64] {
        &[]
    }

    /// Returns how many blocks a shuffle may mix at a time, if decoded blocks are so large that the usual number of them would not
    /// stay in memory. A function of the data alone: orders depend on it.
    fn most_mixed(&self) -> Option<u64> {
        None
    }

    /// Whether [`Source::fill`] can write this field. Its spec must have a fixed shape.
    fn fills(&self, _field: &str) -> bool {
        false
    }

    /// Writes fields of many rows directly into batches, without records: `out[i]` is for `fields[i]` and receives
    /// the rows contiguously, in the order of `rows`. Rows come in any order, and may repeat. After an error the
    /// content of `out` is unspecified: the caller then goes row by row with [`Source::fetch`], which must fail for
    /// the same rows and say why.
    fn fill(&self, _rows: &[u64], _fields: &[Arc<str>], _out: &mut [&mut [u8]]) -> Result<()> {
        Err(Error::Internal { what: "this source cannot fill batches".to_owned() })
    }

    /// Returns the fields in the order that identifies the data in saved states. Older versions sorted the fields of some
    /// sources by name, and their states must stay valid.
    fn fields_of_states(&self) -> Fields {
        self.spec().fields.clone()
    }

    /// Sets how much memory the source may use for its caches; `None` is what it has unasked. Only a hint. Loaders say it whenever they
    /// begin, so that none inherits what another was given.
    fn set_memory(&self, _bytes: Option<u64>) {}

    /// Limits the bytes of one row, for sources that learn them only as they read. Longer rows are errors.
    fn set_largest_row(&self, _bytes: u64) {}

    /// Returns the number of rows.
    fn rows(&self) -> u64 {
        self.shard_rows().iter().sum()
    }

    /// Returns how the variables of an array format lie in their files; empty for other formats.
    fn variables(&self) -> Vec<Variable> {
        Vec::new()
    }

    /// Returns what the values of a field are counted in, as its files say (`hours since 1900-01-01`). An error if they do not
    /// agree, so that equal numbers would mean different things.
    fn units(&self, _field: &str) -> Result<Option<String>> {
        Ok(None)
    }

    /// Describes the source for `explain()`.
    fn describe(&self) -> String;
}
