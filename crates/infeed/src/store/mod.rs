//! Bytes by name and range: the first stage, and the only one that knows where data is stored.
//!
//! A store answers three questions: what is there ([`Store::list`]), how big is it ([`Store::stat`]) and what are
//! the bytes of these ranges ([`Store::read`]). It knows nothing of tars, rows or images.
//!
//! * [`STORES`] is the table of stores by URL scheme. [`Stores`] combines them into one.
//! * [`LocalStore`] reads files with `pread` into buffers of a [`Pool`], or maps them for readers that ask for it.
//! * `remote` has the entries of object stores; the stores themselves are the crate `infeed-remote`.
//! * [`MemoryStore`] returns slices of what it holds; for tests and generated data.
//! * [`cache::CacheStore`] keeps what it has read from another store, on disk or in memory, for all processes of a machine.
//! * [`RecordedStore`] keeps what is read while data is opened, for the next run.
//! * [`conformance`] is the test suite for stores.
//! * [`FaultyStore`] wraps any store and fails on purpose, for tests.
//! * [`find`] turns what a user writes (globs, braces, folders, URLs) into the names a store understands.
//!
//! # Why `pread` is the default and not `mmap`
//!
//! Chosen by measurement and for its behaviour under failure. With rows of 110 KB from the page cache, `pread` into
//! reused buffers takes about the CPU time of copying out of a fresh mapping, a fifth to a half more than copying out
//! of a mapping whose pages are all present (some ten microseconds a row), and about a third of what reading into
//! fresh memory takes. There are two arguments against mapping. If a file is truncated while it is read, `pread`
//! gives an error with its name and both sizes; with a mapping, `SIGBUS` kills the process. And `pread` blocks the
//! thread that prefetches, while a mapping blocks the thread that first touches the bytes, which is a decoding
//! worker.
//!
//! [`Store::list`]: infeed_core::Store::list
//! [`Store::stat`]: infeed_core::Store::stat
//! [`Store::read`]: infeed_core::Store::read

pub mod cache;
pub mod conformance;
mod entry;
mod faulty;
mod local;
mod memory;
mod paths;
mod recorded;
#[cfg(feature = "remote")]
mod remote;

mod retry;
mod stores;

pub use entry::{OpenStore, STORES, StoreEntry};
pub use faulty::{FAULTS, FaultRates, Faults, FaultyStore, inject};
pub use infeed_core::Found;
pub use infeed_core::pool::{Pool, PoolBuffer};
#[cfg(feature = "remote")]
pub use infeed_remote::{RemoteMark, RemoteStats, all_stats as remote_stats};
pub use local::LocalStore;
pub(crate) use local::guard::{any_lost, lost};
pub use memory::MemoryStore;
pub use paths::{braces, find};
pub use recorded::RecordedStore;
pub(crate) use retry::retry;
pub use stores::Stores;
