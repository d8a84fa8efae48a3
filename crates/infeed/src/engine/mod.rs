//! Recipe -> plan -> run.
//!
//! A [`Plan`] is a recipe checked against real data. A [`Loader`] runs it epoch after epoch ([`Run`]). The rows of a
//! step are arithmetic (`course`) or come from a stream (`feed`); a [`Checkpoint`] saves the consumer's position.
//! Three kinds of threads share one lock-protected `state`; how they sleep and wake each other is in `sleep`:
//!
//! ```text
//!  I/O threads                      CPU workers                          the consumer
//!  plan the next batch,             take a piece that was read,          waits for the oldest batch,
//!  cut it into pieces,    pieces    finish its samples one by one  done  takes it out; that makes room
//!  read them           ---------->  straight into the batch    --------> for one more
//! ```
//!
//! The I/O threads sleep while reads are served from the page cache (`trace::pace`): workers then plan and read
//! themselves. While they come from a device, whoever reads a piece announces the next ones (`coming`).
//!
//! The threads make batch after batch, across epoch boundaries. Between two epochs the loader keeps them (`home`).
//!
//! The lock is taken a few times per *piece* (some hundred kilobytes), never per sample, so it is not a bottleneck even
//! for tiny samples on many cores.

mod activity;
mod chaos;
mod checkpoint;
mod coming;
mod course;
mod cpus;
mod deferring;
mod feed;
mod finding;
mod future;
mod home;
mod joint;
mod loader;
mod options;
mod pack;
mod pieces;
mod plan;
mod planning;
mod policy;
mod priority;
mod process;
mod reader;
mod receipt;
mod run;
mod sample;
mod scout;
mod sleep;
mod state;
mod survey;
mod threads;
mod worker;

pub use crate::trace::{BadSample, CacheUse, ChaosCounts};
pub use checkpoint::Checkpoint;
pub use cpus::usable_cpus;
pub use deferring::Decode;
pub use loader::Loader;
pub use options::Options;
pub use plan::{BatchSize, Identity, Opened, Plan, StreamPlan};
pub use policy::OnError;
pub use priority::{Priority, left_for_training};
pub use receipt::Changes;
pub use run::{Next, Run, Waiting};
pub use survey::Survey;

#[cfg(test)]
mod tests;
