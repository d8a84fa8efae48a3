//! The policy for samples that cannot be made.

use infeed_core::{Error, Result};
use serde::{Deserialize, Serialize};

/// What to do with a sample that cannot be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnError {
    /// Stop with the error.
    Raise,
    /// Leave it out: the batch is shorter.
    Skip,
    /// Use another row instead, chosen by the seed: the batch keeps its size.
    Replace,
}

impl OnError {
    /// Parses a policy from its name.
    pub fn parse(name: &str) -> Result<Self> {
        match name {
            "raise" => Ok(OnError::Raise),
            "skip" => Ok(OnError::Skip),
            "replace" => Ok(OnError::Replace),
            other => Err(Error::argument(format!(
                "on_error must be \"raise\", \"skip\" or \"replace\", got \"{other}\""
            ))),
        }
    }
}
