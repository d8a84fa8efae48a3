//! Proof that every row was delivered as often as promised, over all ranks and restarts.
//!
//! Each rank's loader keeps a [`Ledger`]. It does not list rows: a run of consecutive steps of one rank is one
//! [`Segment`], a range of places with a count and a fingerprint of the rows that were actually delivered. So a
//! ledger takes a few hundred bytes, however long the epoch is, and is saved with the checkpoint.
//!
//! Afterwards [`verify`] combines the ledgers of all ranks and restarts and checks two things:
//!
//! ```text
//! places   0 ........................................ 1,281,167
//! run 1    |rank 0|rank 1|rank 0|rank 1|                          Is every place in exactly one share? The cut into
//! run 2                                |0|1|2|3|0|1|2|3|0|1|2|3|  steps and shares is arithmetic: see `Steps`.
//!
//!          rows that were given   =   rows that the order puts    Fingerprints do not depend on order, and the order
//!          (+ rows left out)          at those places             is a pure function: they are simply worked out again.
//! ```
//!
//! The first check finds errors from restarts and wrong world sizes. The second finds a loader that delivers the
//! wrong rows. A ledger must belong to the checkpoint that the next run started from: a later one counts rows twice,
//! because they were in fact delivered twice.

mod check;
mod cover;
mod hash;
mod identity;
mod packed;
mod segment;
mod sweep;
mod verdict;
mod verify;

#[cfg(test)]
mod simulate;
#[cfg(test)]
mod tests;

pub use hash::RowHash;
pub use identity::Identity;
pub use segment::{Delivery, LeftOut, NAMED, Segment, Why};
pub use verdict::{Absent, Double, Giver, Places, Verdict, Wrong, count};
pub use verify::{Promise, verify};

use infeed_core::{Error, Result};
use serde::{Deserialize, Serialize};

/// The version of the JSON format.
const VERSION: u32 = 1;

/// What one loader of one rank has delivered or, after [`Ledger::merge`], what several have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ledger {
    recipe: Identity,
    segments: Vec<Segment>,
    /// Whether the last segment may be extended. Not after a restart, even if the next step would fit.
    open: bool,
    keep: bool,
    name: String,
}

/// The JSON, borrowed for writing.
#[derive(Serialize)]
struct Written<'a> {
    version: u32,
    recipe: &'a Identity,
    segments: &'a [Segment],
}

/// The JSON, owned for reading.
#[derive(Deserialize)]
struct Read {
    recipe: Identity,
    segments: Vec<Segment>,
}

/// The part of the JSON that never changes.
#[derive(Deserialize)]
struct Version {
    version: u32,
}

impl Ledger {
    /// Creates an empty ledger.
    pub fn new(recipe: Identity) -> Self {
        Ledger { recipe, segments: vec![], open: false, keep: false, name: String::new() }
    }

    /// Also stores the rows themselves, so that wrong rows can be named. Takes about two bytes per row
    /// in JSON, eight in memory.
    #[must_use]
    pub fn with_rows(mut self, keep: bool) -> Self {
        (self.keep, self.open) = (keep, false);
        self
    }

    /// Sets a name for messages, usually that of its file.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Returns the name for messages; may be empty.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the identity of the recipe it belongs to.
    pub fn recipe(&self) -> &Identity {
        &self.recipe
    }

    /// Returns all segments.
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// Returns the epochs it covers, ascending.
    pub fn epochs(&self) -> Vec<u64> {
        let mut epochs: Vec<u64> = self.segments.iter().map(|s| s.epoch).collect();
        epochs.sort_unstable();
        epochs.dedup();
        epochs
    }

    /// Counts a batch that was delivered to the consumer.
    pub fn count(&mut self, delivery: &Delivery<'_>) {
        if !self.open || !self.segments.last().is_some_and(|s| s.goes_on_with(delivery)) {
            self.segments.push(Segment::begin(delivery, self.keep));
            self.open = true;
        }
        if let Some(segment) = self.segments.last_mut() {
            segment.count(delivery);
        }
    }

    /// Merges another ledger of the same recipe: from another rank or an earlier run.
    pub fn merge(&mut self, other: Ledger) -> Result<()> {
        if let Some(what) = self.recipe.differs(&other.recipe) {
            return Err(Error::argument(format!("these ledgers do not belong together: {what}")));
        }
        for (mine, theirs) in [
            (&mut self.recipe.hash, other.recipe.hash),
            (&mut self.recipe.data, other.recipe.data),
            (&mut self.recipe.order, other.recipe.order),
        ] {
            if mine.is_empty() {
                *mine = theirs;
            }
        }
        self.segments.extend(other.segments);
        self.segments.sort_by_key(|s| (s.epoch, s.from, s.rank));
        self.open = false;
        Ok(())
    }

    /// Converts to JSON.
    pub fn to_json(&self) -> String {
        let written = Written { version: VERSION, recipe: &self.recipe, segments: &self.segments };
        serde_json::to_string(&written).unwrap_or_default()
    }

    /// Parses JSON. The next delivery begins a new segment, because there was a restart.
    pub fn from_json(text: &str) -> Result<Self> {
        let wrong = |e: serde_json::Error| Error::argument(format!("not a ledger: {e}"));
        let Version { version } = serde_json::from_str(text).map_err(wrong)?;
        if version != VERSION {
            return Err(Error::argument(format!(
                "a ledger of version {version}; this infeed reads version {VERSION}"
            )));
        }
        let Read { recipe, segments } = serde_json::from_str(text).map_err(wrong)?;
        let keep = segments.last().is_some_and(|s| s.given.is_some());
        Ok(Ledger { recipe, segments, open: false, keep, name: String::new() })
    }
}
