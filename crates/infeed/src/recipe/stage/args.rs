//! Argument types of stages.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

/// How rows are shuffled.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ShuffleKind {
    /// Depends on the source: global if rows can be addressed, a buffer for streams.
    #[default]
    Auto,
    /// A permutation of all rows.
    Global,
    /// Blocks (shards, row groups) in random order, rows shuffled inside a window of them.
    Block,
    /// Through a buffer, as in WebDataset.
    Buffer,
    /// No shuffle.
    None,
}

/// One number per row: a list, or the name of a fact known of each row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum PerRow<T> {
    /// A field that holds a number, or `bytes`.
    Named(String),
    /// The numbers themselves.
    List(T),
}

/// A decoder by name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Use {
    /// Its name.
    pub name: String,
    /// Its arguments.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub args: Map<String, Json>,
}

/// How a field of varying shape is batched.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ragged {
    /// A list of arrays.
    #[default]
    List,
    /// One array, each sample padded at its end to the largest of the batch.
    Pad,
}
