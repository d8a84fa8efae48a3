//! How rows lie in bytes: what indexed reading (`format`) and reading from front to back (`stream`) have in common.
//!
//! * [`rows`]: files of one row after the other, and what makes records of them.
//! * [`tar`]: headers and names of tar members.

pub(crate) mod rows;
pub(crate) mod tar;
