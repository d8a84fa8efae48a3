//! The way of a body to the client, with what happens to it on the way.

use super::{
    counters::Counters, head::Framing, head::invalid, life::Life, pace::Pace, plan::Fault, sys::Pipe,
    wire::Wire,
};
use std::{
    io::{self, Write},
    net::TcpStream,
    time::{Duration, Instant},
};

/// Bytes that are sent together with what comes before them.
const SMALL: usize = 16 << 10;
/// Less than this is copied: a pipe would cost more.
const WORTH_A_PIPE: u64 = 32 << 10;
/// Where faults happen in bodies whose length is not known: within so many bytes.
const UNKNOWN_LENGTH: f64 = 1024.0;

/// Why a connection ends.
#[derive(Debug)]
pub(super) enum Stop {
    /// With a reset.
    Reset,
    /// In order.
    Close,
}

impl From<io::Error> for Stop {
    // The other side is gone or does not speak HTTP: nothing could be told to it.
    fn from(_: io::Error) -> Self {
        Stop::Close
    }
}

/// A fault that waits for its place in the body.
#[derive(Debug)]
pub(super) struct Ambush {
    pub(super) fault: Fault,
    pub(super) at: u64,
    pub(super) stall: Duration,
}

impl Ambush {
    /// A fault at a place that is given as a share of the body.
    pub(super) fn new(fault: Fault, framing: Framing, place: f64, stall: Duration) -> Self {
        let within = if let Framing::Length(length) = framing { length as f64 } else { UNKNOWN_LENGTH };
        let at = (place * within) as u64;
        // Of large lengths the product may be rounded up to the end, where nothing is left to hit.
        let at = if let Framing::Length(length) = framing { at.min(length.saturating_sub(1)) } else { at };
        Ambush { fault, at, stall }
    }
}

/// One body on its way.
#[derive(Debug)]
pub(super) struct Flow<'a> {
    pub(super) to: &'a TcpStream,
    /// Links that the bytes go over.
    pub(super) paces: [Option<&'a Pace>; 2],
    pub(super) counters: &'a Counters,
    pub(super) life: &'a Life,
    /// Made for the first large body.
    pub(super) pipe: &'a mut Option<Pipe>,
    pub(super) ambush: Option<Ambush>,
    /// What is to be sent with the next bytes.
    pub(super) pending: Vec<u8>,
    /// How much of the body has passed.
    pub(super) position: u64,
}

