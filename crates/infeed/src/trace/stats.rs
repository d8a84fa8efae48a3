//! Statistics computed from the counters.

use super::{BadSample, CacheUse, Cached, ChaosCounts, RemoteUse, Trace, verdict};
use infeed_core::{CacheCounts, memory::readable};
use serde::Serialize;
use std::{fmt, sync::atomic::Ordering::Relaxed};

/// One stage's share of the time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StageShare {
    /// `read`, `decode` or `transform`.
    pub name: &'static str,
    /// Seconds summed over its threads.
    pub seconds: f64,
    /// Share of its threads' time.
    pub busy: f64,
}

/// What a loader has done so far.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Stats {
    /// Batches handed out.
    pub batches: u64,
    /// Samples handed out.
    pub samples: u64,
    /// Seconds spent iterating.
    pub seconds: f64,
    /// Samples per second.
    pub samples_per_s: f64,
    /// Megabytes read per second.
    pub read_mb_per_s: f64,
    /// Seconds the consumer waited.
    pub wait_s: f64,
    /// Share of the time the consumer waited.
    pub wait_share: f64,
    /// CPU workers.
    pub threads: usize,
    /// I/O threads.
    pub io_threads: usize,
    /// The CPUs of this rank.
    pub cpus: usize,
    /// The priority of all these threads: `normal` or `low`.
    pub priority: &'static str,
    /// Share of the bytes that were not in memory and came from a device, as far as that is known.
    pub device_share: f64,
    /// The kind of network file system that the data is on.
    pub network: Option<&'static str>,
    /// Where the threads' time went.
    pub stages: Vec<StageShare>,
    /// Share of the workers' time without work.
    pub idle_share: f64,
    /// Total number of bad samples.
    pub bad_samples: u64,
    /// The first of them.
    pub bad: Vec<BadSample>,
    /// Reads that failed and were tried again.
    pub retries: u64,
    /// What caches of samples did; empty without them.
    pub sample_caches: Vec<CacheUse>,
    /// What chaos mode did; `None` without it.
    pub chaos: Option<ChaosCounts>,
    /// What caches have done; `None` without one.
    pub cache: Option<Cached>,
    /// What was asked of remote stores since the loader was made; `None` if nothing was.
    pub remote: Option<RemoteUse>,
    /// What was left out of damaged shards when they were opened.
    pub damage: Vec<String>,
    /// The bottleneck, and what to do about it.
    pub verdict: String,
}

/// The threads of a loader.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Crew {
    pub(crate) threads: usize,
    pub(crate) io_threads: usize,
    pub(crate) cpus: usize,
    pub(crate) priority: &'static str,
}

impl fmt::Display for Crew {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Crew { threads, cpus, priority, .. } = self;
        write!(f, "{threads} on {cpus} CPUs, at {priority} priority")?;
        match cpus.saturating_sub(*threads) {
            0 => Ok(()),
            1 => write!(f, "; 1 CPU is left to the training process"),
            left => write!(f, "; {left} CPUs are left to the training process"),
        }
    }
}

impl Stats {
    pub(crate) fn of(trace: &Trace, crew: Crew, damage: Vec<String>) -> Self {
        let Crew { threads, io_threads, cpus, priority } = crew;
        let read_bytes = trace.read_bytes.load(Relaxed) as f64;
        let seconds = |ns: &std::sync::atomic::AtomicU64| ns.load(Relaxed) as f64 / 1e9;
        let (wait, work) = (seconds(&trace.wait_ns), seconds(&trace.consumer_ns));
        let (read, decode) = (seconds(&trace.read_ns), seconds(&trace.decode_ns));
        let (pixels, idle) = (seconds(&trace.pixel_ns), seconds(&trace.idle_ns));
        let all = wait + work;
        let per = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
        let samples = trace.samples.load(Relaxed);
        let own_read = seconds(&trace.own_read_ns).min(read);
        let worked = decode + pixels + own_read + idle;
        // From the page cache workers read themselves, from a device the I/O threads do: the busier counts.
        let reading = per(own_read, worked).max(per(read - own_read, all * io_threads as f64).min(1.0));
        let (bad_samples, bad) = trace.bad.report();
        let mut stats = Stats {
            batches: trace.batches.load(Relaxed),
            samples,
            seconds: all,
            samples_per_s: per(samples as f64, all),
            read_mb_per_s: per(read_bytes / 1e6, all),
            wait_s: wait,
            wait_share: per(wait, all),
            threads,
            io_threads,
            cpus,
            priority,
            // What was announced may be more than what was read until now.
            device_share: per(trace.pace.bytes_away() as f64, read_bytes).min(1.0),
            network: None,
            stages: vec![
                StageShare { name: "read", seconds: read, busy: reading },
                StageShare { name: "decode", seconds: decode, busy: per(decode, worked) },
                StageShare { name: "transform", seconds: pixels, busy: per(pixels, worked) },
            ],
            idle_share: per(idle, worked),
            bad_samples,
            bad,
            retries: trace.retries.load(Relaxed),
            sample_caches: Vec::new(),
            chaos: None,
            cache: None,
            remote: None,
            damage,
            verdict: String::new(),
        };
        stats.verdict = verdict::of(&stats);
        stats
    }

