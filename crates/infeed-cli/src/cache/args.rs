//! The command line of `infeed cache`.

use clap::{Args, Subcommand};
use std::path::PathBuf;

/// Arguments of `infeed cache`.
#[derive(Debug, Args)]
pub(crate) struct CacheArgs {
    #[command(subcommand)]
    pub(crate) command: CacheCommand,
}

/// What can be done with a cache. All of it works while others use the cache.
#[derive(Debug, Subcommand)]
pub(crate) enum CacheCommand {
    /// List the objects of which a cache has chunks, and the samples that pipelines keep in it.
    #[command(after_help = "Examples:\n  \
        infeed cache ls /nvme/cache\n  \
        infeed cache ls /dev/shm/cache --json")]
    Ls(FolderArgs),
    /// Read every chunk and every sample and check lengths and checksums.
    #[command(after_help = "Examples:\n  \
        infeed cache verify /nvme/cache\n  \
        infeed cache verify /nvme/cache --repair\n\n\
        Exit codes: 0 all chunks are sound, 1 some are damaged, 2 wrong usage.")]
    Verify(VerifyArgs),
    /// Remove chunks and samples: all, or those that were not used for some days.
    #[command(after_help = "Examples:\n  \
        infeed cache clean /nvme/cache\n  \
        infeed cache clean --older 7 /nvme/cache\n\n\
        Jobs that read from the cache go on: what they need is fetched again. Samples of pipelines that run stay.")]
    Clean(CleanArgs),
}

/// Arguments of `infeed cache ls`.
#[derive(Debug, Args)]
pub(crate) struct FolderArgs {
    /// The folder of the cache.
    pub(crate) folder: PathBuf,
}

/// Arguments of `infeed cache verify`.
#[derive(Debug, Args)]
pub(crate) struct VerifyArgs {
    /// The folder of the cache.
    pub(crate) folder: PathBuf,
    /// Remove damaged chunks and what killed processes have left.
    #[arg(long)]
    pub(crate) repair: bool,
}

/// Arguments of `infeed cache clean`.
#[derive(Debug, Args)]
pub(crate) struct CleanArgs {
    /// The folder of the cache.
    pub(crate) folder: PathBuf,
    /// Only chunks that were neither written nor read for so many days, as far as the file system tells.
    #[arg(long, value_name = "DAYS", value_parser = days)]
    pub(crate) older: Option<f64>,
}

/// Days, also in fractions.
fn days(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(days) if (0.0..=100_000.0).contains(&days) => Ok(days),
        _ => Err("it must be a number of days, 0 or more".to_owned()),
    }
}
