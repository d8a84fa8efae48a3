//! The threads of the engine beside those of the training process.
//!
//! A training step is launched by one thread of the process. When every core decodes, that thread waits for its turn, and
//! the device waits for it. So a loader that feeds a device leaves a few CPUs alone, and its threads have a lower priority:
//! a training thread that wakes up gets a core at once.

use infeed_core::{Error, Result};
use serde::Serialize;

/// How much lower the priority is: a thread of the training process gets about ten times the share of a core.
#[cfg(target_os = "linux")]
const NICER: i32 = 10;

/// The lowest priority that Linux has.
#[cfg(target_os = "linux")]
const NICEST: i32 = 19;

/// The priority of the engine's threads.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Priority {
    /// That of the process.
    #[default]
    Normal,
    /// Below that of the process.
    Low,
}

impl Priority {
    /// Reads an option.
    pub fn parse(text: &str) -> Result<Self> {
        match text {
            "normal" => Ok(Priority::Normal),
            "low" => Ok(Priority::Low),
            other => Err(Error::argument(format!("priority must be \"normal\" or \"low\", got {other:?}"))),
        }
    }

    /// Its name as an option.
    pub fn name(self) -> &'static str {
        match self {
            Priority::Normal => "normal",
            Priority::Low => "low",
        }
    }

    /// Gives it to the calling thread. Threads that this one starts inherit it.
    pub(super) fn enter(self) {
        #[cfg(target_os = "linux")]
        if self == Priority::Low {
            // On Linux the priority of "this process" is that of the calling thread. A system that refuses leaves it as it is:
            // the threads then do the same work at the priority of the process.
            let now = rustix::process::getpriority_process(None).unwrap_or(0);
            let _ = rustix::process::setpriority_process(None, (now + NICER).min(NICEST));
        }
    }
}

/// How many CPUs of a rank are left to the training process: one for the thread that launches the work, one more for what
/// feeds the loader's batches to it. Few CPUs are not divided: there the priority alone has to do.
pub fn left_for_training(cpus: usize) -> usize {
    match cpus {
        0..=3 => 0,
        4..=7 => 1,
        _ => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for priority in [Priority::Normal, Priority::Low] {
            assert_eq!(Priority::parse(priority.name()).unwrap(), priority);
        }
        let error = Priority::parse("high").unwrap_err().to_string();
        assert!(error.contains("\"normal\" or \"low\""), "{error}");
    }

    #[test]
    fn some_cpus_always_decode() {
        for cpus in 1..=256 {
            let left = left_for_training(cpus);
            assert!(left < cpus && left * 4 <= cpus, "{left} of {cpus}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn only_the_calling_thread_is_lowered() {
        let now = || rustix::process::getpriority_process(None).unwrap();
        let before = now();
        let (lowered, child) = std::thread::spawn(move || {
            Priority::Low.enter();
            (now(), std::thread::spawn(now).join().unwrap())
        })
        .join()
        .unwrap();
        assert_eq!(lowered, (before + NICER).min(NICEST));
        assert_eq!(child, lowered, "threads that it starts inherit it");
        assert_eq!(now(), before);
    }
}
