//! The stages of a pipeline.

mod about;
mod args;

pub use about::{About, Role};
pub use args::{PadMasks, PerField, PerRow, Ragged, ShuffleKind, Use};

use super::{CacheRecipe, Integers, PackRecipe, Reals};
use crate::order::{Balance, Last, Lengths};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};
use std::collections::BTreeMap;

/// One stage of a pipeline. Stages on the order come first in this list, stages on samples after them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case", deny_unknown_fields)]
pub enum Stage {
    /// Shuffles the rows, differently in each epoch.
    Shuffle {
        /// The seed of the order, and of the augmentations unless `seed` says otherwise.
        #[serde(default)]
        seed: u64,
        /// The kind of shuffle.
        #[serde(default, skip_serializing_if = "is_default")]
        kind: ShuffleKind,
        /// For `block`: how many blocks are mixed at a time.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        window: Option<u64>,
        /// For `block`: maximum rows of a block; shards are split accordingly.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        block: Option<u64>,
        /// For `buffer`: its size in rows.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        buffer: Option<u64>,
        /// For `buffer`: rows that must be in it before the first comes out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        initial: Option<u64>,
    },
    /// Keeps the places of a Python slice.
    Slice {
        /// The first place.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        start: Option<i64>,
        /// The end, exclusive.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stop: Option<i64>,
        /// The stride.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        step: Option<i64>,
    },
    /// Keeps these places, in this order.
    Pick {
        /// The places.
        places: Integers,
    },
    /// Keeps the first rows.
    Fraction {
        /// The fraction that is kept.
        fraction: f64,
    },
    /// One part of a random split.
    Split {
        /// The lengths of all parts.
        lengths: Lengths,
        /// Which part.
        index: usize,
        /// The seed.
        #[serde(default)]
        seed: u64,
    },
    /// One side of one fold of a cross-validation.
    Fold {
        /// How many folds.
        folds: u64,
        /// Which fold.
        fold: u64,
        /// Whether to keep the rows of the fold, or all others.
        held_out: bool,
        /// The seed; `None` keeps the rows in order.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        seed: Option<u64>,
    },
    /// Repeats the rows several times in one epoch.
    Repeat {
        /// How often.
        times: u64,
    },
    /// Draws rows by weight.
    Weighted {
        /// One weight per row.
        weights: PerRow<Reals>,
        /// How many are drawn; by default as many as there are rows.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        length: Option<u64>,
        /// Whether a row can be drawn again.
        #[serde(default = "yes")]
        replacement: bool,
        /// The seed.
        #[serde(default)]
        seed: u64,
    },
    /// Alternates between classes.
    Balance {
        /// The class of each row.
        by: PerRow<Integers>,
        /// Whether small classes are repeated or large ones cut.
        #[serde(default)]
        mode: Balance,
        /// The seed.
        #[serde(default)]
        seed: u64,
    },
    /// Groups rows of similar length.
    ByLength {
        /// The length of each row.
        by: PerRow<Integers>,
        /// Places that are sorted together.
        window: u64,
        /// Size of a group of similar length; by default the batch size.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        group: Option<u64>,
        /// The seed.
        #[serde(default)]
        seed: u64,
    },
    /// Keeps rows for which the expression is true.
    Filter {
        /// Over known facts of a row (`row`, `key`, `shard`, `bytes`, `label`) or over decoded fields.
        expr: String,
    },
    /// The seed of the augmentations.
    Seed {
        /// The seed.
        seed: u64,
    },
    /// Keeps only these fields; the others are not read.
    Select {
        /// Their names.
        fields: Vec<String>,
    },
    /// Reads the files that a column names.
    Load {
        /// The column: a field, or a part of a field of JSON (`json.path`).
        column: String,
        /// The field that has the files; by default it takes the place of the column.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        to: Option<String>,
        /// The folder that paths are relative to and must lead below; by default that of the shard.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        root: Option<String>,
        /// The path of a value: `{}.jpg`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pattern: Option<String>,
    },
    /// Decodes fields.
    Decode {
        /// Field to decoder.
        fields: BTreeMap<String, Use>,
        /// Whether a sample may lack these fields.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        optional: bool,
    },
    /// A function of the consumer, by name. The engine does not run it, but it changes the samples.
    Python {
        /// Its name in `explain()`.
        what: String,
    },
    /// Copies a field; the copies are transformed independently from here.
    Copy {
        /// The field.
        field: String,
        /// The names of the copies.
        to: Vec<String>,
        /// Whether the field itself stays; it is removed unless one copy of it keeps it.
        #[serde(default, skip_serializing_if = "is_default")]
        keep: bool,
    },
    /// Applies a transform.
    Map {
        /// Its name.
        name: String,
        /// The fields; empty means every image.
        #[serde(default)]
        on: Vec<String>,
        /// Its arguments.
        #[serde(default, skip_serializing_if = "Map::is_empty")]
        args: Map<String, Json>,
    },
    /// Keeps what the stages before it make. It changes nothing about what comes out, so it is no part of a state.
    Cache(CacheRecipe),
    /// Packs documents of any length into sequences of one length.
    Pack(PackRecipe),
    /// Makes batches.
    Batch {
        /// Samples per batch and rank.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        size: Option<usize>,
        /// Samples per batch over all ranks, instead of `size`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        global_size: Option<usize>,
        /// Whether an incomplete last batch is dropped: `last = "drop"`.
        #[serde(default, skip_serializing_if = "is_default")]
        drop_last: bool,
        /// How rows that do not fill a batch are treated.
        #[serde(default, skip_serializing_if = "is_default")]
        last: Last,
        /// How fields of varying shape are batched.
        #[serde(default, skip_serializing_if = "is_default")]
        ragged: PerField<Ragged>,
        /// The padding value.
        #[serde(default, skip_serializing_if = "is_default")]
        pad_value: PerField<f64>,
        /// Masks that are true where a padded field has data.
        #[serde(default, skip_serializing_if = "is_default")]
        pad_mask: PadMasks,
        /// Padded fields are at least as long as the longest sample and a multiple of this.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pad_multiple: Option<usize>,
        /// Padded fields are exactly this long.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pad_length: Option<usize>,
    },
    /// Applies a transform to whole batches.
    MapBatch {
        /// Its name.
        name: String,
        /// The fields; empty means every image.
        #[serde(default)]
        on: Vec<String>,
        /// Its arguments.
        #[serde(default, skip_serializing_if = "Map::is_empty")]
        args: Map<String, Json>,
    },
    /// Hands batches out as tuples of these fields.
    Tuple {
        /// Their names, in order.
        fields: Vec<String>,
    },
}

fn is_default<T: Default + PartialEq>(x: &T) -> bool {
    *x == T::default()
}

fn yes() -> bool {
    true
}

impl Stage {
    /// A shuffle of the kind that suits the source.
    pub fn shuffle(seed: u64) -> Self {
        let kind = ShuffleKind::Auto;
        Stage::Shuffle { seed, kind, window: None, block: None, buffer: None, initial: None }
    }

    /// Batches of `size` samples on every rank.
    pub fn batch(size: usize) -> Self {
        Stage::Batch {
            size: Some(size),
            global_size: None,
            drop_last: false,
            last: Last::Short,
            ragged: PerField::default(),
            pad_value: PerField::default(),
            pad_mask: PadMasks::default(),
            pad_multiple: None,
            pad_length: None,
        }
    }
}
