//! Streams: rows that cannot be looked up by number and are read once, from front to back.
//!
//! ```text
//! file, pipe or standard input -> [compress] -> [tar] -> [ahead] -> rows
//!                                 \________ one thread ________/    the caller of next()
//! ```
//!
//! One cannot seek in a compressed tar or in the output of a command. [`TarStream`] reads such parts one after the
//! other on a thread of its own and prefetches some rows (at most 32 MiB or 4,096), so that decompression
//! and decoding overlap. The rows are those that the format `tar` finds in the same bytes. [`RowStream`] does the
//! same for JSON lines, CSV, text and TFRecord. [`Wrapped`] makes a stream of any iterator.
//!
//! Truncated or damaged data and failed commands are errors that name the part and the byte. The memory that a
//! hostile file can take is bounded: 2 GiB per field and 4 GiB per row of a tar, `max_row` per row of other formats,
//! 512 MiB for the dictionary of an xz file, 128 MiB for the window of a zstd file. Everything else uses buffers of
//! fixed size.

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
pub use tar::{TarNotes, TarStream, TarWatch};
pub use wrapped::{Items, Wrapped};

#[cfg(test)]
mod tests;
