//! Token corpora: files of token ids with and without an index, and the samples that language models are trained on.
//!
//! | module | holds |
//! |---|---|
//! | [`idx`] | `.idx` files: `MMIDIDX` and the older `TNTIDX` |
//! | [`TokenFile`] | one file of tokens, divided into sequences and documents by its index |
//! | [`TokenSource`] | rows of tokens for the engine: windows, or Megatron's GPT samples |
//! | [`gpt`] | GPT samples, index for index as Megatron's, and their cache files |
//! | [`list`] | file lists: `weight prefix corpus` |
//! | [`TokenWriter`] | writes documents to `.bin` and `.idx` |
//! | [`tools`] | info, verify, merge, split |
//!
//! Bytes come from a [`Store`](infeed_core::Store); output goes to local paths only.
//!
//! A mapped file must not be truncated while it is read: the operating system then kills the process (SIGBUS), which
//! cannot be prevented from inside. [`Read::Pread`] costs a copy and returns an error instead.
#![deny(unsafe_code)]

mod data;
mod element;
mod entry;
mod fields;
mod file;
mod fuzzing;
pub mod gpt;
pub mod idx;
pub mod list;
mod npy;
mod options;
mod source;
mod sys;
#[cfg(test)]
mod testing;
pub mod tools;
mod writer;

pub use data::Read;
pub use entry::ENTRY;
pub use file::{TokenFile, prefix_of};
pub use fuzzing::fuzz;
pub use idx::{Drift, Index};
pub use options::{Options, Sampling};
pub use source::TokenSource;
pub use writer::TokenWriter;
