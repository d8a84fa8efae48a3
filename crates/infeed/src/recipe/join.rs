//! How pipelines are joined into one.

use crate::order::{BlendLength, Stop};
use serde::{Deserialize, Serialize};

/// How pipelines are joined into one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case", deny_unknown_fields)]
pub enum Join {
    /// One after the other.
    Concat,
    /// Alternately.
    Interleave {
        /// Rows from each in turn.
        #[serde(default = "one")]
        run: u64,
        /// When the epoch ends.
        #[serde(default)]
        stop: Stop,
    },
    /// Mixed by weight.
    Blend {
        /// One weight per part.
        weights: Vec<f64>,
        /// How long an epoch is.
        #[serde(default)]
        length: BlendLength,
    },
}

fn one() -> u64 {
    1
}

impl Join {
    /// What it is called in messages: as in Python.
    pub fn name(&self) -> &'static str {
        match self {
            Join::Concat => "concat",
            Join::Interleave { .. } => "interleave",
            Join::Blend { .. } => "blend",
        }
    }
}
