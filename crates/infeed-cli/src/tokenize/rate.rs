//! The progress line: rates and remaining time.

use crate::{human, progress::Progress};
use infeed::Stats;
use std::time::{Duration, Instant};

/// Time between updates of the line.
const PAUSE: Duration = Duration::from_millis(200);

/// The progress line.
pub(super) struct Rate {
    bar: Progress,
    total: Option<u64>,
    /// Rows that were done before.
    before: u64,
    started: Instant,
    shown: Option<Instant>,
}

impl Rate {
    pub(super) fn new(total: Option<u64>, before: u64) -> Self {
        Rate { bar: Progress::line(total), total, before, started: Instant::now(), shown: None }
    }

    pub(super) fn seconds(&self) -> f64 {
        self.started.elapsed().as_secs_f64()
    }

    /// Updates the line, if it is time. `tokens` are those of this run.
    pub(super) fn show(&mut self, rows: u64, documents: u64, tokens: u64, stats: impl FnOnce() -> Stats) {
        if self.shown.is_some_and(|at| at.elapsed() < PAUSE) {
            return;
        }
        self.shown = Some(Instant::now());
        let line =
            line(self.total, self.before, (rows, documents, tokens), self.seconds(), stats().read_mb_per_s);
        self.bar.show(rows, line);
    }
}

fn line(
    total: Option<u64>,
    before: u64,
    (rows, documents, tokens): (u64, u64, u64),
    seconds: f64,
    mb: f64,
) -> String {
    let per_second = tokens as f64 / seconds.max(1e-9);
    let left = total.filter(|_| rows > before).map(|total| {
        let each = seconds / (rows - before) as f64;
        let left = (total.saturating_sub(rows) as f64 * each).round() as u64;
        format!("{}:{:02}:{:02}", left / 3600, left / 60 % 60, left % 60)
    });
    format!(
        "{} documents  {} tokens  {} tokens/s  {mb:.1} MB/s  ETA {}",
        human::count(documents),
        human::count(tokens),
        human::count(per_second.round() as u64),
        left.unwrap_or_else(|| "?".to_owned())
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_tells_all() {
        assert_eq!(
            line(Some(4000), 1000, (2000, 1990, 500_000), 10.0, 1.25),
            "1,990 documents  500,000 tokens  50,000 tokens/s  1.2 MB/s  ETA 0:00:20"
        );
        assert!(line(None, 0, (1, 1, 1), 1.0, 0.0).ends_with("ETA ?"));
        assert!(line(Some(10_000_000), 0, (100, 1, 1), 1.0, 0.0).ends_with("ETA 27:46:39"));
    }
}
