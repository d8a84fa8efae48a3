//! `infeed proxy`: a proxy that injects faults, for tests and benchmarks. It is in the command so that what tests the
//! Python package needs nothing else; nobody else needs it, so it is hidden.

pub(crate) mod args;

use crate::{fault::Fault, interrupt, output, report::Report};
use args::ProxyArgs;
use infeed::Error;
use infeed_testkit::proxy::{Options, Proxy};
use serde_json::json;
use std::{
    io::Read,
    net::Ipv4Addr,
    sync::mpsc::{RecvTimeoutError, channel},
    thread,
    time::Duration,
};

/// Runs the proxy until the end of stdin, if that was asked for, or an interrupt. Then reports what passed.
pub(crate) fn run(args: &ProxyArgs, json: bool) -> Result<Report, Fault> {
    let listen = (Ipv4Addr::LOCALHOST, args.port).into();
    let proxy = Proxy::start(Options { to: args.to.clone(), listen, faults: args.faults() })?;
    if json {
        output::json(&json!({"port": proxy.port()}));
    } else {
        output::text(&proxy.port().to_string());
    }
    let (ended, end) = channel::<()>();
    // Kept when nobody waits for stdin: a channel without a sender would count as ended.
    let mut kept = Some(ended);
    if args.until_eof {
        let ended = kept.take();
        thread::spawn(move || {
            let mut rest = [0; 1024];
            while std::io::stdin().read(&mut rest).is_ok_and(|count| count > 0) {}
            drop(ended);
        });
    }
    while end.recv_timeout(Duration::from_millis(100)) == Err(RecvTimeoutError::Timeout) {
        interrupt::check()?;
    }
    let stats = proxy.stats();
    let text = format!("{} requests, {} bytes", stats.requests, stats.bytes);
    let json = serde_json::to_value(&stats).map_err(|e| Error::Internal { what: e.to_string() })?;
    Ok(Report { text, json })
}
