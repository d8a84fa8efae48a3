//! Why the command failed, and its exit code.

use std::fmt;

/// An error that ends the command.
#[derive(Debug)]
pub(crate) enum Fault {
    /// The command line is invalid.
    Usage(String),
    /// An error in the data or the pipeline.
    Data(infeed::Error),
    /// Ctrl-C was pressed.
    Interrupted,
}

impl Fault {
    /// Converts an error of the command-line parser.
    pub(crate) fn usage(error: &clap::Error) -> Self {
        let text = error.to_string();
        // The parser writes "error: " itself; it is added to every message later.
        Fault::Usage(text.trim_end().strip_prefix("error: ").unwrap_or(text.trim_end()).to_owned())
    }

    /// The exit code.
    pub(crate) fn code(&self) -> i32 {
        match self {
            Fault::Data(_) => 1,
            Fault::Usage(_) => 2,
            // 128 + SIGINT, as in shells.
            Fault::Interrupted => 130,
        }
    }
}

impl From<infeed::Error> for Fault {
    fn from(error: infeed::Error) -> Self {
        Fault::Data(error)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Usage(text) => f.write_str(text),
            Fault::Data(error) => error.fmt(f),
            Fault::Interrupted => f.write_str("interrupted"),
        }
    }
}
