//! How the threads of an engine sleep, wake each other and pause. The rules are in README.md beside this file.
//!
//! `protocol` knows nothing of batches and pieces: what it must know of them is a [`Board`]. So it can be checked by
//! itself, with locks that try out how threads can meet (`tests/sleep_model`).

mod protocol;
mod sync;

pub(super) use protocol::{Board, Held, Look, Sleep, ThreadKind};
