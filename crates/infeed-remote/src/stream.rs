//! Reading objects from front to back.

use crate::{
    backend::{Cause, Failure},
    fetch::{Fetcher, Object, STALL, pause},
    runtime,
};
use bytes::Bytes;
use infeed_core::{Error, Result};
use std::{
    io::{Error as IoError, Read},
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::{sync::mpsc, time::timeout};

/// Bytes that a stream has on their way, and what it reads at a time.
const AHEAD: u64 = 32 << 20;
const STEP: u64 = 1 << 20;
/// Pieces of a whole object that wait for their reader; the connection waits for it, too.
const PIECES: usize = 64;

/// Reads an object from front to back: in ranges, with some requests ahead, or where the server knows no ranges and the object is
/// too large to lie in memory, from one answer.
pub(crate) struct RemoteStream {
    fetcher: Arc<Fetcher>,
    object: Arc<Object>,
    /// The first byte that is not in `rest` and was not read, and the first that was not announced.
    at: u64,
    announced: u64,
    rest: Bytes,
    whole: Option<mpsc::Receiver<Result<Bytes>>>,
}

impl RemoteStream {
    pub(crate) fn new(fetcher: Arc<Fetcher>, object: Arc<Object>, from: u64) -> Self {
        RemoteStream { fetcher, object, at: from, announced: from, rest: Bytes::new(), whole: None }
    }

    fn next(&mut self) -> Result<Bytes> {
        // A server may turn out to know no ranges when it is asked for the first.
        if self.whole.is_none() && !self.fetcher.is_too_large(&self.object) {
            match self.next_range() {
                Err(_) if self.fetcher.is_too_large(&self.object) => {}
                other => return other,
            }
        }
        self.next_piece()
    }

    fn next_range(&mut self) -> Result<Bytes> {
        let size = self.object.size;
        while self.announced < size.min(self.at + AHEAD) {
            // In steps of one request, so that the first bytes do not wait for the others.
            let end = size.min(self.announced + STEP);
            self.fetcher.ahead(&self.object, std::slice::from_ref(&(self.announced..end)));
            self.announced = end;
        }
        let end = size.min(self.at + STEP);
        let mut read = self.fetcher.read(&self.object, std::slice::from_ref(&(self.at..end)))?;
        self.at = end;
        Ok(read.pop().unwrap_or_default())
    }

    fn next_piece(&mut self) -> Result<Bytes> {
        let mut pieces = match self.whole.take() {
            Some(pieces) => pieces,
            None => {
                let (out, pieces) = mpsc::channel(PIECES);
                let (object, deadline) = (Arc::clone(&self.object), self.fetcher.deadline());
                runtime::handle()?.spawn(send(object, self.at, deadline, out));
                pieces
            }
        };
        // The receiver goes along, because readers never wait in the runtime itself.
        let (pieces, piece) = runtime::wait(async move {
            let piece = pieces.recv().await;
            Ok((pieces, piece))
        })?;
        self.whole = Some(pieces);
        let lost = || Error::Internal { what: "a stream ended before its object".to_owned() };
        let piece = piece.ok_or_else(lost)??;
        self.at += piece.len() as u64;
        Ok(piece)
    }
}

impl Read for RemoteStream {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        while self.rest.is_empty() && self.at < self.object.size {
            self.rest = self.next().map_err(IoError::other)?;
        }
        let len = out.len().min(self.rest.len());
        out[..len].copy_from_slice(&self.rest.split_to(len));
        Ok(len)
    }
}

/// Sends the bytes of an object from `at` on, or the error that ends it.
async fn send(object: Arc<Object>, mut at: u64, deadline: Duration, out: mpsc::Sender<Result<Bytes>>) {
    let (mut tries, mut moved) = (0, Instant::now());
    while at < object.size {
        let before = at;
        let Err(failure) = send_once(&object, &mut at, &out).await else { return };
        if at > before {
            (tries, moved) = (0, Instant::now());
        }
        tries += 1;
        if !failure.passes() || moved.elapsed() >= deadline {
            // Nobody listens any more if the reader is gone.
            let _ = out.send(Err(failure.error("read", &object.url, tries))).await;
            return;
        }
        tokio::time::sleep(pause(tries)).await;
    }
}

/// One answer. What was sent before is skipped: the server cannot be asked for the rest.
async fn send_once(object: &Object, at: &mut u64, out: &mpsc::Sender<Result<Bytes>>) -> Result<(), Failure> {
    let late = |_| Failure::new(Cause::Passing, format!("nothing came for {} s", STALL.as_secs()));
    let asked = object.backend.get(&object.key, 0..object.size, object.tag.as_deref());
    let mut body = timeout(STALL, asked).await.map_err(late)??;
    let mut place = 0;
    while let Some(piece) = timeout(STALL, body.piece()).await.map_err(late)?? {
        let skipped = piece.len().min(usize::try_from(*at - place).unwrap_or(usize::MAX));
        place += piece.len() as u64;
        let fresh = piece.slice(skipped..);
        if place > object.size {
            return Err(Failure::new(Cause::Passing, "more bytes came than the object has"));
        }
        if fresh.is_empty() {
            continue;
        }
        if out.send(Ok(fresh)).await.is_err() {
            return Ok(());
        }
        *at = place;
    }
    if place < object.size {
        let what = format!("the answer ended {} bytes too early", object.size - place);
        return Err(Failure::new(Cause::Passing, what));
    }
    Ok(())
}
