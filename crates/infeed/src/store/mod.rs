//! Bytes by name and range: the first stage, and the only one that knows where data lies.
//!
//! A store answers three questions: what is there ([`Store::list`]), how big is it ([`Store::stat`]) and what are
//! the bytes of these ranges ([`Store::read`]). It knows nothing of tars, rows or images.
//!
//! * [`LocalStore`] reads files with `pread` into buffers of a [`Pool`].
//! * [`MemoryStore`] hands out slices of what it holds; tests and generated data live there.
//! * [`find`] turns what a user writes (globs, braces, folders, URLs) into the names a store understands.
//!
//! # Why `pread` and not `mmap`
//!
//! Chosen by measurement and by what happens on a bad day. With rows of 110 KB out of the page cache, `pread` into
//! reused buffers came within 20 % of a copy out of a standing map and was ahead of everything that maps or
//! allocates afresh. Against that small loss stand two things that a map cannot give: a file which somebody
//! truncates while it is being read is an error with a name and a size, where a map kills the process with
//! `SIGBUS`; and a read happens where it is asked for, in the thread that reads ahead, where a map moves it to the
//! page faults of whoever first looks at the bytes, which is a decoding worker.
//!
//! [`Store::list`]: infeed_core::Store::list
//! [`Store::stat`]: infeed_core::Store::stat
//! [`Store::read`]: infeed_core::Store::read

mod local;
mod memory;
mod paths;
mod pool;

pub use local::LocalStore;
pub use memory::MemoryStore;
pub use paths::{Found, braces, find};
pub use pool::{Pool, PoolBuffer};
