//! The one place that prints.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use crate::fault::Fault;
use serde_json::{Value as Json, json};
use std::{
    fmt::Display,
    io::{IsTerminal, Write},
};

/// Prints text for people.
pub(crate) fn text(text: &str) {
    write(text.trim_end());
}

/// Prints the one JSON object of `--json`.
pub(crate) fn json(value: &Json) {
    write(&value.to_string());
}

fn write(line: &str) {
    let mut out = std::io::stdout().lock();
    // Nobody is listening when this fails, as in `infeed list | head -1`: no reason to make a noise.
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

/// Says why the command failed: on stderr for people, and with `--json` on stdout for programs.
pub(crate) fn error(fault: &Fault, with_json: bool) {
    if with_json {
        json(&json!({"error": fault.to_string()}));
    }
    let label = if allowed(std::io::stderr().is_terminal()) { "\x1b[1;31merror:\x1b[0m" } else { "error:" };
    let _ = writeln!(std::io::stderr(), "infeed: {label} {fault}");
}

/// A word that stands out on a terminal.
pub(crate) fn bold(text: impl Display) -> String {
    if allowed(std::io::stdout().is_terminal()) { format!("\x1b[1m{text}\x1b[0m") } else { text.to_string() }
}

/// <https://no-color.org>: set and not empty means no.
fn allowed(terminal: bool) -> bool {
    terminal && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty())
}
