//! Tables: formats whose unit of reading is a block of rows (row groups, record batches, pages of a query).
//!
//! ```text
//! shard    one file cut into blocks, read as Arrow columns; a folder per format   parquet, ipc, avro, csv, sqlite
//! field    what columns become: fields of a sample, many of them one matrix
//! block    decoded blocks: made once, kept, gathered into batches
//! source   all shards as one source
//! open     from paths and arguments to a source; the table of formats
//! ```
//!
//! A block is decoded once and converted to rows at once: all fields of a fixed shape are stored row by row in one
//! buffer, so a shuffled batch touches one or two cache lines per row.
//!
//! | column | field |
//! |---|---|
//! | integers, floats, bool | a number of that type |
//! | dates, times, timestamps, durations | `i64` of their own unit |
//! | decimals | `f64` |
//! | text | text |
//! | binary | encoded bytes |
//! | struct of `bytes` and `path` | encoded bytes, read from a file below the table's folder if there is only a path |
//! | other structs | their columns, as `a.b` |
//! | dictionaries | their values |
//! | fixed-size lists of numbers | an array of that shape |
//! | lists of numbers | an array of unknown length |
//! | other lists, maps, unions | JSON text |
//!
//! A null is NaN in a column of floats and a missing value elsewhere, unless a fill value is given.

mod block;
mod field;
mod open;
mod shard;
mod source;

#[cfg(test)]
mod tests;

pub use open::{ENTRIES, info, kind_of, open_table};
pub use source::{TableSource, stats::column_stats};
