//! How the threads of an engine sleep, wake each other and pause. The rules are in README.md beside this file.
//!
//! `protocol` does not depend on batches and pieces: it sees them through a [`Board`]. So it can be checked on its own,
//! with locks that explore thread schedules (`tests/sleep_model`).

mod protocol;
mod sync;

pub(super) use protocol::{Board, Held, Look, Sleep, ThreadKind};
