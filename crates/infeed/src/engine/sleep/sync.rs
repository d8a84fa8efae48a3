//! The locks of the protocol. The model check replaces them with locks that explore thread schedules.

pub(super) use infeed_core::{Hold, WaitHeld};
pub(super) use std::sync::{Condvar, Mutex, MutexGuard};
