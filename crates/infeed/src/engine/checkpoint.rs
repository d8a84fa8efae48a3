//! Checkpoints: a consumer's position in a form that can be saved.

use super::{Identity, Plan};
use infeed_core::{Cursor, Error, Result};
use serde::{Deserialize, Serialize};

/// The version of the checkpoint format. Older versions are read for as long as possible.
const VERSION: u64 = 1;

/// A consumer's position: what it has received, not what was prefetched for it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Position {
    /// The consumer's epoch: the same as the data's, unless it counts steps.
    pub(super) lap: u64,
    /// Steps received in this lap.
    pub(super) step: u64,
    /// Epoch and place of the data: all places before it were given to some rank.
    pub(super) cursor: Cursor,
}

/// A checkpoint: the same on every rank, and for any number of ranks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkpoint {
    version: u64,
    /// The consumer's epoch.
    pub epoch: u64,
    /// Steps received in it.
    pub step: u64,
    /// Epoch of the data.
    pub data_epoch: u64,
    /// Places of it that were given out, over all ranks.
    pub place: u64,
    /// Lets a stream resume at this place without reading what comes before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mark: Option<String>,
    #[serde(flatten)]
    identity: Identity,
}

impl Checkpoint {
    pub(super) fn new(plan: &Plan, at: Position) -> Self {
        Checkpoint {
            version: VERSION,
            epoch: at.lap,
            step: at.step,
            data_epoch: at.cursor.epoch,
            place: at.cursor.place,
            mark: plan.stream.as_ref().and_then(|stream| stream.mark(at.cursor)),
            identity: plan.identity().clone(),
        }
    }

    pub(super) fn mark(&self) -> Option<&str> {
        self.mark.as_deref()
    }

    /// Returns the position if the checkpoint matches the plan.
    pub(super) fn position(&self, plan: &Plan, strict: bool) -> Result<Position> {
        if self.version > VERSION {
            return Err(Error::State {
                what: format!(
                    "it was written by a newer infeed (version {}, this one reads {VERSION})",
                    self.version
                ),
            });
        }
        let now = plan.identity();
        let mut then = self.identity.clone();
        if then.order != now.order && plan.former_order().as_ref() == Some(&then.order) {
            then.order.clone_from(&now.order);
        }
        if let Some(what) = then.difference(now, strict) {
            return Err(Error::State { what });
        }
        if self.place > self.identity.places {
            return Err(Error::State {
                what: format!(
                    "its place {} lies beyond the {} places of an epoch",
                    self.place, self.identity.places
                ),
            });
        }
        let cursor = Cursor { epoch: self.data_epoch, place: self.place };
        Ok(Position { lap: self.epoch, step: self.step, cursor })
    }

    /// Serialises the checkpoint as JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Parses a checkpoint from JSON.
    pub fn from_json(text: &str) -> Result<Self> {
        serde_json::from_str(text)
            .map_err(|e| Error::State { what: format!("it is not a state of a loader: {e}") })
    }
}
