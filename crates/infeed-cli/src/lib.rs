//! The `infeed` command as a library: the binary and the Python package both call [`run`].
//!
//! One file per subcommand. Each returns a `Report`: the same findings as text and as JSON. Printing happens in one
//! place, so that `--json` prints one object on stdout and nothing else, whatever the subcommand does.
//!
//! Subcommands that need a family of data (`demo`, `tokens`, `tokenize`) exist only with its feature.

// Subcommands share helpers; a build with fewer subcommands leaves some unused.
#![cfg_attr(not(all(feature = "images", feature = "text", feature = "tokens")), allow(dead_code))]

mod args;
mod bench;
mod cache;
mod content;
#[cfg(feature = "images")]
mod demo;
mod fault;
mod human;
mod index;
mod inspect;
mod interrupt;
mod list;
mod measure;
mod memory;
mod output;
mod pipeline;
mod progress;
mod proxy;
mod report;
mod searching;
mod stage;
mod stats;
mod table;
#[cfg(all(feature = "text", feature = "tokens"))]
mod tokenize;
#[cfg(feature = "tokens")]
mod tokens;
mod verify_epoch;
mod world;

pub use interrupt::interrupt;

use args::{Cli, Command};
use clap::{Parser, error::ErrorKind};
use fault::Fault;
use report::Report;

/// Runs the command line; `args` do not include the program's name. Returns the exit code: 0 for success, 1 for an error
/// in the data or the pipeline, 2 for wrong usage, 130 when interrupted. Never ends the process.
pub fn run(args: Vec<String>) -> i32 {
    // Determined before the arguments are parsed, because parsing can fail.
    let json = args.iter().take_while(|a| *a != "--").any(|a| a == "--json");
    let outcome = dispatch(args, json);
    // An interrupt that arrived after the previous run must not end the next run in this process.
    let _ = interrupt::check();
    match outcome {
        Ok(Outcome::Text(text)) => {
            output::text(&text);
            0
        }
        Ok(Outcome::Report(report, code)) => {
            if json {
                output::json(&report.json);
            } else {
                output::text(&report.text);
            }
            code
        }
        Err(fault) => {
            output::error(&fault, json);
            fault.code()
        }
    }
}

/// What to print.
enum Outcome {
    /// Help or version.
    Text(String),
    /// The report of a subcommand, and the exit code.
    Report(Report, i32),
}

fn dispatch(args: Vec<String>, json: bool) -> Result<Outcome, Fault> {
    let cli = match Cli::try_parse_from(std::iter::once("infeed".to_owned()).chain(args)) {
        Ok(cli) => cli,
        Err(e) if matches!(e.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) => {
            return Ok(Outcome::Text(e.to_string()));
        }
        Err(e) if e.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            return Err(Fault::Usage(format!("which command?\n\n{}", e.to_string().trim_end())));
        }
        Err(e) => return Err(Fault::usage(&e)),
    };
    let _shown = searching::show();
    match cli.command {
        #[cfg(feature = "images")]
        Command::Demo(args) => demo::run(&args),
        Command::Inspect(args) => inspect::run(&args),
        Command::Show(args) => Err(Fault::Usage(format!(
            "`show` is part of the Python package: python -m infeed show {}",
            args.rest.join(" ")
        ))),
        Command::Bench(args) => bench::run(&args),
        Command::List(args) => list::run(&args),
        Command::Cache(args) => {
            let (report, sound) = cache::run(&args.command)?;
            return Ok(Outcome::Report(report, i32::from(!sound)));
        }
        Command::VerifyEpoch(args) => {
            // Data that is not exact is not an error here: the report describes it.
            let (report, exact) = verify_epoch::run(&args)?;
            return Ok(Outcome::Report(report, i32::from(!exact)));
        }
        #[cfg(feature = "tokens")]
        Command::Tokens(args) => {
            let (report, sound) = tokens::run(&args.command)?;
            return Ok(Outcome::Report(report, i32::from(!sound)));
        }
        #[cfg(all(feature = "text", feature = "tokens"))]
        Command::Tokenize(args) => tokenize::run(&args),
        Command::Stage(args) => stage::run(&args),
        Command::Stats(args) => stats::run(&args),
        Command::Index(args) => {
            let (report, sound) = index::run(&args)?;
            return Ok(Outcome::Report(report, i32::from(!sound)));
        }
        Command::World => world::run(),
        Command::Proxy(args) => proxy::run(&args, json),
    }
    .map(|report| Outcome::Report(report, 0))
}
