//! The proxy between a tiny server and a tiny client.
#![allow(clippy::unwrap_used)] // helpers of tests are not recognised as tests

mod control;
mod faults;
mod parts;
mod passing;
mod peers;

use super::{Faults, Options, Proxy, Stats};
use peers::{Client, Server};
use std::{thread, time::Duration};

/// A server with a proxy before it, and a client of the proxy.
fn start(faults: Faults) -> (Server, Proxy, Client) {
    let server = Server::start();
    let proxy = Proxy::start(Options::new(format!("127.0.0.1:{}", server.port)).faults(faults)).unwrap();
    let client = Client::new(proxy.port());
    (server, proxy, client)
}

/// The counters when no request is under way: a client may have its answer a moment before the proxy is done with it.
fn settled(proxy: &Proxy) -> Stats {
    loop {
        let stats = proxy.stats();
        if stats.in_flight == 0 {
            return stats;
        }
        thread::sleep(Duration::from_millis(1));
    }
}
