//! How rows are stored in bytes: shared by indexed reading (`format`) and streams (`stream`).
//!
//! * [`rows`]: files of one row after the other, and their codecs.
//! * [`tar`]: headers and names of tar members.
//! * [`instead`]: what lies where a shard should be when a download went wrong.

pub(crate) mod instead;
pub(crate) mod rows;
pub(crate) mod tar;
