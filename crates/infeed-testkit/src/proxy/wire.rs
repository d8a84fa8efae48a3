//! A connection that is read in heads, lines and bodies.

use super::{
    head::{Head, invalid},
    life::Socket,
};
use std::io::{self, Read};

/// What is read at once.
const BUFFER: usize = 64 << 10;
/// The largest head. Servers allow 8 to 64 KiB.
const LARGEST_HEAD: usize = 64 << 10;
/// The longest line between chunks.
const LONGEST_LINE: usize = 4096;

/// A socket, and what was read from it but not used yet.
#[derive(Debug)]
pub(super) struct Wire {
    pub(super) socket: Socket,
    buffer: Vec<u8>,
    used: usize,
}

impl Wire {
    pub(super) fn new(socket: Socket) -> Self {
        Wire { socket, buffer: Vec::new(), used: 0 }
    }

    /// What is there already.
    pub(super) fn buffered(&self) -> &[u8] {
        &self.buffer[self.used..]
    }

    /// Marks bytes of the buffer as used.
    pub(super) fn consume(&mut self, count: usize) {
        self.used = (self.used + count).min(self.buffer.len());
    }

    /// Reads more into the buffer. Returns whether there was more.
    pub(super) fn fill(&mut self) -> io::Result<bool> {
        self.buffer.drain(..self.used);
        self.used = 0;
        let old = self.buffer.len();
        self.buffer.resize(old + BUFFER, 0);
        let read = loop {
            match (&*self.socket).read(&mut self.buffer[old..]) {
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                other => break other,
            }
        };
        self.buffer.truncate(old + *read.as_ref().unwrap_or(&0));
        Ok(read? > 0)
    }

    /// Reads a head. `None` if the other side closed the connection before one.
    pub(super) fn head(&mut self) -> io::Result<Option<Head>> {
        match self.until(b"\r\n\r\n", LARGEST_HEAD)? {
            Some(bytes) => Head::parse(&bytes).map(Some),
            None => Ok(None),
        }
    }

    /// Reads a line, and returns it without its end.
    pub(super) fn line(&mut self) -> io::Result<Vec<u8>> {
        self.until(b"\r\n", LONGEST_LINE)?.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }

    fn until(&mut self, end: &[u8], most: usize) -> io::Result<Option<Vec<u8>>> {
        let mut searched = 0;
        loop {
            let have = self.buffered();
            if let Some(at) = have[searched..].windows(end.len()).position(|window| window == end) {
                let found = have[..searched + at].to_vec();
                self.consume(found.len() + end.len());
                return Ok(Some(found));
            }
            if have.len() > most {
                return Err(invalid("a head or line that is too long"));
            }
            searched = have.len().saturating_sub(end.len() - 1);
            let empty = have.is_empty();
            if !self.fill()? {
                return if empty { Ok(None) } else { Err(io::ErrorKind::UnexpectedEof.into()) };
            }
        }
    }
}
