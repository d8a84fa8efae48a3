//! How rows are stored in bytes: shared by indexed reading (`format`) and streams (`stream`).
//!
//! * [`rows`]: files of one row after the other, and their codecs.
//! * [`tar`]: headers and names of tar members.

pub(crate) mod rows;
pub(crate) mod tar;