impl Flow<'_> {
    /// Sends the whole body, and what was pending before it.
    pub(super) fn run(mut self, from: &mut Wire, framing: Framing) -> Result<(), Stop> {
        match framing {
            Framing::Length(length) => {
                if self.payload(from, length)? < length {
                    // The server broke off: what the client sees is the same.
                    self.flush()?;
                    return Err(Stop::Close);
                }
            }
            Framing::Chunked => self.chunks(from)?,
            Framing::UntilClose => {
                self.payload(from, u64::MAX)?;
                self.spring_late(from)?;
            }
        }
        Ok(self.flush()?)
    }

    fn chunks(&mut self, from: &mut Wire) -> Result<(), Stop> {
        loop {
            let line = from.line()?;
            let size = chunk_size(&line)?;
            if size == 0 {
                self.spring_late(from)?;
            }
            self.pending.extend([&line[..], b"\r\n"].concat());
            if size == 0 {
                break;
            }
            if self.payload(from, size)? < size {
                self.flush()?;
                return Err(Stop::Close);
            }
            if !from.line()?.is_empty() {
                return Err(invalid("a chunk that is longer than it says").into());
            }
            self.pending.extend(b"\r\n");
        }
        // Fields may follow the last chunk; an empty line ends them.
        loop {
            let line = from.line()?;
            self.pending.extend([&line[..], b"\r\n"].concat());
            if line.is_empty() {
                return Ok(());
            }
        }
    }

    /// Sends `count` bytes of the body. Returns how many came: fewer if the server closed the connection.
    fn payload(&mut self, from: &mut Wire, count: u64) -> Result<u64, Stop> {
        let mut sent = 0;
        while sent < count {
            let mut part = count - sent;
            if let Some(ambush) = &self.ambush {
                match ambush.at.checked_sub(self.position) {
                    None | Some(0) => {
                        let passed = self.position;
                        self.spring(from)?;
                        sent += self.position - passed;
                        continue;
                    }
                    Some(before) => part = part.min(before),
                }
            }
            for pace in self.paces.into_iter().flatten() {
                part = part.min(pace.step());
            }
            match self.shift(from, part)? {
                0 => break,
                moved => {
                    self.position += moved;
                    sent += moved;
                }
            }
        }
        Ok(sent)
    }

    /// Sends some bytes, at most `most`. Returns 0 at the end.
    fn shift(&mut self, from: &mut Wire, most: u64) -> Result<u64, Stop> {
        if from.buffered().is_empty() {
            if most >= WORTH_A_PIPE && self.pipe.is_none() {
                *self.pipe = Pipe::new().ok();
            }
            if most >= WORTH_A_PIPE && self.pipe.is_some() {
                return self.through_pipe(from, most);
            }
            // What is pending must not wait for a server that takes its time.
            self.flush()?;
            if !from.fill()? {
                return Ok(0);
            }
        }
        let count = from.buffered().len().min(usize::try_from(most).unwrap_or(usize::MAX));
        self.wait(count as u64)?;
        // Before they are sent: who has received a body and asks for the counters must find it there.
        self.counters.bytes(count as u64);
        if count > SMALL {
            self.flush()?;
            self.to.write_all(&from.buffered()[..count])?;
        } else {
            self.pending.extend(&from.buffered()[..count]);
            if self.pending.len() > SMALL {
                self.flush()?;
            }
        }
        from.consume(count);
        Ok(count as u64)
    }

    fn through_pipe(&mut self, from: &Wire, most: u64) -> Result<u64, Stop> {
        self.flush()?;
        let Some(pipe) = self.pipe.as_mut() else { return Ok(0) };
        let moved = pipe.take(&from.socket, most)?;
        self.wait(moved)?;
        self.counters.bytes(moved);
        if let Some(pipe) = self.pipe.as_mut() {
            pipe.give(self.to, moved)?;
        }
        Ok(moved)
    }

    /// Waits until the links have carried `count` more bytes.
    fn wait(&mut self, count: u64) -> Result<(), Stop> {
        let now = Instant::now();
        let waits = self.paces.into_iter().flatten().map(|pace| pace.send(count, now));
        let longest = waits.max().unwrap_or_default();
        if !longest.is_zero() {
            self.flush()?;
            self.life.sleep(longest);
        }
        Ok(())
    }

    /// The fault happens here.
    fn spring(&mut self, from: &mut Wire) -> Result<(), Stop> {
        let Some(ambush) = self.ambush.take() else { return Ok(()) };
        if ambush.fault == Fault::Corrupt {
            if from.buffered().is_empty() {
                from.fill()?;
            }
            if let Some(byte) = from.buffered().first() {
                self.pending.push(byte ^ 0x10);
                from.consume(1);
                self.position += 1;
                self.counters.bytes(1);
                self.counters.fault(ambush.fault);
            }
            return Ok(());
        }
        self.flush()?;
        self.counters.fault(ambush.fault);
        match ambush.fault {
            Fault::Reset => Err(Stop::Reset),
            Fault::Truncate => Err(Stop::Close),
            _ => {
                self.life.sleep(ambush.stall);
                Ok(())
            }
        }
    }

    /// A body of unknown length ended before the fault's place: it happens at the end. No byte is left to corrupt.
    fn spring_late(&mut self, from: &mut Wire) -> Result<(), Stop> {
        match &self.ambush {
            Some(ambush) if ambush.fault != Fault::Corrupt => self.spring(from),
            Some(_) => {
                self.counters.missed();
                Ok(())
            }
            None => Ok(()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        if !self.pending.is_empty() {
            self.to.write_all(&self.pending)?;
            self.pending.clear();
        }
        Ok(())
    }
}

/// Sends the body of a request on to the server, or nowhere.
pub(super) fn upload(from: &mut Wire, framing: Framing, to: Option<&TcpStream>) -> io::Result<()> {
    let send = |bytes: &[u8]| to.map_or(Ok(()), |mut to| to.write_all(bytes));
    let copy = |from: &mut Wire, mut left: u64| {
        while left > 0 {
            if from.buffered().is_empty() && !from.fill()? {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let count = from.buffered().len().min(usize::try_from(left).unwrap_or(usize::MAX));
            send(&from.buffered()[..count])?;
            from.consume(count);
            left -= count as u64;
        }
        Ok(())
    };
    let Framing::Chunked = framing else {
        let Framing::Length(length) = framing else { return Err(invalid("a request without an end")) };
        return copy(from, length);
    };
    loop {
        let line = from.line()?;
        send(&[&line[..], b"\r\n"].concat())?;
        match chunk_size(&line)? {
            0 => break,
            size => copy(from, size)?,
        }
        send(&[&from.line()?[..], b"\r\n"].concat())?;
    }
    loop {
        let line = from.line()?;
        send(&[&line[..], b"\r\n"].concat())?;
        if line.is_empty() {
            return Ok(());
        }
    }
}

/// The length of a chunk; extensions may follow it.
fn chunk_size(line: &[u8]) -> io::Result<u64> {
    let digits = line.split(|byte| *byte == b';').next().unwrap_or_default();
    let text = std::str::from_utf8(digits).map_err(|_| invalid("the length of a chunk is no number"))?;
    u64::from_str_radix(text.trim(), 16).map_err(|_| invalid("the length of a chunk is no number"))
}
