//! Trying again what can succeed a moment later.
//!
//! Network file systems, object stores and busy disks fail now and then. A read that fails so is not a bad sample: it is tried again,
//! with growing pauses. What still fails is an error of the storage, which no `on_error` policy leaves out silently.

use infeed_core::{Error, Result, Shard, Store, signals};
use std::{
    io::{self, Read},
    sync::Arc,
    time::Duration,
};

/// Pauses between the tries. The sum, about ten seconds, outlasts a server that restarts a service; the first ones are short
/// because most faults are gone at once.
const PAUSES: [u64; 9] = [1, 5, 25, 100, 400, 1000, 2000, 3000, 3500];

/// Runs `ask` until it succeeds, fails for good, or was tried often enough. The last error says how often.
pub(crate) fn retry<T>(mut ask: impl FnMut() -> Result<T>) -> Result<T> {
    for pause in PAUSES {
        match ask() {
            Err(e) if e.is_transient() => {
                if !signals::pause(Duration::from_millis(pause)) {
                    return Err(e);
                }
                signals::count_retry();
            }
            other => return other,
        }
    }
    ask().map_err(|e| match e {
        Error::Io { doing, path, source } if source.raw_os_error().is_none() => {
            let what = format!("{source} (tried {} times)", PAUSES.len() + 1);
            Error::Io { doing, path, source: Arc::new(io::Error::new(source.kind(), what)) }
        }
        other => other,
    })
}

/// A forward stream that is opened again, where it stopped, after a fault that passes.
pub(super) struct RetryingStream {
    store: Arc<dyn Store>,
    shard: Shard,
    at: u64,
    inner: Box<dyn Read + Send>,
}

impl RetryingStream {
    /// A stream from `at` on; nothing where the store has no streams of its own.
    pub(super) fn open(store: &Arc<dyn Store>, shard: &Shard, at: u64) -> Result<Option<Self>> {
        let Some(inner) = retry(|| store.stream(shard, at))? else { return Ok(None) };
        Ok(Some(RetryingStream { store: Arc::clone(store), shard: shard.clone(), at, inner }))
    }
}

impl Read for RetryingStream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut fresh = true;
        let n = retry(|| {
            if !std::mem::take(&mut fresh) {
                let lost = || Error::Internal { what: "a store no longer has streams".to_owned() };
                self.inner = self.store.stream(&self.shard, self.at)?.ok_or_else(lost)?;
            }
            let n = self.inner.read(buffer).map_err(|e| Error::io("read", &*self.shard.name, e))?;
            if n == 0 && !buffer.is_empty() && self.at < self.shard.size {
                let what = format!("it ended at byte {} of {}", self.at, self.shard.size);
                let e = io::Error::new(io::ErrorKind::UnexpectedEof, what);
                return Err(Error::io("read", &*self.shard.name, e));
            }
            Ok(n)
        });
        let n = n.map_err(|e| match e {
            Error::Io { source, .. } => io::Error::new(source.kind(), source.to_string()),
            other => io::Error::other(other.to_string()),
        })?;
        self.at += n as u64;
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(kind: io::ErrorKind) -> Error {
        Error::io("read", "x", io::Error::new(kind, "fault"))
    }

    #[test]
    fn faults_that_pass_are_tried_again() {
        let mut left = 3;
        let got = retry(|| {
            left -= 1;
            if left == 0 { Ok(7) } else { Err(fault(io::ErrorKind::ConnectionReset)) }
        });
        assert_eq!((got.unwrap(), left), (7, 0));
        let eio = || Error::io("read", "x", io::Error::from_raw_os_error(5));
        assert!(eio().is_transient() && eio().is_storage());
    }

    #[test]
    fn faults_that_stay_are_not() {
        let mut asked = 0;
        let lost: Result<()> = retry(|| {
            asked += 1;
            Err(fault(io::ErrorKind::PermissionDenied))
        });
        assert!(!lost.unwrap_err().is_storage());
        assert_eq!(asked, 1);
    }

    #[test]
    fn a_cancelled_run_gives_up() {
        let signals = Arc::new(signals::Signals::default());
        let _entered = signals::enter(&signals);
        signals.cancel();
        let mut asked = 0;
        let lost: Result<()> = retry(|| {
            asked += 1;
            Err(fault(io::ErrorKind::TimedOut))
        });
        assert!(lost.unwrap_err().is_storage());
        assert_eq!(asked, 1);
    }
}
