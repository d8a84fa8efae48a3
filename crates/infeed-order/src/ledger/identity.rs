//! Identifies what a ledger is about, so that ledgers of different runs are not mixed up.

use serde::{Deserialize, Serialize};

/// What must agree for two ledgers to belong together. Each field may be empty, meaning unknown.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// A hash over everything that determines which row comes when, in hexadecimal.
    #[serde(default)]
    pub hash: String,
    /// A hash of the data: names and lengths of the shards, in hexadecimal.
    #[serde(default)]
    pub data: String,
    /// A description of the order.
    #[serde(default)]
    pub order: String,
}

impl Identity {
    /// Describes the first difference among the fields known to both.
    pub fn differs(&self, other: &Identity) -> Option<String> {
        // The order comes first because it is readable.
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
