//! Statistics computed from the counters.

use super::{BadSample, ChaosCounts, Trace, verdict};
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
    /// What chaos mode did; `None` without it.
    pub chaos: Option<ChaosCounts>,
    /// What was left out of damaged shards when they were opened.
    pub damage: Vec<String>,
    /// The bottleneck, and what to do about it.
    pub verdict: String,
}

impl Stats {
    pub(crate) fn of(trace: &Trace, threads: usize, io_threads: usize, damage: Vec<String>) -> Self {
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
            read_mb_per_s: per(trace.read_bytes.load(Relaxed) as f64 / 1e6, all),
            wait_s: wait,
            wait_share: per(wait, all),
            threads,
            io_threads,
            stages: vec![
                StageShare { name: "read", seconds: read, busy: reading },
                StageShare { name: "decode", seconds: decode, busy: per(decode, worked) },
                StageShare { name: "transform", seconds: pixels, busy: per(pixels, worked) },
            ],
            idle_share: per(idle, worked),
            bad_samples,
            bad,
            retries: trace.retries.load(Relaxed),
            chaos: None,
            damage,
            verdict: String::new(),
        };
        stats.verdict = verdict::of(&stats);
        stats
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
        if self.retries > 0 {
            writeln!(f, "retries    {} reads failed and were tried again", self.retries)?;
        }
        if let Some(ChaosCounts { delays, faults }) = self.chaos {
            writeln!(f, "chaos      {delays} rows read late, {faults} reads that failed on purpose")?;
        }
        for what in &self.damage {
            writeln!(f, "damage     {what}")?;
        }
        write!(f, "verdict    {}", self.verdict)
    }
}
