//! Shows how far a long search for rows is.

use crate::{human, output, progress::Progress as Bar};
use infeed::format::{Search, SearchHook, on_search};
use infeed_core::Hold;
use std::{
    io::IsTerminal,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

/// Time between two updates of the bar.
const PAUSE: Duration = Duration::from_millis(200);
/// Time between two lines, where there is no terminal.
const LINES: Duration = Duration::from_secs(10);

/// While this lives, searches are shown on stderr: a bar on a terminal, else a line now and then.
pub(crate) struct Shown {
    before: Option<SearchHook>,
}

/// Shows searches from now on.
pub(crate) fn show() -> Shown {
    let terminal = std::io::stderr().is_terminal();
    let state = Mutex::new(State { bar: None, started: Instant::now(), last: None });
    let hook: SearchHook = Arc::new(move |search: &Search| state.hold().update(search, terminal));
    Shown { before: on_search(Some(hook)) }
}

impl Drop for Shown {
    fn drop(&mut self) {
        on_search(self.before.take());
    }
}

struct State {
    bar: Option<Bar>,
    started: Instant,
    last: Option<Instant>,
}

impl State {
    fn update(&mut self, search: &Search, terminal: bool) {
        let (done, pause) = (search.done(), if terminal { PAUSE } else { LINES });
        if done == 0 {
            (self.started, self.last) = (Instant::now(), None);
        }
        // The first line comes at once: it says what is going on.
        if self.last.is_some_and(|last| last.elapsed() < pause) {
            return;
        }
        self.last = Some(Instant::now());
        let line = line(search.shards, done, search.bytes, self.started.elapsed().as_secs_f64());
        if terminal {
            self.bar.get_or_insert_with(|| Bar::line(Some(search.bytes))).show(done, line);
        } else {
            output::note(&line);
        }
    }
}

fn line(shards: usize, done: u64, bytes: u64, seconds: f64) -> String {
    let rate = match done {
        0 => String::new(),
        _ => format!(", {}/s", human::bytes((done as f64 / seconds.max(1e-9)) as u64)),
    };
    format!(
        "finding the rows of {} tars without an index: {} of {} read{rate}",
        human::count(shards as u64),
        human::bytes(done),
        human::bytes(bytes)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_says_what_is_read() {
        let begun = "finding the rows of 128 tars without an index: 0 B of 50.0 GB read";
        assert_eq!(line(128, 0, 50_000_000_000, 0.0), begun);
        assert!(
            line(128, 10_000_000_000, 50_000_000_000, 10.0).ends_with("10.0 GB of 50.0 GB read, 1.0 GB/s")
        );
    }
}
