//! What one block may take in memory.

use infeed_core::{Error, Result, memory::readable};
use std::{
    fs,
    sync::{
        OnceLock,
        atomic::{AtomicU64, Ordering},
    },
};

/// The most bytes of a decoded block: as many as `memory=` says, or as this machine has. A block is decoded as a whole, so a
/// larger one cannot be read within `memory=`.
#[derive(Debug)]
pub(crate) struct BlockLimit {
    /// 0 if nothing was said.
    given: AtomicU64,
    machine: u64,
}

impl Default for BlockLimit {
    fn default() -> Self {
        BlockLimit { given: AtomicU64::new(0), machine: machine() }
    }
}

impl BlockLimit {
    /// Sets it; `None` is what this machine has.
    pub(crate) fn set(&self, bytes: Option<u64>) {
        self.given.store(bytes.map_or(0, |bytes| bytes.max(1)), Ordering::Relaxed);
    }

    /// The limit in bytes.
    pub(crate) fn get(&self) -> u64 {
        match self.given.load(Ordering::Relaxed) {
            0 => self.machine,
            bytes => bytes,
        }
    }

    /// Checks the bytes that a block claims to have, before memory is taken for them.
    pub(crate) fn check(&self, bytes: u64) -> Result<()> {
        let limit = self.get();
        if bytes <= limit {
            return Ok(());
        }
        let of = match self.given.load(Ordering::Relaxed) {
            0 => "this machine",
            _ => "memory=",
        };
        Err(Error::sample(format!(
            "it takes {} once it is decoded, more than the {} of {of}; raise memory=, read fewer columns, or write the file \
             with fewer rows at a time",
            readable(bytes),
            readable(limit)
        )))
    }
}

/// Returns the memory of this machine, or of the container that the process runs in; no limit if that is not known.
fn machine() -> u64 {
    static FOUND: OnceLock<u64> = OnceLock::new();
    *FOUND.get_or_init(|| {
        let all = fs::read_to_string("/proc/meminfo").ok().and_then(|text| total(&text));
        let own = fs::read_to_string("/sys/fs/cgroup/memory.max").ok();
        let own = own.and_then(|text| text.trim().parse().ok());
        all.unwrap_or(u64::MAX).min(own.unwrap_or(u64::MAX))
    })
}

/// Finds the line `MemTotal: 16307000 kB`.
fn total(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_blocks_are_refused_in_words() {
        let limit = BlockLimit::default();
        limit.check(1 << 20).unwrap();
        assert_eq!(total("MemTotal:       16307000 kB\nMemFree: 1 kB\n"), Some(16_307_000 << 10));
        if machine() < u64::MAX {
            assert!(limit.check(u64::MAX).unwrap_err().to_string().contains("of this machine"));
        }
        limit.set(Some(200 << 20));
        limit.check(200 << 20).unwrap();
        let text = limit.check(1 << 30).unwrap_err().to_string();
        assert!(text.contains("1.0 GiB") && text.contains("200.0 MiB of memory="), "{text}");
        limit.set(None);
        limit.check(1 << 20).unwrap();
        assert_eq!(limit.get(), machine());
    }
}
