//! A part of an object: one request.

use super::Object;
use crate::backend::Failure;
use bytes::Bytes;
use infeed_core::Hold;
use std::{
    ops::Range,
    sync::{
        Arc, Condvar, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
};
use tokio::sync::Notify;

#[derive(Debug)]
pub(super) struct Extent {
    pub(super) object: Arc<Object>,
    pub(super) range: Range<u64>,
    pub(super) state: Mutex<State>,
    pub(super) arrived: Condvar,
    /// Whether somebody waits for it, and what tells its request so.
    awaited: AtomicBool,
    told: Notify,
    /// Whether its request was started.
    pub(super) begun: AtomicBool,
    /// Bytes of it that readers took.
    pub(super) read: AtomicU64,
    /// When it was last announced or read, by the table's clock.
    pub(super) used: AtomicU64,
    /// The last step that it was announced for, or [`NO_STEP`].
    pub(super) step: AtomicU64,
}

/// The step of an extent that was announced for none.
pub(super) const NO_STEP: u64 = u64::MAX;

#[derive(Debug)]
pub(super) enum State {
    Coming,
    Here(Bytes),
    /// The failure, and how often it was tried.
    Lost(Failure, u32),
}

impl Extent {
    pub(super) fn new(object: &Arc<Object>, range: Range<u64>, now: u64) -> Arc<Self> {
        Arc::new(Extent {
            object: Arc::clone(object),
            range,
            state: Mutex::new(State::Coming),
            arrived: Condvar::new(),
            awaited: AtomicBool::new(false),
            told: Notify::new(),
            begun: AtomicBool::new(false),
            read: AtomicU64::new(0),
            used: AtomicU64::new(now),
            step: AtomicU64::new(NO_STEP),
        })
    }

    pub(super) fn len(&self) -> u64 {
        self.range.end - self.range.start
    }

    /// Stores the result and wakes those who wait for it.
    pub(super) fn finish(&self, result: Result<Bytes, (Failure, u32)>) {
        *self.state.hold() = match result {
            Ok(bytes) => State::Here(bytes),
            Err((failure, tries)) => State::Lost(failure, tries),
        };
        self.arrived.notify_all();
    }

    /// Somebody waits for it.
    pub(super) fn await_it(&self) {
        if !self.awaited.swap(true, Relaxed) {
            self.told.notify_one();
        }
    }

    /// Returns as soon as somebody waits for it. Only its request asks.
    pub(super) async fn is_awaited(&self) {
        while !self.awaited.load(Relaxed) {
            self.told.notified().await;
        }
    }

    pub(super) fn is_coming(&self) -> bool {
        matches!(*self.state.hold(), State::Coming)
    }
}
