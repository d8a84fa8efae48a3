//! The command line. The doc comments here are the text of `--help`.

use crate::cache::args::CacheArgs;
use crate::index::IndexArgs;
use crate::proxy::args::ProxyArgs;
use crate::stage::StageArgs;
use crate::stats::StatsArgs;
#[cfg(all(feature = "text", feature = "tokens"))]
use crate::tokenize::args::TokenizeArgs;
#[cfg(feature = "tokens")]
use crate::tokens::args::TokensArgs;
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

/// A data loader for training: turns shards of training data into batches.
#[derive(Debug, Parser)]
#[command(
    name = "infeed",
    version,
    max_term_width = 100,
    after_help = after_help()
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,

    /// Print one JSON object on stdout, and nothing else there.
    // Read before parsing, so that even a usage error is reported in JSON; declared here for the help.
    #[arg(long, global = true)]
    #[allow(dead_code)]
    pub(crate) json: bool,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Make a small data set, load it, show the rate and what limits it.
    #[cfg(feature = "images")]
    Demo(DemoArgs),
    /// Show what a data set holds: rows, fields, sizes and the first rows.
    Inspect(InspectArgs),
    /// Look at samples: fields and ranges, a grid of images (PNG), a page (HTML). In the Python package.
    #[command(disable_help_flag = true)]
    Show(ShowArgs),
    /// Compute mean, deviation, range and percentiles of arrays, for Normalize.
    Stats(StatsArgs),
    /// Measure how fast a recipe or a data set loads.
    Bench(BenchArgs),
    /// Prove that every row of an epoch was given exactly as often as promised, over all ranks and restarts.
    VerifyEpoch(VerifyEpochArgs),
    /// Look at token corpora (.bin and .idx), check, merge, split and list them.
    #[cfg(feature = "tokens")]
    Tokens(TokensArgs),
    /// Turn text into tokens: a corpus of .bin and .idx, in order, resumable.
    #[cfg(all(feature = "text", feature = "tokens"))]
    Tokenize(TokenizeArgs),
    /// Copy shards to storage of this node: in parallel, resumable, verified; or remove the copies.
    Stage(StageArgs),
    /// Write the indices of tars, beside them or into a folder: without one a remote tar is read before the first batch.
    Index(IndexArgs),
    /// List, verify and clean caches of stores.
    Cache(CacheArgs),
    /// List formats, decoders, codecs, transforms and batch transforms with their parameters.
    List(ListArgs),
    /// Show which rank this process is, of how many, and which launcher says so.
    #[command(after_help = "Examples:\n  \
        infeed world\n  \
        torchrun --no-python --nproc-per-node 4 infeed world\n  \
        srun --ntasks 8 infeed world --json\n\n\
        To set it by hand: INFEED_RANK, INFEED_WORLD_SIZE, INFEED_LOCAL_RANK, INFEED_LOCAL_WORLD_SIZE.")]
    World,
    /// Stand between a client and a server, and inject faults. For tests and benchmarks.
    #[command(hide = true)]
    Proxy(Box<ProxyArgs>),
}

/// Arguments of `infeed show`, which the Python package takes before they come here.
#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// What to show, and how.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) rest: Vec<String>,
}

/// Arguments of `infeed demo`.
#[cfg(feature = "images")]
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    infeed demo\n  \
    infeed demo --threads 1 --seconds 2\n  \
    infeed demo --samples 10000 --dir demo-data --keep\n\n\
    JPEGs of 450x450 in tar shards are loaded with the usual training pipeline of\n\
    image models: shuffle, decode, RandomResizedCrop 224, flip, Normalize, batches\n\
    of 64. First at full speed, then with a consumer that keeps each batch for a\n\
    while, as a training step does.")]
pub(crate) struct DemoArgs {
    /// Images to make.
    #[arg(long, default_value_t = 2000, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) samples: u64,
    /// How long to load at full speed; the second phase takes half as long.
    #[arg(long, default_value_t = 5.0, value_parser = seconds)]
    pub(crate) seconds: f64,
    /// Where to put the data: a new or empty folder [default: a temporary one].
    #[arg(long)]
    pub(crate) dir: Option<PathBuf>,
    /// CPU workers [default: the CPUs this process may use].
    #[arg(long, value_parser = positive)]
    pub(crate) threads: Option<usize>,
    /// Keep the data afterwards.
    #[arg(long)]
    pub(crate) keep: bool,
}

/// Arguments of `infeed inspect`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    infeed inspect train-000000.tar\n  \
    infeed inspect 'shards/train-{000000..000127}.tar' --rows 1\n  \
    infeed inspect images/ --json\n\n\
    Sizes and contents are those of a sample of rows (--sample), spread evenly.")]
pub(crate) struct InspectArgs {
    /// Files, folders or patterns: train-*.tar, train-{000..127}.tar, images/.
    #[arg(required = true)]
    pub(crate) path: Vec<String>,
    /// Rows to show.
    #[arg(long, default_value_t = 3)]
    pub(crate) rows: u64,
    /// Rows to sample for the sizes and contents of fields.
    #[arg(long, default_value_t = 256, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) sample: u64,
    /// Format of the data; `infeed list formats` shows them.
    #[arg(long, default_value = "auto")]
    pub(crate) format: String,
}

