//! What the protocol is made of. The model check puts other locks in its place, which try out every way threads can meet.

pub(super) use infeed_core::{Hold, WaitHeld};
pub(super) use std::sync::{Condvar, Mutex, MutexGuard};
