//! What a subcommand found.

use serde_json::Value as Json;

/// The same findings twice: for people and for programs.
#[derive(Debug)]
pub(crate) struct Report {
    /// For a terminal, without a line break at the end.
    pub(crate) text: String,
    /// One object.
    pub(crate) json: Json,
}
