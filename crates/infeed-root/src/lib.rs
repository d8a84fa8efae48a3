//! ROOT files: trees of events as rows.
//!
//! ```text
//! bytes    a file as bytes by range
//! file     the head of a file and its directories; `key` and `cursor` below it
//! pack     compressed records; `hash` and `hash3` are checksums
//! table    what trees and n-tuples are to the source: fields, and pieces that become `cells`
//! tree     a tree: branches, leaves and baskets as columns
//! ntuple   an n-tuple: fields and pages as columns
//! turn     this machine's byte order
//! join     trees whose entries belong together
//! whole    all of a column at once, for tests and tools
//! open     from paths and arguments to a source: the entry of the table of formats
//! source   trees of many files as one source
//! ```
//!
//! Only what trees of numbers need is known of ROOT's classes: their versions are fixed here, other versions are refused by name and
//! number, and what is not needed is left out by its length. Nothing in a file is believed: lengths are compared with what is there
//! before they are used, and memory is taken as compressed bytes prove that they fill it.
#![forbid(unsafe_code)]

mod bytes;
mod cells;
mod cursor;
mod error;
mod file;
mod fuzzing;
mod hash;
mod hash3;
mod join;
mod key;
mod ntuple;
mod open;
mod pack;
mod source;
mod table;
#[cfg(test)]
mod tests;
mod tree;
mod turn;
mod whole;

pub use crate::bytes::FileBytes;
pub use error::{Error, Result};
pub use file::{Contents, Found, is_root};
pub use fuzzing::fuzz_root;
pub use open::ENTRY;
pub use source::RootSource;
pub use table::Table;
pub use whole::WholeColumn;
