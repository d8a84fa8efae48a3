//! Files of rows that can be read at any place: found once, saved, then read by range.

mod make;
mod open;
mod saved;
mod scan;
mod set;

pub(super) use open::open;
pub(crate) use set::RowSet;

#[cfg(test)]
mod tests;
