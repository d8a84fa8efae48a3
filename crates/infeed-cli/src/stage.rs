//! `infeed stage`: copies shards to storage of this node, and removes the copies.

use crate::{
    args::positive, fault::Fault, human, interrupt, output, progress::Progress as Bar, report::Report,
};
use clap::{Args, ValueEnum};
use infeed::{
    order::world,
    stage::{self, Progress, Share, Staged, Staging},
    store::Stores,
};
use serde_json::json;
use std::{
    io::IsTerminal,
    path::PathBuf,
    time::{Duration, Instant},
};

/// Time between two updates of the bar.
const PAUSE: Duration = Duration::from_millis(200);
/// Time between two lines, where there is no terminal.
const LINES: Duration = Duration::from_secs(10);

/// Arguments of `infeed stage`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    infeed stage 'data/train-{000..127}.tar' /nvme/train\n  \
    infeed stage data/train data/val --to auto\n  \
    srun --ntasks-per-node 4 infeed stage 'data/*.tar' --to auto --share node\n  \
    infeed stage --clean-up /nvme/train\n  \
    infeed stage --clean-up auto\n\n\
    With one path, or with --to auto, the folder is found: below $SLURM_TMPDIR, $TMPDIR\n\
    or /local/scratch. Copies that are there and complete are kept, an interrupted run\n\
    goes on where it was, and several processes may stage into one folder.\n\
    infeed.open(SRC, staged=\"auto\") or staged=\"DST\" reads the copies.")]
pub(crate) struct StageArgs {
    /// Files, folders or patterns, and last the folder to stage into.
    #[arg(required = true, value_name = "SRC... [DST]")]
    path: Vec<String>,
    /// The folder to stage into, or `auto` to have it found: all paths are sources.
    #[arg(long, value_name = "DST|auto")]
    to: Option<String>,
    /// Read every copy back and compare checksums, also of those that are there.
    #[arg(long)]
    verify: bool,
    /// Divide the files among the ranks of a node (of one folder), or of a job (each copies only its share).
    #[arg(long, value_name = "WHO", num_args = 0..=1, default_missing_value = "node")]
    share: Option<Who>,
    /// Copying threads [default: 8].
    #[arg(long, value_parser = positive)]
    threads: Option<usize>,
    /// Remove the copies in the folders that are named, or in all that are found (`auto`), if nobody uses them.
    #[arg(long, conflicts_with_all = ["to", "verify", "share", "threads"])]
    clean_up: bool,
}

/// The values of `--share`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Who {
    /// The ranks of this node.
    Node,
    /// All ranks.
    Job,
}

pub(crate) fn run(args: &StageArgs) -> Result<Report, Fault> {
    if args.clean_up {
        return clean_up(&args.path);
    }
    let (sources, folder) = match (args.to.as_deref(), args.path.as_slice()) {
        (Some("auto"), all) => (all, None),
        (Some(to), all) => (all, Some(to)),
        (None, [only]) => (std::slice::from_ref(only), None),
        (None, [sources @ .., last]) => (sources, Some(last.as_str())),
        (None, []) => return Err(Fault::Usage("which files are to be staged?".to_owned())),
    };
    let staging = Staging {
        folder: folder.map(PathBuf::from),
        verify: args.verify,
        share: args.share.map(|who| if who == Who::Node { Share::Node } else { Share::Job }),
        // A launcher whose answer is incomplete matters only where files are divided.
        world: if args.share.is_some() { world::here()?.world } else { infeed::World::alone() },
        threads: args.threads,
        ..Staging::new(sources.to_vec())
    };
    let mut shown = Shown::new();
    let staged = stage::stage(&Stores::new(), &staging, &mut |progress| {
        shown.show(progress);
        !interrupt::asked()
    })?;
    drop(shown);
    if staged.stopped {
        interrupt::check()?;
    }
    Ok(report(&staged))
}

