//! What a ledger is about, so that ledgers of different runs are not mixed by mistake.

use serde::{Deserialize, Serialize};

/// What must agree for two ledgers to be about the same promise. Each part may be empty: not known.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// A hash over everything that decides which row comes when, in hexadecimal.
    #[serde(default)]
    pub hash: String,
    /// A hash of the data: names and lengths of the shards, in hexadecimal.
    #[serde(default)]
    pub data: String,
    /// The order, in words.
    #[serde(default)]
    pub order: String,
}

impl Identity {
    /// Says what differs, of the parts that both know.
    pub fn differs(&self, other: &Identity) -> Option<String> {
        // The order comes first: it is the part that people understand.
        let parts = [
            ("order", &self.order, &other.order),
            ("data", &self.data, &other.data),
            ("recipe hash", &self.hash, &other.hash),
        ];
        parts
            .iter()
            .find(|(_, a, b)| !a.is_empty() && !b.is_empty() && a != b)
            .map(|(what, a, b)| format!("the {what} differs: `{a}` and `{b}`"))
    }
}
