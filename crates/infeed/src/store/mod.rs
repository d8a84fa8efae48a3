//! Bytes by name and range: the first stage, and the only one that knows where data lies.
//!
//! A store answers three questions: what is there ([`Store::list`]), how big is it ([`Store::stat`]) and what are
//! the bytes of these ranges ([`Store::read`]). It knows nothing of tars, rows or images.
//!
//! * [`STORES`] is the table: which scheme of a URL means which store. [`Stores`] is all of them behind one.
//! * [`LocalStore`] reads files with `pread` into buffers of a [`Pool`], or maps them for readers that ask for it.
//! * [`MemoryStore`] hands out slices of what it holds; tests and generated data live there.
//! * [`conformance`] is what every store is held to.
//! * [`FaultyStore`] wraps any store and fails on purpose, for tests.
//! * [`find`] turns what a user writes (globs, braces, folders, URLs) into the names a store understands.
//!
//! # Why `pread` is the default and not `mmap`
//!
//! Chosen by measurement, and by what happens on a bad day. With rows of 110 KB out of the page cache, `pread` into
//! reused buffers takes about the processor time of copying out of a map made for the occasion, a fifth to a half
//! more than copying out of a map whose pages are all in place already (some ten microseconds a row), and about a
//! third of what reading into fresh memory takes. Two things speak against the map. A file that somebody truncates
//! while it is being read is an error here, with its name and both sizes; a map kills the process with `SIGBUS`. And
//! `pread` waits in the thread that reads ahead; a map waits in whoever first looks at the bytes, which is a
//! decoding worker.
//!
//! [`Store::list`]: infeed_core::Store::list
//! [`Store::stat`]: infeed_core::Store::stat
//! [`Store::read`]: infeed_core::Store::read

pub mod conformance;
mod entry;
mod faulty;
mod local;
mod memory;
mod paths;
mod pool;
mod retry;
mod stores;

pub use entry::{STORES, StoreEntry};
pub use faulty::{FAULTS, FaultRates, Faults, FaultyStore, inject};
pub use infeed_core::Found;
pub use local::LocalStore;
pub use memory::MemoryStore;
pub use paths::{braces, find};
pub use pool::{Pool, PoolBuffer};
pub use stores::Stores;
