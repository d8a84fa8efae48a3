//! `infeed bench`: how fast a pipeline is, with how many threads.

mod html;

use crate::{
    args::BenchArgs,
    content,
    fault::Fault,
    human,
    inspect::beginning::Beginning,
    measure::measure,
    output::bold,
    pipeline::train,
    report::Report,
    table::{Align, Table},
};
use infeed::{Error, Options, Plan, Recipe, Stats, engine::usable_cpus, open};
use infeed_core::Order;
use serde_json::{Value as Json, json};
use std::{path::Path, sync::Arc};

/// The columns of the table, here and in the HTML report.
const TITLES: [&str; 9] =
    ["threads", "samples/s", "speed-up", "MB/s read", "waits", "read", "decode", "transform", "idle"];

/// One measured run.
#[derive(Debug)]
struct Run {
    stats: Stats,
    /// Rate relative to that of the first run.
    speedup: f64,
}

pub(crate) fn run(args: &BenchArgs) -> Result<Report, Fault> {
    let plan = plan(args)?;
    let threads = threads(args);
    let options =
        |n: usize| Options { threads: Some(n), on_error: args.on_error.into(), ..Options::default() };
    if args.warmup > 0.0 {
        let most = threads.iter().copied().max().unwrap_or(1);
        measure(&plan, &options(most), args.warmup, None, "warming up")?;
    }
    let mut runs: Vec<Run> = Vec::new();
    for n in threads {
        let stats = measure(&plan, &options(n), args.seconds, None, "measuring")?.stats;
        let first = runs.first().map_or(stats.samples_per_s, |run| run.stats.samples_per_s);
        let speedup = if first > 0.0 { stats.samples_per_s / first } else { 0.0 };
        runs.push(Run { stats, speedup });
    }
    let recipe = plan.recipe.to_toml()?;
    if let Some(path) = &args.html {
        let page = html::page(&plan, &recipe, &runs);
        std::fs::write(path, page).map_err(|e| Error::io("write", path.to_string_lossy(), e))?;
    }
    let verdict = runs.last().map_or("", |run| run.stats.verdict.as_str());
    let written =
        args.html.as_ref().map(|p| format!("\nThe report is in {}", p.display())).unwrap_or_default();
    Ok(Report {
        text: format!(
            "{}\n{}\n\n{}\n{verdict}{written}",
            bold(plan.source.describe()),
            summary(&plan),
            table(&runs)
        ),
        json: json!({
            "source": plan.source.describe(),
            "recipe": recipe,
            "rows": if plan.is_stream() { Json::Null } else { json!(plan.order.places()) },
            "batch": plan.batch.each(1),
            "cpus": usable_cpus(),
            "seconds": args.seconds,
            "runs": runs.iter().map(Run::json).collect::<Vec<_>>(),
            "html": args.html.as_ref().map(|p| p.to_string_lossy()),
        }),
    })
}

/// The given recipe, or a pipeline that suits the data.
fn plan(args: &BenchArgs) -> Result<Arc<Plan>, Fault> {
    if let [path] = args.what.as_slice()
        && (path.ends_with(".toml") || path.ends_with(".json"))
    {
        if args.batch.is_some() || args.image_size.is_some() || args.format.is_some() {
            let what = "--batch, --image-size and --format are for a PATH; a recipe already contains them";
            return Err(Fault::Usage(what.to_owned()));
        }
        return Ok(open(recipe(path, args.allow_commands)?)?);
    }
    let format = args.format.as_deref().unwrap_or("auto");
    let raw = open(Recipe::new(args.what.clone(), format))?;
    let fields = match &raw.stream {
        Some(stream) => content::fields(&Beginning::read(stream.stream(), 1)?)?,
        None => content::fields(&*raw.source)?,
    };
    let recipe =
        train(args.what.clone(), format, &fields, args.image_size.unwrap_or(224), args.batch.unwrap_or(64));
    if raw.is_stream() {
        return Ok(open(recipe)?);
    }
    // The files are already listed and their indices read: only the stages are new.
    Ok(Arc::new(Plan::new(recipe, Arc::clone(&raw.source))?))
}

/// Reads a recipe from a file. A recipe may come from anybody, so it runs shell commands only where that was allowed.
pub(crate) fn recipe(path: &str, allow_commands: bool) -> Result<Recipe, Fault> {
    let text = std::fs::read_to_string(Path::new(path)).map_err(|e| Error::io("read", path, e))?;
    let read = if path.ends_with(".json") { Recipe::from_json(&text) } else { Recipe::from_toml(&text) };
    let recipe = read.map_err(|e| Error::argument(format!("`{path}`: {e}")))?;
    match recipe.commands().first() {
        Some(command) if !allow_commands => {
            let what = format!(
                "`{path}` would run the command `{command}`; if you trust it, say so with --allow-commands"
            );
            Err(Error::argument(what).into())
        }
        _ => Ok(recipe),
    }
}

/// The numbers of threads to try.
fn threads(args: &BenchArgs) -> Vec<usize> {
    if !args.sweep {
        return if args.threads.is_empty() { vec![usable_cpus()] } else { args.threads.clone() };
    }
    let cpus = usable_cpus();
    let mut out: Vec<usize> =
        std::iter::successors(Some(1), |n| Some(n * 2)).take_while(|n| *n < cpus).collect();
    out.push(cpus);
    out
}

/// The stages in one line.
fn summary(plan: &Plan) -> String {
    use infeed::recipe::Stage;
    let stage = |stage: &Stage| match stage {
        Stage::Select { fields } => format!("select {}", fields.join(" ")),
        Stage::Decode { fields, .. } => {
            let all: Vec<String> =
                fields.iter().map(|(name, with)| format!("{name}={}", with.name)).collect();
            format!("decode {}", all.join(" "))
        }
        Stage::Map { name, .. } | Stage::MapBatch { name, .. } => name.clone(),
        Stage::Copy { field, to, .. } => format!("{} views of {field}", to.len()),
        Stage::Batch { size, global_size, .. } => format!("batch {}", size.or(*global_size).unwrap_or(1)),
        Stage::Tuple { fields } => format!("tuple {}", fields.join(" ")),
        Stage::Filter { expr } => format!("filter {expr}"),
        other => other.name().to_owned(),
    };
    plan.recipe.stages.iter().map(stage).collect::<Vec<_>>().join(", ")
}

fn table(runs: &[Run]) -> String {
    let mut table = Table::new(&TITLES.map(|title| (title, Align::Right)));
    runs.iter().for_each(|run| table.row(run.cells()));
    table.render()
}

/// A stage's share of its threads' time.
fn busy(stats: &Stats, name: &str) -> f64 {
    stats.stages.iter().find(|stage| stage.name == name).map_or(0.0, |stage| stage.busy)
}

impl Run {
    /// The cells under [`TITLES`].
    fn cells(&self) -> [String; 9] {
        let stats = &self.stats;
        let busy = |name: &str| human::share(busy(stats, name));
        [
            stats.threads.to_string(),
            human::count(stats.samples_per_s.round() as u64),
            format!("{:.2}x", self.speedup),
            format!("{:.1}", stats.read_mb_per_s),
            human::share(stats.wait_share),
            busy("read"),
            busy("decode"),
            busy("transform"),
            human::share(stats.idle_share),
        ]
    }

    fn json(&self) -> serde_json::Value {
        let mut out = json!(self.stats);
        out["speedup"] = json!(self.speedup);
        out
    }
}
