//! Files of rows with random access: rows are found once, saved, then read by range.

mod make;
mod open;
mod saved;
mod scan;
mod set;

pub(super) use open::open;
pub(super) use saved::fuzz_saved;
pub(crate) use set::RowSet;

#[cfg(test)]
mod tests;
