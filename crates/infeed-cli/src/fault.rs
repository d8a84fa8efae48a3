//! Why the command failed, and its exit code.

use std::fmt;

/// What ends the command early.
#[derive(Debug)]
pub(crate) enum Fault {
    /// The command line makes no sense.
    Usage(String),
    /// The data or the pipeline is at fault.
    Data(infeed::Error),
    /// Somebody pressed Ctrl-C.
    Interrupted,
}

impl Fault {
    /// From the parser of the command line.
    pub(crate) fn usage(error: &clap::Error) -> Self {
        let text = error.to_string();
        // The parser says "error: " itself; ours is put before every message.
        Fault::Usage(text.trim_end().strip_prefix("error: ").unwrap_or(text.trim_end()).to_owned())
    }

    /// The exit code.
    pub(crate) fn code(&self) -> i32 {
        match self {
            Fault::Data(_) => 1,
            Fault::Usage(_) => 2,
            // 128 + SIGINT, as shells have it.
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
