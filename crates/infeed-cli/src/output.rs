//! All printing.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use crate::fault::Fault;
use serde_json::{Value as Json, json};
use std::{
    fmt::Display,
    io::{IsTerminal, Write},
};

/// Prints human-readable text.
pub(crate) fn text(text: &str) {
    write(text.trim_end());
}

/// Prints the one JSON object of `--json`.
pub(crate) fn json(value: &Json) {
    write(&value.to_string());
}

/// Signed URLs are names that users give and reports repeat: their signatures are left out.
fn write(line: &str) {
    let line = infeed::shown(line);
    let mut out = std::io::stdout().lock();
    // Ignored: it fails when the reader has closed the pipe, as in `infeed list | head -1`.
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

/// Prints why the command failed: as text on stderr, and with `--json` also as JSON on stdout.
pub(crate) fn error(fault: &Fault, with_json: bool) {
    if with_json {
        json(&json!({"error": fault.to_string()}));
    }
    let label = if allowed(std::io::stderr().is_terminal()) { "\x1b[1;31merror:\x1b[0m" } else { "error:" };
    let _ = writeln!(std::io::stderr(), "infeed: {label} {}", infeed::shown(&fault.to_string()));
}

/// Prints how far a long command is, on stderr.
pub(crate) fn note(line: &str) {
    let _ = writeln!(std::io::stderr(), "infeed: {}", infeed::shown(line));
}

/// Bold text, on a terminal.
pub(crate) fn bold(text: impl Display) -> String {
    if allowed(std::io::stdout().is_terminal()) { format!("\x1b[1m{text}\x1b[0m") } else { text.to_string() }
}

/// Whether colours are allowed: not if `NO_COLOR` is set and not empty (<https://no-color.org>).
fn allowed(terminal: bool) -> bool {
    terminal && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty())
}