fn clean_up(folders: &[String]) -> Result<Report, Fault> {
    let (mut files, mut bytes) = (0, 0);
    let mut kept = Vec::new();
    for folder in folders {
        let found = folder == "auto";
        let folders = if found { stage::found_folders() } else { vec![PathBuf::from(folder)] };
        for folder in folders {
            match stage::clean_up(&folder) {
                Ok(removed) => {
                    files += removed.files;
                    bytes += removed.bytes;
                }
                // Of those that were found, some may belong to another job.
                Err(error) if found => kept.push(error.to_string()),
                Err(error) => return Err(error.into()),
            }
        }
    }
    let mut text = format!("removed {} files, {}", human::count(files), human::bytes(bytes));
    kept.iter().for_each(|why| text += &format!("\n{why}"));
    Ok(Report { text, json: json!({"removed": {"files": files, "bytes": bytes}, "kept": kept}) })
}

fn report(staged: &Staged) -> Report {
    let (folder, from) = (staged.place.folder.display().to_string(), &staged.place.from);
    let (progress, seconds) = (&staged.progress, staged.took.as_secs_f64());
    let found = if from == "given" { String::new() } else { format!(", found by {from}") };
    let rate = progress.copied as f64 / seconds.max(1e-9);
    let text = format!(
        "{} files, {}, in {folder}{found}\n{} files were there; {} were missing: {} read in {seconds:.1} s, {}/s",
        human::count(staged.files),
        human::bytes(staged.bytes),
        human::count(staged.kept),
        human::count(progress.files_total),
        human::bytes(progress.copied),
        human::bytes(rate as u64),
    );
    let json = json!({
        "folder": folder, "from": from, "files": staged.files, "bytes": staged.bytes, "kept": staged.kept,
        "missing": progress.files_total, "copied_bytes": progress.copied, "seconds": seconds,
    });
    Report { text, json }
}

/// The progress: a bar on a terminal, else a line now and then.
struct Shown {
    bar: Option<Bar>,
    terminal: bool,
    started: Instant,
    last: Instant,
}

impl Shown {
    fn new() -> Self {
        let now = Instant::now();
        Shown { bar: None, terminal: std::io::stderr().is_terminal(), started: now, last: now }
    }

    fn show(&mut self, progress: &Progress) {
        if self.last.elapsed() < if self.terminal { PAUSE } else { LINES } {
            return;
        }
        self.last = Instant::now();
        let line = line(progress, self.started.elapsed().as_secs_f64());
        if self.terminal {
            self.bar.get_or_insert_with(|| Bar::line(Some(progress.bytes_total))).show(progress.bytes, line);
        } else {
            output::note(&line);
        }
    }
}

fn line(progress: &Progress, seconds: f64) -> String {
    let rate = progress.copied as f64 / seconds.max(1e-9);
    let left = progress.bytes_total.saturating_sub(progress.bytes) as f64 / rate.max(1.0);
    let waiting = match progress.waiting {
        0 => String::new(),
        n => format!(", waiting for {n} that other processes copy"),
    };
    format!(
        "{} of {} files, {} of {}, {}/s, {} left{waiting}",
        human::count(progress.files),
        human::count(progress.files_total),
        human::bytes(progress.bytes),
        human::bytes(progress.bytes_total),
        human::bytes(rate as u64),
        if progress.copied == 0 { "?".to_owned() } else { duration(left) },
    )
}

/// `1:05:09`, or `5:09`.
fn duration(seconds: f64) -> String {
    let seconds = seconds.min(1e9) as u64;
    let (hours, minutes, rest) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if hours > 0 { format!("{hours}:{minutes:02}:{rest:02}") } else { format!("{minutes}:{rest:02}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_says_what_is_left() {
        let progress = Progress {
            files: 3,
            files_total: 10,
            bytes: 3_000_000_000,
            bytes_total: 10_000_000_000,
            copied: 2_000_000_000,
            ..Progress::default()
        };
        assert_eq!(line(&progress, 2.0), "3 of 10 files, 3.0 GB of 10.0 GB, 1.0 GB/s, 0:07 left");
        let waiting = Progress { waiting: 2, copied: 0, ..progress };
        assert!(line(&waiting, 2.0).ends_with("0 B/s, ? left, waiting for 2 that other processes copy"));
        assert_eq!([duration(0.4), duration(309.0), duration(3909.0)].join(" "), "0:00 5:09 1:05:09");
    }
}
