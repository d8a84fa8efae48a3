//! `infeed index`: writes the indices of tars, so that nobody has to read them to find their rows.

use crate::{args::positive, fault::Fault, human, interrupt, report::Report};
use clap::Args;
use infeed::{
    format::{IndexCache, IndexState, IndexedTar, TarFormat},
    store::Stores,
};
use infeed_core::Store;
use serde_json::{Map, Value as Json, json};
use std::{path::PathBuf, sync::Arc, time::Instant};

/// Faults that are shown as text; JSON has them all.
const FAULTS: usize = 10;

/// Arguments of `infeed index`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    infeed index 's3://bucket/train-{000000..000127}.tar'\n  \
    infeed index 'az://container/shards/*.tar' --again\n  \
    infeed index 'https://host/train-{000..127}.tar' --cache\n  \
    infeed index shards/ --into /shared/index\n\n\
    An index of a tar says where its rows lie. Without one, all of a remote tar is read\n\
    before the first batch. Beside the tar (SHARD.infeed-index) everybody finds it; where\n\
    the store cannot be written, --cache keeps it in this user's cache folder, and --into\n\
    in a folder that infeed.tar(..., index=FOLDER) names.\n\n\
    A list of shards that WebDataset has written (widsindex) stands for its tars.\n\n\
    Exit codes: 0 all have an index, 1 some have none, 2 wrong usage.")]
pub(crate) struct IndexArgs {
    /// Tars, folders or patterns, of this machine or as URLs.
    #[arg(required = true, value_name = "PATTERN")]
    path: Vec<String>,
    /// The folder to write to, instead of beside the tars.
    #[arg(long, value_name = "FOLDER", conflicts_with = "cache")]
    into: Option<PathBuf>,
    /// Write to the cache folder of this user.
    #[arg(long)]
    cache: bool,
    /// Make those again that are there and fit their tars.
    #[arg(long)]
    again: bool,
    /// Tars that are read at a time [default: 32].
    #[arg(long, value_parser = positive)]
    threads: Option<usize>,
}

/// The report, and whether all tars have an index.
pub(crate) fn run(args: &IndexArgs) -> Result<(Report, bool), Fault> {
    let place = match &args.into {
        Some(folder) => IndexCache::Folder(folder.clone()),
        None if args.cache => IndexCache::Auto,
        None => IndexCache::Beside,
    };
    let beside = place == IndexCache::Beside;
    let store: Arc<dyn Store> = Arc::new(Stores::with(Map::new()));
    let format = TarFormat { lenient: false, cache: place };
    let started = Instant::now();
    let tars = format
        .write_indices(&store, &args.path, args.again, args.threads.unwrap_or(32), &|| !interrupt::asked());
    interrupt::check()?;
    let tars = tars?;
    let sound = tars.iter().all(|tar| tar.outcome.is_ok());
    Ok((report(&tars, started.elapsed().as_secs_f64(), beside), sound))
}

fn report(tars: &[IndexedTar], seconds: f64, beside: bool) -> Report {
    let of = |state| tars.iter().filter(move |tar| matches!(&tar.outcome, Ok((_, is)) if *is == state));
    let rows: u64 = tars.iter().filter_map(|tar| tar.outcome.as_ref().ok()).map(|(rows, _)| rows).sum();
    let (written, there) = (of(IndexState::Written).count(), of(IndexState::There).count());
    let read: u64 = of(IndexState::Written).map(|tar| tar.size).sum();
    let mut text = format!(
        "{} tars with {} rows: {} indices written, {} were there",
        human::count(tars.len() as u64),
        human::count(rows),
        human::count(written as u64),
        human::count(there as u64)
    );
    if written > 0 {
        let rate = read as f64 / seconds.max(1e-9);
        text +=
            &format!("; {} of tars in {seconds:.1} s, {}/s", human::bytes(read), human::bytes(rate as u64));
    }
    let faults: Vec<String> =
        tars.iter().filter_map(|tar| tar.outcome.as_ref().err()).map(ToString::to_string).collect();
    for fault in faults.iter().take(FAULTS) {
        text += &format!("\nno index: {}", human::line(fault, 300));
    }
    if faults.len() > FAULTS {
        text += &format!("\nand {} more", faults.len() - FAULTS);
    }
    if beside && !faults.is_empty() && written == 0 {
        text += "\nwhere the store cannot be written: --cache, or --into FOLDER";
    }
    let one = |tar: &IndexedTar| match &tar.outcome {
        Ok((rows, state)) => {
            json!({"name": *tar.name, "rows": rows, "written": *state == IndexState::Written})
        }
        Err(error) => json!({"name": *tar.name, "error": error.to_string()}),
    };
    let json = json!({
        "tars": tars.iter().map(one).collect::<Json>(), "rows": rows, "written": written, "there": there,
        "bytes": read, "seconds": seconds,
    });
    Report { text, json }
}
