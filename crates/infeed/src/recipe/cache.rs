//! Where samples are kept.

use serde::{Deserialize, Serialize};

/// What samples are kept in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CacheTier {
    /// Memory that all processes of a machine share.
    Memory,
    /// A folder.
    Disk,
}

/// Where the samples of a pipeline are kept, and how many.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CacheRecipe {
    /// What they are kept in.
    pub tier: CacheTier,
    /// The folder, for `disk`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The most bytes, of all processes of a machine together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
}
