//! Tables: formats whose unit of reading is a block of rows (row groups, record batches, pages of a query).
//!
//! ```text
//! Blocks        one shard cut into blocks, read as Arrow columns        parquet, ipc, avro, csv, sqlite
//! field         what a column becomes as a field of a sample            field.rs, mixed.rs
//! matrix        many columns into one array, with operations            matrix.rs, ops.rs
//! decoded       a block as rows lie in batches                          decoded.rs, packed.rs
//! cache         decoded blocks, each made once                          cache.rs
//! TableSource   all shards as one source                                source.rs
//! ```
//!
//! A block is decoded once and turned into rows there and then: all fields of a fixed shape lie row after row in one piece
//! of memory, so that a shuffled batch costs one or two cache lines per row.
//!
//! | column | field |
//! |---|---|
//! | integers, floats, bool | a number of that type |
//! | dates, times, timestamps, durations | `i64` of their own unit |
//! | decimals | `f64` |
//! | text | text |
//! | binary | encoded bytes |
//! | struct of `bytes` and `path` | encoded bytes, of the file where only the path is there |
//! | other structs | their columns, as `a.b` |
//! | dictionaries | their values |
//! | fixed-size lists of numbers | an array of that shape |
//! | lists of numbers | an array of unknown length |
//! | other lists, maps | JSON text |
//!
//! A null is NaN in a column of floats and a missing value elsewhere, unless a value to put there is given.

mod args;
mod avro;
mod blocks;
mod cache;
mod csv;
mod decoded;
mod field;
mod file;
mod files;
mod filter;
mod gather;
mod ipc;
mod json;
mod lookup;
mod loose;
mod matrix;
mod mixed;
mod open;
mod ops;
mod packed;
mod parquet;
mod reading;
mod recycle;
mod source;
mod sqlite;
mod stats;

#[cfg(test)]
mod tests;

pub use open::{KINDS, info, kind_of, open};
pub use source::TableSource;
pub use stats::column_stats;
