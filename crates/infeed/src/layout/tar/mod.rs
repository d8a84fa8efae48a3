//! Headers and names of tar members.

pub(crate) mod header;
pub(crate) mod names;
pub(crate) mod pax;
