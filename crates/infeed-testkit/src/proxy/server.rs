//! The side of the server: connections that are kept, requests and the heads of their answers.

use super::{
    flow::upload,
    head::{Framing, Head},
    life::Life,
    wire::Wire,
};
use std::{
    io::{self, Write},
    net::{SocketAddr, TcpStream},
    ops::RangeInclusive,
    sync::{Arc, Mutex, PoisonError},
};

/// The server that a proxy stands before.
#[derive(Debug)]
pub(super) struct Server {
    address: SocketAddr,
    life: Arc<Life>,
    idle: Mutex<Vec<Wire>>,
}

/// The answer of a server: its head, and the connection with its body.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) head: Head,
    pub(super) status: u16,
    pub(super) framing: Framing,
    pub(super) wire: Wire,
}

impl Server {
    pub(super) fn new(address: SocketAddr, life: Arc<Life>) -> Self {
        Server { address, life, idle: Mutex::default() }
    }

    /// Sends a request without a body.
    pub(super) fn ask(&self, request: &Head) -> io::Result<Answer> {
        // A connection that was kept may have been closed meanwhile; nothing tells until it is used.
        let kept = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        if let Some(answer) = kept.and_then(|wire| answer(wire, request, |_| Ok(())).ok()) {
            return Ok(answer);
        }
        answer(self.connect()?, request, |_| Ok(()))
    }

    /// Sends a request with a body, which can be sent once: over a new connection.
    pub(super) fn send(&self, request: &Head, body: &mut Wire, framing: Framing) -> io::Result<Answer> {
        answer(self.connect()?, request, |socket| upload(body, framing, Some(socket)))
    }

    /// Sends the request with a range that is as long and starts elsewhere. The head of the answer claims the range
    /// asked for. `None` if the server does not give such a range.
    pub(super) fn ask_elsewhere(&self, request: &Head) -> io::Result<Option<Answer>> {
        let Some((name, asked)) = request.range() else { return Ok(None) };
        let Some(other) = elsewhere(&asked) else { return Ok(None) };
        let mut changed = request.clone();
        changed.set(name, format!("bytes={}-{}", other.start(), other.end()));
        let mut answer = self.ask(&changed)?;
        let claim = match answer.head.content_range() {
            Some((range, size)) if answer.status == 206 && range == other => {
                format!("bytes {}-{}{size}", asked.start(), asked.end())
            }
            _ => return Ok(None),
        };
        answer.head.set("Content-Range", claim);
        Ok(Some(answer))
    }

    /// Sends the request without its range. `None` if the server does not answer with the whole object.
    pub(super) fn ask_whole(&self, request: &Head) -> io::Result<Option<Answer>> {
        let mut changed = request.clone();
        changed.remove("Range");
        changed.remove("x-ms-range");
        Ok(Some(self.ask(&changed)?).filter(|answer| answer.status == 200))
    }

    /// Keeps the connection of an answer whose body has been read.
    pub(super) fn keep(&self, answer: Answer) {
        let alive = answer.head.status().is_ok_and(|(version, _)| answer.head.keeps_alive(version));
        if alive && answer.framing != Framing::UntilClose && answer.wire.buffered().is_empty() {
            self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(answer.wire);
        }
    }

    fn connect(&self) -> io::Result<Wire> {
        TcpStream::connect(self.address).map(|socket| Wire::new(self.life.socket(socket)))
    }
}

fn answer(
    mut wire: Wire,
    request: &Head,
    body: impl FnOnce(&TcpStream) -> io::Result<()>,
) -> io::Result<Answer> {
    (&*wire.socket).write_all(&request.bytes())?;
    body(&wire.socket)?;
    loop {
        let head = wire.head()?.ok_or(io::ErrorKind::UnexpectedEof)?;
        let (_, status) = head.status()?;
        // 1xx: the answer itself is still to come.
        if status >= 200 {
            let framing = head.answer_framing(request.request()?.0)?;
            return Ok(Answer { head, status, framing, wire });
        }
    }
}

/// Another range of the same length: before this one if there is room, since the end of the object is not known.
pub(super) fn elsewhere(range: &RangeInclusive<u64>) -> Option<RangeInclusive<u64>> {
    let (first, last) = (*range.start(), *range.end());
    let length = (last - first).checked_add(1)?;
    match first.min(length) {
        0 => Some(last.checked_add(1)?..=last.checked_add(length)?),
        back => Some(first - back..=last - back),
    }
}
