//! Arguments of `infeed proxy`.

use clap::Args;
use infeed_testkit::proxy::{Address, Faults, Stalls, Tail};
use std::{fmt::Display, str::FromStr};

/// Arguments of `infeed proxy`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    infeed proxy --to 127.0.0.1:9000 --latency 30 --tail 0.01:600\n  \
    infeed proxy --to 127.0.0.1:9000 --resets 0.01 --errors 503:0.005 --errors 500:0.001\n  \
    infeed proxy --to 127.0.0.1:9000 --faults '{\"bandwidth\": 1e8}' --until-eof\n\n\
    The first line on stdout is the port. Rates are probabilities per request.\n\
    GET /__proxy/stats counts what passed, POST /__proxy/reset counts anew, and\n\
    POST /__proxy/faults changes the faults (JSON, as in --faults).")]
pub(crate) struct ProxyArgs {
    /// The server, on this machine.
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) to: String,
    /// The port to listen on [default: any that is free].
    #[arg(long, default_value_t = 0, hide_default_value = true)]
    pub(crate) port: u16,
    /// End when stdin ends, thus also when the process that holds the other end dies.
    #[arg(long)]
    pub(crate) until_eof: bool,
    /// All faults as JSON, in place of the arguments below.
    #[arg(long, value_name = "JSON", value_parser = |text: &str| Faults::from_json(text.as_bytes()))]
    faults: Option<Faults>,
    #[command(flatten)]
    single: Single,
}

/// The faults one by one.
#[derive(Debug, Args)]
struct Single {
    /// Which requests are hit.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Milliseconds before every request goes on to the server.
    #[arg(long, default_value_t = 0.0)]
    latency: f64,
    /// A share of requests that take so many milliseconds more.
    #[arg(long, value_name = "RATE:MS", value_parser = pair::<f64, f64>)]
    tail: Option<(f64, f64)>,
    /// Bytes per second, of all connections together: 100MB.
    #[arg(long, value_parser = bytes)]
    bandwidth: Option<f64>,
    /// Bytes per second, of each connection.
    #[arg(long, value_parser = bytes)]
    connection_bandwidth: Option<f64>,
    /// Connections reset before the answer.
    #[arg(long, default_value_t = 0.0)]
    early_resets: f64,
    /// Connections reset in the middle of the body.
    #[arg(long, default_value_t = 0.0)]
    resets: f64,
    /// Bodies that stop in the middle for so many seconds.
    #[arg(long, value_name = "RATE:SECONDS", value_parser = pair::<f64, f64>)]
    stalls: Option<(f64, f64)>,
    /// Bodies that end too early.
    #[arg(long, default_value_t = 0.0)]
    truncated: f64,
    /// Answers of the proxy itself; may be given several times.
    #[arg(long, value_name = "STATUS:RATE", value_parser = pair::<u16, f64>)]
    errors: Vec<(u16, f64)>,
    /// Bytes of another range under the head of the one asked for.
    #[arg(long, default_value_t = 0.0)]
    wrong_bytes: f64,
    /// Heads that name another range.
    #[arg(long, default_value_t = 0.0)]
    wrong_heads: f64,
    /// Whole objects (200) instead of ranges (206).
    #[arg(long, default_value_t = 0.0)]
    whole: f64,
    /// Bodies with one changed byte.
    #[arg(long, default_value_t = 0.0)]
    corrupted: f64,
    /// So many requests are spared at first.
    #[arg(long, default_value_t = 0)]
    skip: u64,
    /// At most so many faults.
    #[arg(long)]
    limit: Option<u64>,
    /// Faults hit only requests whose key (`GET /path?query bytes=0-99`) contains this.
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// Draw faults by the key of a request and not by its number.
    #[arg(long)]
    by_key: bool,
    /// Count requests by key.
    #[arg(long)]
    keys: bool,
}

impl ProxyArgs {
    /// The faults that were asked for.
    pub(crate) fn faults(&self) -> Faults {
        if let Some(faults) = &self.faults {
            return faults.clone();
        }
        let own = &self.single;
        let (tail, stalls) = (own.tail.unwrap_or_default(), own.stalls.unwrap_or_default());
        Faults {
            seed: own.seed,
            latency_ms: own.latency,
            tail: Tail { rate: tail.0, ms: tail.1 },
            bandwidth: own.bandwidth,
            connection_bandwidth: own.connection_bandwidth,
            early_resets: own.early_resets,
            resets: own.resets,
            stalls: Stalls { rate: stalls.0, seconds: stalls.1 },
            truncated: own.truncated,
            errors: own.errors.iter().copied().collect(),
            wrong_bytes: own.wrong_bytes,
            wrong_heads: own.wrong_heads,
            whole: own.whole,
            corrupted: own.corrupted,
            skip: own.skip,
            limit: own.limit,
            only: own.only.clone(),
            address: if own.by_key { Address::Key } else { Address::Number },
            keys: own.keys,
        }
    }
}

/// `A:B`.
fn pair<A: FromStr, B: FromStr>(text: &str) -> Result<(A, B), String>
where
    A::Err: Display,
    B::Err: Display,
{
    let (a, b) = text.split_once(':').ok_or("two numbers with a colon between them")?;
    Ok((a.parse().map_err(|e: A::Err| e.to_string())?, b.parse().map_err(|e: B::Err| e.to_string())?))
}

/// `1500`, `100MB`: decimal units, as for links.
fn bytes(text: &str) -> Result<f64, String> {
    let units = [("KB", 1e3), ("MB", 1e6), ("GB", 1e9)];
    let found = units.into_iter().find_map(|(unit, size)| Some((text.strip_suffix(unit)?, size)));
    let (number, size) = found.unwrap_or((text, 1.0));
    let number: f64 = number.trim().parse().map_err(|_| "a number of bytes: 1500, 64KB, 100MB, 1GB")?;
    Ok(number * size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read() {
        assert_eq!((bytes("1500"), bytes("100MB"), bytes("1.5 GB")), (Ok(1500.0), Ok(1e8), Ok(1.5e9)));
        assert!(bytes("MB").is_err() && bytes("5TB").is_err());
        assert_eq!(pair::<u16, f64>("503:0.5"), Ok((503, 0.5)));
        assert!(pair::<u16, f64>("503").is_err() && pair::<u16, f64>("a:b").is_err());
    }
}
