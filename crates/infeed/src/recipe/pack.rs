//! How documents are packed into sequences of one length.

use serde::{Deserialize, Serialize};

/// How documents are packed into sequences.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PackMode {
    /// All documents one after the other, cut every `length` tokens.
    #[default]
    Concat,
    /// Whole documents, the longest first, each into the first sequence that has room.
    FirstFit,
    /// Whole documents, the longest first, each into the fullest sequence that has room.
    BestFit,
    /// Every document by itself, in windows.
    Windows,
}

/// How documents longer than a sequence are treated, when documents stay whole.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Long {
    /// They are cut into pieces.
    #[default]
    Split,
    /// They are truncated.
    Truncate,
    /// They are left out.
    Drop,
}

/// How tokens that do not fill a sequence are treated, at the end of an epoch (`concat`) or of a document (`windows`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rest {
    /// They are dropped.
    #[default]
    Drop,
    /// The sequence is padded.
    Pad,
}

/// How documents are packed into sequences of one length.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PackRecipe {
    /// The field with the tokens of a document.
    pub on: String,
    /// Tokens per sequence.
    pub length: usize,
    /// The packing mode.
    #[serde(default)]
    pub mode: PackMode,
    /// A token that is appended to every document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub eod: Option<i64>,
    /// The padding token.
    #[serde(default)]
    pub pad: i64,
    /// How long documents are treated.
    #[serde(default)]
    pub long: Long,
    /// How tokens that do not fill a sequence are treated.
    #[serde(default)]
    pub rest: Rest,
    /// Documents that are packed together; the default depends on the mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<usize>,
    /// Stride of windows in tokens; `length` by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stride: Option<usize>,
    /// Element type of tokens and labels.
    #[serde(default = "i64_name")]
    pub dtype: String,
    /// Whether to add a field `labels`: the token that follows each token.
    #[serde(default)]
    pub labels: bool,
    /// Whether to add a field `segment_ids`: 1, 2, ... for the documents of a sequence, 0 for padding.
    #[serde(default)]
    pub segment_ids: bool,
    /// Whether to add a field `position_ids`, counted within each document.
    #[serde(default)]
    pub position_ids: bool,
    /// Whether to add a field `cu_seqlens`: the start of each document, and the end of the last.
    #[serde(default)]
    pub cu_seqlens: bool,
}

fn i64_name() -> String {
    "i64".to_owned()
}
