//! Shards as blocks of rows: one folder per format, with the format's entry next to its reader.

pub(crate) mod avro;
pub(crate) mod bytes;
pub(crate) mod csv;
pub(crate) mod depth;
pub(crate) mod ipc;
pub(crate) mod limit;
pub(crate) mod parquet;
pub(crate) mod sqlite;

use arrow_array::ArrayRef;
use arrow_schema::SchemaRef;
use infeed_core::{Error, Result};
use infeed_order::filter::Range;
use std::{
    fmt::Debug,
    panic::{AssertUnwindSafe, catch_unwind},
};

/// A shard whose rows are read in blocks.
pub(crate) trait Blocks: Debug + Send + Sync {
    /// Returns the name of the shard.
    fn name(&self) -> &str;

    /// Returns its columns.
    fn schema(&self) -> &SchemaRef;

    /// Returns the number of rows of each block.
    fn block_rows(&self) -> &[u64];

    /// Returns what a block is called, for messages.
    fn noun(&self) -> &'static str;

    /// Reads top-level columns of a block, in the order of `columns`, each with all rows of the block.
    fn read(&self, block: usize, columns: &[usize]) -> Result<Vec<ArrayRef>>;

    /// Like [`Self::read`], but tolerates invalid rows: they are listed, ascending, and their values are meaningless.
    fn read_sound(&self, block: usize, columns: &[usize]) -> Result<(Vec<ArrayRef>, Vec<BadRow>)> {
        Ok((self.read(block, columns)?, vec![]))
    }

    /// Announces that these columns of a block will be read soon. Only a hint.
    fn will_read(&self, _block: usize, _columns: &[usize]) {}

    /// Returns the known value range of a top-level column of a block, without reading it.
    fn range(&self, _block: usize, _column: usize) -> Option<Range> {
        None
    }

    /// The length that all lists of a top-level column have, as far as the shard shows it without reading much.
    fn list_len(&self, _column: usize) -> Option<usize> {
        None
    }

    /// Whether a changed content shows in size and time of the file.
    fn shows_changes(&self) -> bool {
        true
    }

    /// Estimates the size in bytes of a top-level column over all rows.
    fn column_bytes(&self, column: usize) -> u64;
}

/// A row of a block, and what is wrong with it.
pub(crate) type BadRow = (u32, String);

/// [`Blocks::read_sound`], with every failure turned into an error that names the block. Decoders are complex, and
/// some panic on damaged input.
pub(crate) fn read(
    shard: &dyn Blocks,
    block: usize,
    columns: &[usize],
) -> Result<(Vec<ArrayRef>, Vec<BadRow>)> {
    let place = || format!("{} {block} of `{}`", shard.noun(), shard.name());
    let read = catch_unwind(AssertUnwindSafe(|| shard.read_sound(block, columns)));
    let (arrays, bad) = match read {
        Ok(Ok(found)) => found,
        Ok(Err(Error::Sample { what, .. })) => {
            return Err(Error::sample(format!("{}: {what}", place())));
        }
        Ok(Err(other)) => return Err(other),
        Err(panic) => {
            let what = panic
                .downcast_ref::<String>()
                .map(String::as_str)
                .or_else(|| panic.downcast_ref::<&str>().copied())
                .unwrap_or("no reason given");
            return Err(Error::sample(format!(
                "{} is damaged ({what}); write the file again or leave it out",
                place()
            )));
        }
    };
    let rows = shard.block_rows()[block];
    for (array, column) in arrays.iter().zip(columns) {
        if array.len() as u64 != rows {
            return Err(Error::sample(format!(
                "{} has {} values in column `{}` and should have {rows}; write the file again or leave it out",
                place(),
                array.len(),
                shard.schema().field(*column).name()
            )));
        }
    }
    Ok((arrays, bad))
}