    /// Adds what caches have done.
    pub(crate) fn with_cache(self, trace: &Trace, counts: Option<CacheCounts>) -> Self {
        Stats { cache: counts.map(|counts| trace.cached.report(counts)), ..self }
    }

    /// Adds what was asked of remote stores, and the seconds that the requests took together.
    pub(crate) fn with_remote(mut self, remote: Option<(RemoteUse, f64)>) -> Self {
        let Some((remote, request_s)) = remote else { return self };
        let mean_in_flight = if self.seconds > 0.0 { request_s / self.seconds } else { 0.0 };
        self.remote = Some(RemoteUse { mean_in_flight, ..remote });
        self.verdict = verdict::of(&self);
        self
    }

    /// Adds the kind of network file system that the data is on.
    pub(crate) fn on_network(self, network: Option<&'static str>) -> Self {
        Stats { network, ..self }
    }

    /// Adds what caches of samples did.
    pub(crate) fn with_sample_caches(self, sample_caches: Vec<CacheUse>) -> Self {
        Stats { sample_caches, ..self }
    }

    /// Adds what chaos mode did.
    pub(crate) fn with_chaos(self, trace: &Trace) -> Self {
        Stats { chaos: Some(trace.chaos.report()), ..self }
    }
}

impl fmt::Display for Stats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} samples in {} batches, {:.2} s", self.samples, self.batches, self.seconds)?;
        writeln!(f, "rate       {:.0} samples/s, {:.0} MB/s read", self.samples_per_s, self.read_mb_per_s)?;
        writeln!(
            f,
            "waiting    {:.1} % of the consumer's time ({:.2} s)",
            self.wait_share * 100.0,
            self.wait_s
        )?;
        if self.device_share > 0.0 {
            let share = self.device_share * 100.0;
            writeln!(f, "device     {share:.0} % of the bytes were not in memory; they are requested ahead")?;
        }
        if let Some(network) = self.network {
            writeln!(f, "network    {network}, read by {} threads", self.io_threads)?;
        }
        for stage in &self.stages {
            writeln!(
                f,
                "{:<10} {:.0} % of its threads' time ({:.2} s)",
                stage.name,
                stage.busy * 100.0,
                stage.seconds
            )?;
        }
        writeln!(f, "idle       {:.0} % of the time of {} threads", self.idle_share * 100.0, self.threads)?;
        if self.bad_samples > 0 {
            writeln!(
                f,
                "bad        {} samples; the first: {}",
                self.bad_samples,
                self.bad.first().map_or("", |b| &b.error)
            )?;
        }
        for cache in &self.sample_caches {
            let CacheUse { tier, hits, misses, samples, bytes, limit, .. } = cache;
            let (bytes, limit) = (readable(*bytes), readable(*limit));
            writeln!(
                f,
                "cache      {tier}: {hits} hits, {misses} misses; {samples} samples, {bytes} of {limit}"
            )?;
            if let Some(why) = &cache.warning {
                writeln!(f, "           {why}")?;
            }
        }
        if self.retries > 0 {
            writeln!(f, "retries    {} reads failed and were tried again", self.retries)?;
        }
        if let Some(ChaosCounts { delays, faults }) = self.chaos {
            writeln!(f, "chaos      {delays} rows read late, {faults} reads that failed on purpose")?;
        }
        if let Some(cache) = &self.cache {
            let mb = |bytes: u64| bytes as f64 / 1e6;
            write!(
                f,
                "cache      {:.1} % of the bytes ({:.0} MB; {:.0} MB from the store)",
                cache.hit_share * 100.0,
                mb(cache.counts.cache_bytes),
                mb(cache.counts.store_bytes)
            )?;
            match cache.epochs.last() {
                Some(last) => {
                    writeln!(f, "; in epoch {} {:.0} MB from the store", last.epoch, mb(last.store_bytes))?
                }
                None => writeln!(f)?,
            }
        }
        if let Some(remote) = &self.remote {
            writeln!(f, "remote     {remote}")?;
        }
        for what in &self.damage {
            writeln!(f, "damage     {what}")?;
        }
        write!(f, "verdict    {}", self.verdict)
    }
}
