//! Which threads each event wakes. Every wake-up except those of a pause or a stop is in this file.

use super::{Board, Held};

/// Events, called by the thread that caused them while it still holds the lock.
impl<B: Board> Held<'_, B> {
    /// A batch was planned and its pieces can be read. Wakes an I/O thread; the planning thread continues by itself.
    pub(crate) fn batch_planned(&mut self) {
        self.wake_reader();
    }

    /// A batch came from a stream: its pieces are read already, or it only carries an end or an error. Wakes a worker
    /// or the consumer.
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

    /// A worker has found work. Wakes the next worker if more is left; this is how all of them get woken.
    pub(super) fn work_found(&mut self) {
        self.wake_worker();
    }

    /// A worker has finished a piece, but not its batch. Wakes an I/O thread: there is room to read ahead.
    pub(crate) fn piece_finished(&mut self) {
        self.wake_reader();
    }

    /// A batch is done. Wakes an I/O thread, and the consumer if it is the batch it waits for.
    pub(crate) fn batch_finished(&mut self) {
        self.wake_reader();
        self.wake_consumer();
    }

    /// The consumer has taken a batch, so there is room for another. Wakes an I/O thread, and a worker unless the
    /// consumer has plenty.
    pub(crate) fn batch_taken(&mut self) {
        self.wake_reader();
        if !self.well_ahead() {
            self.wake_worker();
        }
    }

    /// An engine thread panicked, and the oldest batch holds the error. Wakes every consumer unconditionally.
    pub(crate) fn thread_lost(self) {
        let sleep = self.sleep;
        drop(self);
        sleep.consumers.notify_all();
    }

    /// Wakes a worker if one sleeps and there is work. Sleeping workers that were woken and have not run yet are not
    /// woken again.
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
