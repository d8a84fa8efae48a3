//! A proxy between a client and a server of HTTP/1.1, which injects what networks and object stores do: delays, limits,
//! resets, stalls, truncated bodies, errors, wrong ranges, corrupted bytes.
//!
//! What happens to a request is a function of the seed and of the number of the request, so that a run can be repeated.
//! The proxy counts what passes. It listens on loopback addresses only.
//!
//! A thread serves each connection with blocking calls (`session`). A request is drawn its fate (`plan`), goes over a kept
//! connection to the server (`server`), and its body comes back through a pipe of the kernel (`flow`, `sys`), which costs
//! about 0.2 core-seconds per GB.
//!
//! ```no_run
//! # use infeed_testkit::proxy::{Faults, Options, Proxy};
//! let faults = Faults { latency_ms: 30.0, resets: 0.01, ..Faults::default() };
//! let proxy = Proxy::start(Options::new("127.0.0.1:9000").faults(faults))?;
//! let url = format!("http://127.0.0.1:{}/bucket/key", proxy.port());
//! // ... a client reads from `url` ...
//! assert_eq!(proxy.stats().requests, 1);
//! # Ok::<(), infeed_core::Error>(())
//! ```
//!
//! Other processes ask it over HTTP: `GET /__proxy/stats`, `POST /__proxy/reset`, and `POST /__proxy/faults` with [`Faults`] as
//! JSON, which take the place of those before.

mod config;
mod control;
mod counters;
mod flow;
mod head;
mod life;
mod options;
mod pace;
mod plan;
mod server;
mod session;
mod sys;
mod wire;

#[cfg(test)]
mod tests;

pub use counters::Stats;
pub use options::{Address, Faults, Options, Stalls, Tail};

use config::Shared;
use infeed_core::{Error, Result};
use life::Life;
use server::Server;
use std::{
    net::{SocketAddr, TcpListener, TcpStream},
    sync::Arc,
    thread::{Builder, JoinHandle},
    time::Duration,
};

/// Stack of a thread: it only moves bytes that lie elsewhere.
const STACK: usize = 256 << 10;

/// A running proxy. It ends when it is dropped, with all its connections.
#[derive(Debug)]
pub struct Proxy {
    shared: Arc<Shared>,
    address: SocketAddr,
    listener: Option<JoinHandle<()>>,
}

impl Proxy {
    /// Starts a proxy.
    pub fn start(options: Options) -> Result<Self> {
        let server = options.checked()?;
        let listen = |e| Error::io("listen on", options.listen.to_string(), e);
        let listener = TcpListener::bind(options.listen).map_err(listen)?;
        let address = listener.local_addr().map_err(listen)?;
        let life = Arc::new(Life::default());
        let shared = Shared::new(Server::new(server, Arc::clone(&life)), life, options.faults);
        let shared = Arc::new(shared);
        let own = Arc::clone(&shared);
        let run = move || accept(&own, &listener);
        let thread = Builder::new().name("proxy".to_owned()).stack_size(STACK).spawn(run).map_err(listen)?;
        Ok(Proxy { shared, address, listener: Some(thread) })
    }

    /// The port it listens on.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// What has passed.
    pub fn stats(&self) -> Stats {
        self.shared.counters.stats()
    }

    /// Counts requests, bytes and faults anew.
    pub fn reset(&self) {
        self.shared.reset();
    }

    /// Injects these faults from now on instead of those before.
    pub fn set(&self, faults: Faults) -> Result<()> {
        faults.check()?;
        self.shared.set(faults);
        Ok(())
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.shared.life.end();
        // `accept` looks at the end only when somebody comes.
        let woken = TcpStream::connect_timeout(&self.address, Duration::from_secs(1)).is_ok();
        if let (true, Some(listener)) = (woken, self.listener.take()) {
            let _ = listener.join();
        }
    }
}

fn accept(shared: &Arc<Shared>, listener: &TcpListener) {
    loop {
        let accepted = listener.accept();
        if shared.life.ended() {
            return;
        }
        let Ok((socket, _)) = accepted else {
            // Most likely out of descriptors: others must end first.
            std::thread::sleep(Duration::from_millis(10));
            continue;
        };
        shared.counters.connection();
        let (own, thread, socket) = (Arc::clone(shared), shared.life.thread(), shared.life.socket(socket));
        let serve = move || {
            let _thread = thread;
            session::serve(&own, socket);
        };
        // If it cannot be started, the socket is dropped with the closure: the client sees a closed connection.
        let _ = Builder::new().name("proxy client".to_owned()).stack_size(STACK).spawn(serve);
    }
}
