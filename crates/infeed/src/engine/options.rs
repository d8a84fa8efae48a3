//! Options of a run: threads, memory, error policy, rank and epochs.

use super::{Decode, OnError, Priority, priority::left_for_training, usable_cpus};
use crate::order::{
    World,
    world::{machine_cpus, share_of_cpus},
};
use infeed_core::{Error, Result, memory::DEFAULT_LIMIT};
use serde::Serialize;
use std::time::Duration;

/// How a loader runs. Every option has a good default.
#[derive(Debug, Clone, Serialize)]
pub struct Options {
    /// CPU workers; `None` takes the CPUs this process may use, less those that are left for training.
    pub threads: Option<usize>,
    /// The priority of all threads; `None` means low if the loader feeds a device.
    pub priority: Option<Priority>,
    /// Whether batches go to a device that a thread of this process keeps busy.
    pub feeds_device: bool,
    /// Where images are decoded. Batches then have columns that a device completes.
    pub decode: Decode,
    /// Threads that read; `None` follows `threads` and where the data is.
    pub io_threads: Option<usize>,
    /// Batches finished or in progress ahead of the consumer; `None` follows batch size and threads.
    pub prefetch: Option<usize>,
    /// Limit in bytes for batches and look-ahead together; `None` means 64 MiB of look-ahead beside the batches.
    pub memory: Option<u64>,
    /// What to do with a sample that cannot be made.
    pub on_error: OnError,
    /// Whether `on_error` also applies to rows that the storage cannot deliver, although it was tried again. Otherwise they
    /// stop the run: a server that is down must not cost rows.
    pub skip_unreadable: bool,
    /// The number of bad samples that is too many.
    pub error_limit: u64,
    /// How long the consumer waits for a batch before that is an error; `None` waits for ever.
    pub stall: Option<Duration>,
    /// The first epoch.
    pub epoch: u64,
    /// Which rank this is, of how many.
    #[serde(skip)]
    pub world: World,
    /// Epochs do not end: the batches of the next follow at once.
    pub endless: bool,
    /// The consumer's epoch is this many steps, whatever the length of the data's; the data continues where it was.
    pub steps_per_epoch: Option<u64>,
    /// Whether threads are kept between epochs and prepare the next one while the last batches are used.
    pub persistent: bool,
    /// Whether the ledger keeps the row numbers too, so that it can name them.
    pub ledger_rows: bool,
    /// The seed of pauses and read faults that are injected on purpose; `None` injects nothing.
    pub chaos: Option<u64>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            threads: None,
            priority: None,
            feeds_device: false,
            decode: Decode::Cpu,
            io_threads: None,
            prefetch: None,
            memory: None,
            on_error: OnError::Raise,
            skip_unreadable: false,
            error_limit: 1000,
            stall: None,
            epoch: 0,
            world: World::alone(),
            endless: false,
            steps_per_epoch: None,
            persistent: true,
            ledger_rows: false,
            chaos: None,
        }
    }
}

/// Options with all defaults resolved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(super) struct Settled {
    pub(super) threads: usize,
    pub(super) io_threads: usize,
    pub(super) priority: Priority,
    /// The CPUs of this rank.
    pub(super) cpus: usize,
    /// Whether the data is on a network file system.
    pub(super) network: bool,
    pub(super) prefetch: usize,
    pub(super) ahead_bytes: u64,
    /// Most bytes of one sample.
    pub(super) sample_bytes: u64,
    /// Most bytes of the samples of one batch whose sizes are not known in advance.
    pub(super) batch_bytes: u64,
}

/// Default look-ahead: deep enough to hide disk latency, small enough for a laptop.
const AHEAD: u64 = 64 << 20;

/// Threads that read from a network file system. Each waits for one read, so this is how many reads are under way.
const NETWORK_THREADS: usize = 32;

/// Memory that prefetched batches may always take, because it is negligible.
const SMALL: u64 = 4 << 20;

impl Options {
    /// Rejects contradictory options.
    pub(super) fn check(&self) -> Result<()> {
        World::new(self.world.rank, self.world.size)?;
        self.decode.check()?;
        if self.steps_per_epoch == Some(0) {
            return Err(Error::argument("steps_per_epoch must be at least 1"));
        }
        if self.endless && self.steps_per_epoch.is_some() {
            return Err(Error::argument(
                "endless and steps_per_epoch contradict each other: give one of them",
            ));
        }
        Ok(())
    }

    /// The CPUs of this rank: those of the process, shared among the ranks of the node.
    fn cpus(&self) -> usize {
        let usable = usable_cpus();
        share_of_cpus(usable, machine_cpus(), self.world.local_rank, self.world.local_size)
    }

