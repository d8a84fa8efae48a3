//! Reads objects from front to back in pieces, announced ahead, and drops the bytes: what fetching alone costs.
//!
//! ```text
//! cargo run --release -p infeed-remote --example fetch -- http://127.0.0.1:8080/data/t-0.tar http://127.0.0.1:8080/data/t-1.tar
//! ```

use infeed_core::{Error, Result, Store};
use infeed_remote::{RemoteStore, StoreOptions, all_stats};
use std::{io::Write, time::Instant};

const PIECE: u64 = 2 << 20;

fn main() -> Result<()> {
    let names: Vec<String> = std::env::args().skip(1).collect();
    let store = RemoteStore::new(StoreOptions::default());
    let shards = store.stat(&names)?;
    let pieces: Vec<(usize, std::ops::Range<u64>)> = (0..shards.len())
        .flat_map(|shard| {
            let size = shards[shard].size;
            (0..size.div_ceil(PIECE)).map(move |at| (shard, at * PIECE..size.min((at + 1) * PIECE)))
        })
        .collect();
    let (start, mut announced, mut bytes) = (Instant::now(), 0, 0u64);
    for (shard, range) in &pieces {
        while announced < pieces.len() && store.room_ahead().is_some_and(|room| room > 0) {
            let (shard, range) = &pieces[announced];
            store.will_read(&shards[*shard], std::slice::from_ref(range));
            announced += 1;
        }
        let read = store.read(&shards[*shard], std::slice::from_ref(range))?;
        bytes += read.iter().map(|bytes| bytes.len() as u64).sum::<u64>();
    }
    let spent = start.elapsed().as_secs_f64();
    let stats = all_stats();
    let line = format!(
        "{:.0} MB/s, {} requests, {} retries, latency {:.0} ms at the median\n",
        bytes as f64 / spent / 1e6,
        stats.requests,
        stats.retries,
        stats.latency_ms[0]
    );
    std::io::stdout().write_all(line.as_bytes()).map_err(|e| Error::io("write", "stdout", e))
}
