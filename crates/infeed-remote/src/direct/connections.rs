//! Connections to hosts, made and kept.

use http::uri::Authority;
use infeed_core::Hold;
use std::{
    collections::HashMap,
    io::ErrorKind,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};
use tokio::{net::TcpStream, time::timeout};

/// How long a connection is kept without a use. Many servers close one after a minute.
const KEPT: Duration = Duration::from_secs(50);
/// How long it may take to be connected. A host can have addresses that do not answer: the library tries several at a time.
const CONNECT: Duration = Duration::from_secs(2);
/// How long a host is left to the library after that.
const AVOIDED: Duration = Duration::from_secs(60);

/// Connections that nobody uses now, by host and port.
#[derive(Debug)]
pub(super) struct Connections {
    idle: Mutex<HashMap<Box<str>, Vec<Idle>>>,
    /// Hosts that could not be reached, and when.
    unreached: Mutex<HashMap<Box<str>, Instant>>,
    most: usize,
}

#[derive(Debug)]
struct Idle {
    stream: TcpStream,
    since: Instant,
}

impl Connections {
    pub(super) fn new(most: usize) -> Arc<Self> {
        Arc::new(Connections { idle: Mutex::default(), unreached: Mutex::default(), most })
    }

    /// Makes a connection. Why there is none will be told by those who try next.
    pub(super) async fn connect(&self, host: &Authority) -> Option<TcpStream> {
        if self.unreached.hold().get(host.as_str()).is_some_and(|since| since.elapsed() < AVOIDED) {
            return None;
        }
        let made = connect(host).await;
        if made.is_none() {
            self.unreached.hold().insert(host.as_str().into(), Instant::now());
        }
        made
    }

    /// Takes a connection that was not closed yet: the one used last, which is the least likely to be.
    pub(super) fn kept(&self, host: &str) -> Option<TcpStream> {
        loop {
            let Idle { stream, since } = self.idle.hold().get_mut(host)?.pop()?;
            // A server has nothing to say on a connection that waits, but that it is over.
            let quiet = stream.try_read(&mut [0]).is_err_and(|e| e.kind() == ErrorKind::WouldBlock);
            if quiet && since.elapsed() < KEPT {
                return Some(stream);
            }
        }
    }

    pub(super) fn keep(&self, host: &str, stream: TcpStream) {
        let mut idle = self.idle.hold();
        let mine = match idle.get_mut(host) {
            Some(mine) => mine,
            None => idle.entry(host.into()).or_default(),
        };
        // Old ones lie at the front.
        let old = mine.iter().take_while(|idle| idle.since.elapsed() >= KEPT).count();
        mine.drain(..old);
        if mine.len() < self.most {
            mine.push(Idle { stream, since: Instant::now() });
        }
    }
}

async fn connect(host: &Authority) -> Option<TcpStream> {
    let name = host.host().trim_start_matches('[').trim_end_matches(']');
    let port = host.port_u16().unwrap_or(80);
    let stream = timeout(CONNECT, TcpStream::connect((name, port))).await.ok()?.ok()?;
    // A request is one write, which must not wait for the answer to the last.
    stream.set_nodelay(true).ok()?;
    Some(stream)
}