    /// Resolves the defaults. `batch_bytes` is the size of one batch's arrays; `network` says whether the data is on a network
    /// file system.
    pub(super) fn settle(&self, batch: usize, batch_bytes: u64, network: bool) -> Result<Settled> {
        let cpus = self.cpus();
        let left = if self.feeds_device { left_for_training(cpus) } else { 0 };
        let threads = self.threads.unwrap_or(cpus - left);
        let low = if self.feeds_device { Priority::Low } else { Priority::Normal };
        let priority = self.priority.unwrap_or(low);
        let io_threads =
            self.io_threads.unwrap_or(if network { NETWORK_THREADS } else { threads.clamp(2, 8) });
        // Enough batches in progress that no worker waits for the tail of one, plus one to hand out.
        let busy = 2 + (2 * threads).div_ceil(batch.max(1));
        // Small batches are made several at a time: waking a thread for each would cost more than making it.
        let small = (SMALL / batch_bytes.max(1)).min(8) as usize;
        let mut prefetch = self.prefetch.unwrap_or(busy.max(3).max(small));
        for (name, n) in [("threads", threads), ("io_threads", io_threads), ("prefetch", prefetch)] {
            if n == 0 || n > 4096 {
                return Err(Error::argument(format!("{name} must be 1 to 4096, got {n}")));
            }
        }
        let mut ahead_bytes = AHEAD;
        if let Some(memory) = self.memory {
            ahead_bytes = (memory / 4).min(AHEAD * 4);
            // The batch that the consumer holds while it waits for the next counts too.
            let fit = (memory - ahead_bytes) / batch_bytes.max(1);
            if fit < 3 {
                return Err(Error::argument(format!(
                    "memory of {memory} bytes is too little: three batches of {batch_bytes} bytes and their look-ahead \
                     need {}; lower the batch size or raise memory",
                    batch_bytes * 4
                )));
            }
            prefetch = prefetch.min(fit as usize - 1);
        }
        // A sample that takes more than half of it leaves no room for the batch that it belongs to.
        let sample_bytes = self.memory.map_or(DEFAULT_LIMIT, |memory| memory / 2);
        let batch_bytes = self.memory.unwrap_or(4 * DEFAULT_LIMIT);
        Ok(Settled {
            threads,
            io_threads,
            priority,
            cpus,
            network,
            prefetch,
            ahead_bytes,
            sample_bytes,
            batch_bytes,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_batches_get_more_of_them() {
        let many = Options { threads: Some(16), ..Options::default() };
        assert_eq!(many.settle(64, 64 << 20, false).unwrap().prefetch, 3);
        assert_eq!(many.settle(64, 1, false).unwrap().prefetch, 8);
        assert_eq!(many.settle(1, 1, false).unwrap().prefetch, 34);
    }

    #[test]
    fn network_file_systems_get_more_threads() {
        let few = Options { threads: Some(2), ..Options::default() };
        assert_eq!(few.settle(64, 1, false).unwrap().io_threads, 2);
        assert_eq!(few.settle(64, 1, true).unwrap().io_threads, 32);
        let given = Options { io_threads: Some(3), ..Options::default() };
        assert_eq!(given.settle(64, 1, true).unwrap().io_threads, 3);
    }

    #[test]
    fn who_feeds_a_device_makes_room() {
        let plain = Options::default().settle(64, 1, false).unwrap();
        assert_eq!((plain.priority, plain.threads), (Priority::Normal, plain.cpus));
        let feeding = Options { feeds_device: true, ..Options::default() };
        let settled = feeding.settle(64, 1, false).unwrap();
        let left = left_for_training(plain.cpus);
        assert_eq!((settled.priority, settled.threads), (Priority::Low, plain.cpus - left));
        let given = Options { threads: Some(4096), priority: Some(Priority::Normal), ..feeding };
        let settled = given.settle(64, 1, false).unwrap();
        assert_eq!((settled.priority, settled.threads), (Priority::Normal, 4096));
    }

    #[test]
    fn memory_is_a_ceiling() {
        let options = Options { memory: Some(400), ..Options::default() };
        assert_eq!(options.settle(64, 100, false).unwrap().prefetch, 2);
        assert!(options.settle(64, 101, false).unwrap_err().to_string().contains("too little"));
    }

    #[test]
    fn nonsense_is_refused() {
        for bad in [
            Options { threads: Some(0), ..Options::default() },
            Options { prefetch: Some(0), ..Options::default() },
        ] {
            assert!(bad.settle(1, 1, false).is_err());
        }
    }
}
