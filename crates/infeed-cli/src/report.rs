//! The report of a subcommand.

use serde_json::Value as Json;

/// The same findings as text and as JSON.
#[derive(Debug)]
pub(crate) struct Report {
    /// For a terminal, without a line break at the end.
    pub(crate) text: String,
    /// One object.
    pub(crate) json: Json,
}
