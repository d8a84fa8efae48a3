//! Buffered input that counts its bytes and can be cancelled.

use super::sys;
use infeed_core::Shard;
use std::{
    fs::File,
    io::{self, ErrorKind, Read},
    os::fd::AsFd,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

/// Size of one read. Network file systems need large ones, and decompressors do not mind.
const PIECE: usize = 1 << 20;
/// How long a wait for data may take before the stop flag is checked again.
pub(super) const PATIENCE: Duration = Duration::from_millis(50);

/// A stop flag, set when the rows are no longer wanted.
#[derive(Debug, Clone, Default)]
pub(super) struct Stop(Arc<AtomicBool>);

impl Stop {
    pub(super) fn set(&self) {
        self.0.store(true, Ordering::Release);
    }

    /// Fails once the flag is set. The error is never seen: its only reader is gone.
    pub(super) fn check(&self) -> io::Result<()> {
        if self.0.load(Ordering::Acquire) { Err(io::Error::other("no longer wanted")) } else { Ok(()) }
    }
}

/// A reader with a large buffer that knows its offset.
pub(super) struct Input {
    inner: Box<dyn Read + Send>,
    stop: Stop,
    buffer: Box<[u8]>,
    start: usize,
    end: usize,
    /// Bytes handed out.
    passed: u64,
    /// Whether a read has reached the end of the data.
    ended: bool,
    /// The object whose bytes these are, if they are all of it.
    shard: Option<Shard>,
}

impl Input {
    pub(super) fn new(inner: Box<dyn Read + Send>, stop: Stop) -> Self {
        let buffer = vec![0; PIECE].into_boxed_slice();
        Input { inner, stop, buffer, start: 0, end: 0, passed: 0, ended: false, shard: None }
    }

    /// The same bytes, known to be an object.
    pub(super) fn of(self, shard: Option<Shard>) -> Self {
        Input { shard, ..self }
    }

    /// Returns the object whose bytes these are, if they are all of it.
    pub(super) fn shard(&self) -> Option<&Shard> {
        self.shard.as_ref()
    }

    /// Returns the offset of the next byte.
    pub(super) fn offset(&self) -> u64 {
        self.passed
    }

    /// Whether a read has reached the end of the data.
    pub(super) fn ended(&self) -> bool {
        self.ended
    }

    /// Returns the next bytes: at least `wanted` if there are that many.
    pub(super) fn peek(&mut self, wanted: usize) -> io::Result<&[u8]> {
        debug_assert!(wanted <= PIECE);
        if self.start + wanted > PIECE {
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        while self.end - self.start < wanted {
            let got = again(|| self.inner.read(&mut self.buffer[self.end..]))?;
            if got == 0 {
                break;
            }
            self.end += got;
        }
        Ok(&self.buffer[self.start..self.end])
    }

    /// Returns some next bytes; empty only at the end.
    pub(super) fn fill(&mut self) -> io::Result<&[u8]> {
        self.stop.check()?;
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
            self.peek(1)?;
            self.ended |= self.end == 0;
        }
        Ok(&self.buffer[self.start..self.end])
    }

    /// Consumes bytes that [`Input::fill`] has returned.
    pub(super) fn consume(&mut self, bytes: usize) {
        self.start += bytes;
        self.passed += bytes as u64;
    }
}

impl Read for Input {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let got = if self.start == self.end && out.len() >= PIECE {
            self.stop.check()?;
            let got = again(|| self.inner.read(out))?;
            self.ended |= got == 0;
            self.passed += got as u64;
            got
        } else {
            let bytes = self.fill()?;
            let got = bytes.len().min(out.len());
            out[..got].copy_from_slice(&bytes[..got]);
            self.consume(got);
            got
        };
        Ok(got)
    }
}

/// Retries reads that a signal interrupted.
fn again(mut read: impl FnMut() -> io::Result<usize>) -> io::Result<usize> {
    loop {
        match read() {
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

/// Standard input or a named pipe: a read may block for ever, and must end when the rows are no longer wanted.
#[derive(Debug)]
pub(super) struct Patient {
    pub(super) file: File,
    pub(super) stop: Stop,
}

impl Read for Patient {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            self.stop.check()?;
            if sys::readable([Some(self.file.as_fd()), None], PATIENCE)?[0] {
                match self.file.read(out) {
                    // Another process reads from it too.
                    Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
                    other => return other,
                }
            }
        }
    }
}
