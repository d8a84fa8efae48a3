//! Streams: rows that cannot be addressed and are read once, from front to back.
//!
//! ```text
//! file, pipe or standard input -> [compress] -> [tar] -> [ahead] -> rows
//!                                 \________ one thread ________/    whoever calls next()
//! ```
//!
//! A compressed tar has no place to jump to, and neither has the output of a command. [`TarStream`] reads such parts
//! one after the other, on a thread of its own, and keeps some rows ready ([`TarStream::open`] says how many), so
//! that decompressing and decoding overlap. The rows are those that the format `tar` finds in the same bytes.
//! [`RowStream`] does the same for JSON lines, CSV, text and TFRecord. [`Wrapped`] makes a stream of any iterator.
//!
//! Nothing ends quietly: data that is cut off or damaged, and a command that fails, are errors that name the part and
//! the byte. What memory a hostile file can take is bounded: one field of a tar's row has at most 2 GiB, a row 4 GiB, a row of
//! another format what `max_row` says,
//! the dictionary of an xz file 512 MiB, the window of a zstd file 128 MiB; the rest flows through buffers of fixed
//! size.

mod ahead;
mod compress;
mod input;
mod opening;
mod parts;
mod pipe;
mod rows;
mod sys;
mod tar;
mod wrapped;

pub use opening::Opening;
pub use rows::RowStream;
pub use tar::TarStream;
pub use wrapped::{Items, Wrapped};

#[cfg(test)]
mod tests;
