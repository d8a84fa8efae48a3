//! Progress bars: on stderr, and only if it is a terminal.

use indicatif::{ProgressBar, ProgressStyle};
use std::time::Duration;

/// A bar that disappears when it is done.
pub(crate) struct Progress(ProgressBar);

impl Progress {
    /// A bar over `total` items.
    pub(crate) fn count(title: &'static str, total: u64) -> Self {
        Self::new(title, total, "{msg:<22} {bar:32} {pos}/{len}")
    }

    /// A bar over a duration.
    pub(crate) fn time(title: &'static str, seconds: f64) -> Self {
        Self::new(title, (seconds * 1000.0) as u64, "{msg:<22} {bar:32}")
    }

    /// A bar with a line of text that changes; without a total only the line.
    pub(crate) fn line(total: Option<u64>) -> Self {
        let template = if total.is_some() { "{bar:20} {percent:>3} %  {msg}" } else { "{msg}" };
        Self::new("", total.unwrap_or(0), template)
    }

    /// Updates position and text.
    pub(crate) fn show(&self, position: u64, text: String) {
        self.0.set_position(position);
        self.0.set_message(text);
    }

    fn new(title: &'static str, total: u64, template: &str) -> Self {
        // Draws on stderr, and is hidden if that is not a terminal.
        let bar = ProgressBar::new(total).with_message(title);
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("=> "));
        }
        Progress(bar)
    }

    /// Advances by one item.
    pub(crate) fn step(&self) {
        self.0.inc(1);
    }

    /// Updates the elapsed time.
    pub(crate) fn elapsed(&self, time: Duration) {
        self.0.set_position(time.as_millis() as u64);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
