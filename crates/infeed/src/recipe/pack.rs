//! How documents become sequences of one length.

use serde::{Deserialize, Serialize};

/// How documents are laid into sequences.
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

/// What becomes of documents that are longer than a sequence, where documents stay whole.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Long {
    /// They are cut into pieces.
    #[default]
    Split,
    /// What is too much is left out.
    Truncate,
    /// They are left out.
    Drop,
}

/// What becomes of tokens that do not fill a sequence, at the end of an epoch (`concat`) or of a document (`windows`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rest {
    /// They are left out.
    #[default]
    Drop,
    /// The sequence is filled up.
    Pad,
}

/// How documents become sequences of one length.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PackRecipe {
    /// The field with the tokens of a document.
    pub on: String,
    /// Tokens of a sequence.
    pub length: usize,
    /// How.
    #[serde(default)]
    pub mode: PackMode,
    /// A token that is put behind every document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub eod: Option<i64>,
    /// The token that fills sequences up.
    #[serde(default)]
    pub pad: i64,
    /// What becomes of long documents.
    #[serde(default)]
    pub long: Long,
    /// What becomes of tokens that do not fill a sequence.
    #[serde(default)]
    pub rest: Rest,
    /// Documents that are packed together; a few hundred unless said otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<usize>,
    /// Tokens from one window to the next; `length` unless said otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stride: Option<usize>,
    /// Element type of tokens and labels.
    #[serde(default = "i64_name")]
    pub dtype: String,
    /// Whether there is a field `labels`: the token that follows each token.
    #[serde(default)]
    pub labels: bool,
    /// Whether there is a field `segment_ids`: 1, 2, ... for the documents of a sequence, 0 for filling.
    #[serde(default)]
    pub segment_ids: bool,
    /// Whether there is a field `position_ids`, counted within each document.
    #[serde(default)]
    pub position_ids: bool,
    /// Whether there is a field `cu_seqlens`: where each document begins, and the end of the last.
    #[serde(default)]
    pub cu_seqlens: bool,
}

fn i64_name() -> String {
    "i64".to_owned()
}
