//! Argument types of stages.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};
use std::collections::BTreeMap;

/// How rows are shuffled.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ShuffleKind {
    /// Depends on the source: global if rows can be addressed, blocks for tables, sliding if the data is far away, a buffer for
    /// streams.
    #[default]
    Auto,
    /// A permutation of all rows.
    Global,
    /// Blocks (shards, row groups) in random order, rows shuffled inside a window of them.
    Block,
    /// Blocks in random order, a window of them open at a time: the next opens when the rows of the oldest are used up.
    Sliding,
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
    /// One array of all samples end to end, and an array of where each begins.
    Flat,
}

/// A setting of the batch stage: one for all fields, or one for each field that is named.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum PerField<T> {
    /// For all fields.
    All(T),
    /// By field; other fields have the default.
    Each(BTreeMap<String, T>),
}

impl<T: Default> Default for PerField<T> {
    fn default() -> Self {
        PerField::All(T::default())
    }
}

impl<T: Copy + Default> PerField<T> {
    /// Returns the setting of a field.
    pub fn of(&self, field: &str) -> T {
        match self {
            PerField::All(all) => *all,
            PerField::Each(each) => each.get(field).copied().unwrap_or_default(),
        }
    }

    /// Returns the setting of a field that is named.
    pub fn named(&self, field: &str) -> Option<T> {
        match self {
            PerField::All(_) => None,
            PerField::Each(each) => each.get(field).copied(),
        }
    }

    /// The names of the fields.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let each = if let PerField::Each(each) = self { Some(each) } else { None };
        each.into_iter().flat_map(|each| each.keys().map(String::as_str))
    }
}

/// Which padded fields get a mask, and its name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum PadMasks {
    /// All of them, called `<field>_mask`, or none.
    All(bool),
    /// The only padded field, or the only one of tokens that is not a label.
    One(String),
    /// By field.
    Each(BTreeMap<String, String>),
}

impl Default for PadMasks {
    fn default() -> Self {
        PadMasks::All(false)
    }
}
