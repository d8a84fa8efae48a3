//! `infeed demo`: make a small data set, load it, show the rate and the verdict.
//!
//! A consumer that only takes batches always waits, however fast the loader is, so its wait time means nothing. Therefore
//! there is a second phase, in which each batch is kept as long as a training step at 70 % of the measured rate would
//! take: its wait time is what a training run would see. The first batch of an epoch is counted separately: the demo's
//! epochs are so short that it would dominate.

mod data;

use crate::{
    args::DemoArgs,
    fault::Fault,
    human,
    measure::{Measured, measure},
    memory,
    output::bold,
    pipeline::{Fields, train},
    report::Report,
    table::{Align, Table},
};
use data::Data;
use infeed::{Options, Stats, open};
use serde_json::json;
use std::time::Duration;

const BATCH: usize = 64;
const IMAGE: u32 = 224;
/// The rate of the training step of the second phase, as a fraction of the measured rate.
const PACE: f64 = 0.7;

pub(crate) fn run(args: &DemoArgs) -> Result<Report, Fault> {
    let data = Data::make(args)?;
    memory::forget_peak();
    let fields = Fields { image: Some("jpg".to_owned()), label: Some(("cls".to_owned(), true)) };
    let plan = open(train(data.paths.clone(), "auto", &fields, IMAGE, BATCH))?;
    let options = Options { threads: args.threads, ..Options::default() };
    let flat_out = measure(&plan, &options, args.seconds, None, "loading at full speed")?.stats;
    let peak = memory::peak();
    let step = step_of(&flat_out);
    let paced = measure(&plan, &options, args.seconds / 2.0, Some(step), "loading with a step")?;
    let head = format!(
        "{} JPEGs of {}x{} in {} shards, {}; crop to {IMAGE}, flip, normalise, batches of {BATCH}",
        human::count(args.samples),
        data::SIDE,
        data::SIDE,
        data.paths.len(),
        human::bytes(data.bytes),
    );
    let kept = if args.keep { format!("\n\nThe data is in {}", data.place()) } else { String::new() };
    Ok(Report {
        text: format!("{}\n\n{}{kept}", bold(head), table(&flat_out, &paced, step, peak)),
        json: json!({
            "samples": args.samples,
            "shards": data.paths.len(),
            "bytes": data.bytes,
            "batch": BATCH,
            "image_size": IMAGE,
            "dir": args.keep.then(|| data.place()),
            "peak_memory": peak,
            "flat_out": flat_out,
            "step_ms": step.as_secs_f64() * 1e3,
            "with_step": paced.stats,
            "with_step_start_share": paced.start_share(),
        }),
    })
}

/// The time per batch of a consumer that needs [`PACE`] of the measured rate.
fn step_of(stats: &Stats) -> Duration {
    let rate = stats.samples_per_s.max(1e-3);
    Duration::from_secs_f64((BATCH as f64 / (rate * PACE)).min(60.0))
}

fn table(flat_out: &Stats, paced: &Measured, step: Duration, peak: Option<u64>) -> String {
    let step_ms = step.as_secs_f64() * 1e3;
    let title = format!("with a step of {step_ms:.0} ms");
    let mut table = Table::new(&[("", Align::Left), ("full speed", Align::Right), (&title, Align::Right)]);
    let both = [flat_out, &paced.stats];
    let mut row = |name: &str, cell: &dyn Fn(&Stats) -> String| {
        table.row(std::iter::once(name.to_owned()).chain(both.iter().map(|stats| cell(stats))));
    };
    row("images/s", &|s| human::count(s.samples_per_s.round() as u64));
    row("MB/s read", &|s| format!("{:.1}", s.read_mb_per_s));
    row("consumer waits", &|s| human::share(s.wait_share));
    for (at, stage) in flat_out.stages.iter().enumerate() {
        row(stage.name, &|s| s.stages.get(at).map_or(String::new(), |s| human::share(s.busy)));
    }
    row("idle", &|s| human::share(s.idle_share));
    row("threads + I/O threads", &|s| format!("{} + {}", s.threads, s.io_threads));
    if let Some(peak) = peak {
        table.row(["peak memory", &human::bytes(peak)]);
    }
    format!(
        "{}\n{}\n  {}\n{}\n  {}",
        table.render(),
        bold("Flat out"),
        flat_out.verdict,
        bold(format!("With a step of {step_ms:.0} ms ({:.0} % of that rate)", PACE * 100.0)),
        keeps_up(paced, step_ms),
    )
}

/// The second phase in one sentence.
fn keeps_up(paced: &Measured, step_ms: f64) -> String {
    let start = paced.start_share();
    let steady = paced.stats.wait_share - start;
    let waits = format!(
        "the consumer waits {} of the time, and {} for the first batch of an epoch",
        human::share(steady),
        human::share(start)
    );
    // The same bound as the verdict's.
    if steady < 0.05 {
        return format!("with a step of {step_ms:.0} ms the loader keeps up: {waits}");
    }
    format!("with a step of {step_ms:.0} ms the loader does not keep up: {waits}; {}", paced.stats.verdict)
}
