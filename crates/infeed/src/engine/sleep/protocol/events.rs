//! Whom each event wakes. Everything that ends somebody's sleep, but for a pause or the end, is in this file.

use super::{Board, Held};

/// What happened, told by whoever did it, while it still holds the lock.
impl<B: Board> Held<'_, B> {
    /// A batch was planned, and its pieces are to be read. Wakes an I/O thread; the thread that planned goes on itself.
    pub(crate) fn batch_planned(&mut self) {
        self.wake_reader();
    }

    /// A batch came out of a stream: its pieces are read, or it only brings an end or an error. Wakes a worker or the
    /// consumer.
    pub(crate) fn batch_pulled(&mut self) {
        self.wake_consumer();
        self.wake_worker();
    }

    /// Batches were given from outside. Wakes a worker and an I/O thread: either may plan them.
    pub(crate) fn batches_given(&mut self) {
        self.wake_worker();
        self.wake_reader();
    }

    /// An I/O thread has read a piece. Wakes a worker.
    pub(crate) fn piece_read(&mut self) {
        self.wake_worker();
    }

    /// A worker has found something. Wakes the next one, for what is left: that is how all of them come to be awake.
    pub(super) fn work_found(&mut self) {
        self.wake_worker();
    }

    /// A worker has finished a piece, and more of its batch are left. Wakes an I/O thread: there is room to read ahead.
    pub(crate) fn piece_finished(&mut self) {
        self.wake_reader();
    }

    /// A batch is done. Wakes an I/O thread, and the consumer if it is the batch it waits for.
    pub(crate) fn batch_finished(&mut self) {
        self.wake_reader();
        self.wake_consumer();
    }

    /// The consumer has taken a batch: there is room for another. Wakes an I/O thread, and a worker unless the consumer has
    /// plenty.
    pub(crate) fn batch_taken(&mut self) {
        self.wake_reader();
        if !self.well_ahead() {
            self.wake_worker();
        }
    }

    /// A thread of the engine is lost, and the oldest batch says so. Wakes every consumer, asked or not.
    pub(crate) fn thread_lost(self) {
        let sleep = self.sleep;
        drop(self);
        sleep.consumers.notify_all();
    }

    /// Wakes a worker if one sleeps and there is something to do. Until it has come and looked for the next to wake, nobody
    /// else is woken for the same reason.
    fn wake_worker(&mut self) {
        if self.inside.roster.idle_workers > self.inside.roster.woken && self.has_work() {
            self.inside.roster.woken += 1;
            self.sleep.workers.notify_one();
        }
    }

    fn wake_reader(&self) {
        if self.inside.roster.idle_readers > 0 && self.wants_readers() {
            self.sleep.readers.notify_one();
        }
    }

    fn wake_consumer(&self) {
        if self.inside.roster.waiting > 0 && self.is_ready_or_stopped() {
            self.sleep.consumers.notify_all();
        }
    }
}
