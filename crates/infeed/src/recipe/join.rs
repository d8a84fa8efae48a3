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
    /// Row by row: the fields of all parts side by side. The parts are sources without stages.
    Zip {
        /// The field whose values rows must have in common; rows of equal number if not given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        on: Option<String>,
        /// What goes in front of the fields of each part; nothing if not given.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        names: Vec<String>,
    },
}

fn one() -> u64 {
    1
}

impl Join {
    /// Whether the parts are one source together, and not rows one after the other.
    pub fn is_zip(&self) -> bool {
        matches!(self, Join::Zip { .. })
    }

    /// What it is called in messages: as in Python.
    pub fn name(&self) -> &'static str {
        match self {
            Join::Concat => "concat",
            Join::Interleave { .. } => "interleave",
            Join::Blend { .. } => "blend",
            Join::Zip { .. } => "zip",
        }
    }
}