/// Arguments of `infeed bench`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    infeed bench train.toml\n  \
    infeed bench 'train-*.tar' --threads 1,2,4 --batch 256\n  \
    infeed bench images/ --sweep --html report.html\n\n\
    A recipe (.toml or .json) is run as it is. A data set with images gets the\n\
    training pipeline: shuffle, decode, RandomResizedCrop, flip, Normalize; any other\n\
    is read and made into batches as it is.\n\n\
    Every run starts with the same samples. A first, unmeasured run (--warmup) brings\n\
    them into the page cache as far as it gets; for data larger than memory the runs\n\
    measure the disk as well.")]
pub(crate) struct BenchArgs {
    /// A recipe, or files, folders or patterns.
    #[arg(required = true, value_name = "RECIPE|PATH")]
    pub(crate) what: Vec<String>,
    /// CPU workers, one run for each number [default: the CPUs this process may use].
    #[arg(long, value_delimiter = ',', value_parser = positive)]
    pub(crate) threads: Vec<usize>,
    /// One run each for 1, 2, 4, ... threads, up to the CPUs this process may use.
    #[arg(long, conflicts_with = "threads")]
    pub(crate) sweep: bool,
    /// Length of each run.
    #[arg(long, default_value_t = 5.0, value_parser = seconds)]
    pub(crate) seconds: f64,
    /// Length of the first run, which is not measured; 0 for none.
    #[arg(long, default_value_t = 1.0, value_parser = seconds)]
    pub(crate) warmup: f64,
    /// Samples per batch, for a PATH [default: 64].
    #[arg(long, value_parser = positive)]
    pub(crate) batch: Option<usize>,
    /// Side of the cropped images, for a PATH [default: 224].
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=65_535))]
    pub(crate) image_size: Option<u32>,
    /// Format of the data, for a PATH [default: auto].
    #[arg(long)]
    pub(crate) format: Option<String>,
    /// What to do with samples that cannot be made.
    #[arg(long, default_value = "raise")]
    pub(crate) on_error: OnError,
    /// Run the shell commands (`pipe:`) that the recipe has.
    #[arg(long)]
    pub(crate) allow_commands: bool,
    /// Write a report as a single HTML file.
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
}

/// The values of `--on-error`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnError {
    /// Stop with the error.
    Raise,
    /// Leave them out.
    Skip,
    /// Use other samples in their place.
    Replace,
}

impl From<OnError> for infeed::OnError {
    fn from(given: OnError) -> Self {
        match given {
            OnError::Raise => infeed::OnError::Raise,
            OnError::Skip => infeed::OnError::Skip,
            OnError::Replace => infeed::OnError::Replace,
        }
    }
}

/// Arguments of `infeed verify-epoch`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    infeed verify-epoch train.toml ledgers/*.json\n  \
    infeed verify-epoch train.toml rank0.json rank1.json --epoch 3\n  \
    infeed verify-epoch train.toml ledgers/*.json --json\n\n\
    Every rank's loader keeps a ledger of the rows that it handed out. Give those of\n\
    all ranks; after a restart, also those that were saved with the checkpoint that\n\
    it started from. Missing and repeated rows are named by shard and key.\n\n\
    Exit codes: 0 exact, 1 not exact or not readable, 2 wrong usage.")]
pub(crate) struct VerifyEpochArgs {
    /// The recipe that was run (.toml or .json).
    pub(crate) recipe: String,
    /// The ledgers of all ranks and restarts.
    #[arg(required = true)]
    pub(crate) ledger: Vec<String>,
    /// Run the shell commands (`pipe:`) that the recipe has.
    #[arg(long)]
    pub(crate) allow_commands: bool,
    /// The epoch to verify [default: all epochs in the ledgers].
    #[arg(long)]
    pub(crate) epoch: Option<u64>,
}

/// Arguments of `infeed list`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  infeed list\n  infeed list transforms\n  infeed list decoders --json")]
pub(crate) struct ListArgs {
    /// Which table [default: all].
    #[arg(value_parser = clap::builder::PossibleValuesParser::new(infeed::tables::KINDS))]
    pub(crate) kind: Option<String>,
}

/// An example of every command that this build has.
fn after_help() -> String {
    let examples = [
        #[cfg(feature = "images")]
        "infeed demo                          what this machine can do, in a few seconds",
        "infeed inspect 'train-*.tar'         what is in a data set",
        "infeed stats era5.nc --out s.json    mean, deviation and range of every field",
        "infeed bench train.toml --sweep      how fast a pipeline is with 1, 2, 4, ... threads",
        "infeed verify-epoch run.toml *.json  prove that every row was given exactly once",
        #[cfg(feature = "tokens")]
        "infeed tokens info corpus            what a token corpus holds",
        #[cfg(all(feature = "text", feature = "tokens"))]
        "infeed tokenize 'text-*.jsonl' ...   text to a corpus of tokens",
        "infeed stage 'data/*.tar' /nvme/x    copies on storage of this node",
        "infeed index 's3://b/train-*.tar'    indices of tars, so that opening them reads nothing",
        "infeed list transforms               what can be used in a pipeline",
        "infeed world                         which rank this process would be",
    ];
    format!(
        "Examples:\n  {}\n\n\
         Exit codes: 0 success, 1 an error in the data or the pipeline, 2 wrong usage, 130 interrupted.",
        examples.join("\n  ")
    )
}

pub(crate) fn seconds(text: &str) -> Result<f64, String> {
    match text.parse() {
        // At most a day: longer is a mistake, and could overflow time arithmetic.
        Ok(s) if (0.0..=86_400.0).contains(&s) => Ok(s),
        _ => Err("must be a number of seconds from 0 to 86400".to_owned()),
    }
}

pub(crate) fn positive(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(n) if n > 0 => Ok(n),
        _ => Err("must be a whole number of at least 1".to_owned()),
    }
}
