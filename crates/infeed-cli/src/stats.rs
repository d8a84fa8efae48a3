//! `infeed stats`: mean, deviation, range and percentiles of arrays.

use crate::{
    args::positive,
    bench::recipe,
    fault::Fault,
    interrupt,
    output::bold,
    progress::Progress,
    report::Report,
    table::{Align, Table},
};
use clap::Args;
use infeed::{Error, Plan, Recipe, engine::Survey, open};
use serde_json::Value as Json;
use std::{path::PathBuf, sync::Arc};

/// Channels that are shown as text; JSON has them all.
const CHANNELS: usize = 20;

/// Arguments of `infeed stats`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    infeed stats era5.nc --out stats.json\n  \
    infeed stats 'volumes-*.h5' --fields image --axis 0\n  \
    infeed stats train.toml --sample 10000 --json\n\n\
    Every value of every row is looked at, unless --sample is given. NaN and infinite\n\
    values are counted and left out of the other numbers. The deviation is that of all\n\
    values (divided by their count). Percentiles come from all values if there are few,\n\
    else from 100,000 or more that are drawn at random; the result says which.\n\
    T.Normalize(\"stats.json\") takes mean and deviation of each field from the file.\n\n\
    A recipe (.toml or .json) is run up to its batches, with its transforms.")]
pub(crate) struct StatsArgs {
    /// Files, folders or patterns; or a recipe.
    #[arg(required = true, value_name = "PATTERN|RECIPE")]
    what: Vec<String>,
    /// The fields to look at [default: all arrays].
    #[arg(long, value_delimiter = ',')]
    fields: Vec<String>,
    /// The axis of channels in a row: numbers for each channel; -1 is the last axis.
    #[arg(long, allow_negative_numbers = true)]
    axis: Option<i64>,
    /// Look at so many rows only, spread over all.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    sample: Option<u64>,
    /// Write the numbers as JSON to this file.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Format of the data, for a PATTERN [default: auto].
    #[arg(long)]
    format: Option<String>,
    /// CPU workers [default: the CPUs this process may use].
    #[arg(long, value_parser = positive)]
    threads: Option<usize>,
    /// Leave out rows that cannot be read.
    #[arg(long)]
    skip_errors: bool,
    /// Run the shell commands (`pipe:`) that the recipe has.
    #[arg(long)]
    allow_commands: bool,
}

pub(crate) fn run(args: &StatsArgs) -> Result<Report, Fault> {
    let plan = plan(args)?;
    let survey = Survey {
        fields: args.fields.clone(),
        axis: args.axis,
        sample: args.sample,
        threads: args.threads,
        skip_errors: args.skip_errors,
    };
    // The files are already listed and opened: only the stages are new.
    let made = survey.recipe(&plan)?;
    let made = if made.source.parts.is_empty() {
        Arc::new(Plan::new(made, Arc::clone(&plan.source))?)
    } else {
        open(made)?
    };
    let bar = Progress::line(Some(infeed_core::Order::places(&*made.order)));
    let found = survey.run(&plan, &made, &mut |done, all| {
        bar.show(done, format!("{done} of {all} rows"));
        !interrupt::asked()
    });
    drop(bar);
    interrupt::check()?;
    let found = found?;
    if let Some(path) = &args.out {
        let text = serde_json::to_string_pretty(&found).unwrap_or_default();
        std::fs::write(path, text + "\n").map_err(|e| Error::io("write", path.to_string_lossy(), e))?;
    }
    let mut text = text(&plan.source.describe(), &found);
    if let Some(path) = &args.out {
        text += &format!("\nThe numbers are in {}", path.display());
    }
    Ok(Report { text, json: found })
}

/// The given recipe, or one that only reads.
fn plan(args: &StatsArgs) -> Result<Arc<Plan>, Fault> {
    if let [path] = args.what.as_slice()
        && (path.ends_with(".toml") || path.ends_with(".json"))
        && args.format.is_none()
    {
        return Ok(open(recipe(path, args.allow_commands)?)?);
    }
    Ok(open(Recipe::new(args.what.clone(), args.format.as_deref().unwrap_or("auto")))?)
}

fn text(source: &str, found: &Json) -> String {
    let columns = [
        ("field", Align::Left),
        ("channel", Align::Right),
        ("mean", Align::Right),
        ("std", Align::Right),
        ("min", Align::Right),
        ("median", Align::Right),
        ("max", Align::Right),
        ("NaN", Align::Right),
    ];
    let mut table = Table::new(&columns);
    let mut more = 0;
    for (name, field) in found["fields"].as_object().into_iter().flatten() {
        let row = |channel: String, at: &dyn Fn(&Json) -> Json, of: &Json| {
            [
                name.clone(),
                channel,
                number(&at(&of["mean"])),
                number(&at(&of["std"])),
                number(&at(&of["min"])),
                number(&at(&of["percentiles"]["50"])),
                number(&at(&of["max"])),
                at(&of["nan"]).to_string(),
            ]
        };
        table.row(row(String::new(), &Json::clone, field));
        let channels = &field["channels"];
        let count = channels["mean"].as_array().map_or(0, Vec::len);
        if field["axis"].is_null() {
            continue;
        }
        for i in 0..count.min(CHANNELS) {
            table.row(row(i.to_string(), &|list: &Json| list[i].clone(), channels));
        }
        more += count.saturating_sub(CHANNELS);
    }
    let rows = format!("{} of {} rows", found["rows"], found["of_rows"]);
    let rest = if more > 0 { format!("{more} more channels are in the JSON\n") } else { String::new() };
    format!("{}\n{rows}\n\n{}{rest}", bold(source), table.render())
}

/// A number in few digits.
fn number(value: &Json) -> String {
    match value.as_f64() {
        None => "-".to_owned(),
        Some(x) if x == 0.0 || (1e-3..1e6).contains(&x.abs()) => {
            let text = format!("{x:.6}");
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        }
        Some(x) => format!("{x:.4e}"),
    }
}
