//! Object stores behind [`infeed_core::Store`]: S3, Google Cloud Storage, Azure, HTTP and the Hugging Face hub.
//!
//! ```text
//! store.rs      names and reads as infeed's readers ask for them
//! stream.rs     objects from front to back
//! lookup.rs     which objects are there: listings, or single questions
//! fetch/        which bytes are on their way or here: look-ahead, joining, retries, hedging, how many requests at a time
//! backend/      single requests: object_store for S3, GCS and Azure; reqwest for HTTP and the hub
//! direct/       bodies of plain HTTP from the socket to where they will lie
//! credentials/  what object_store does not read: profiles of AWS, and keys that are asked for again
//! runtime.rs    the threads that requests run on
//! ```
//!
//! Signing, XML and tokens are object_store's. Scheduling is ours: its `get_ranges` knows neither the order in which
//! bytes are needed nor how much memory they may take, and it waits for the slowest of ten.

#![deny(unsafe_code)]

mod backend;
mod credentials;
mod direct;
mod fetch;
mod location;
mod lookup;
mod options;
mod runtime;
mod stats;
mod store;
mod stream;
mod time;

pub use options::StoreOptions;
pub use stats::{RemoteMark, RemoteStats, all_stats};
pub use store::RemoteStore;
