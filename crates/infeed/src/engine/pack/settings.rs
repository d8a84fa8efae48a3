//! The checked settings of the pack stage.

use crate::recipe::{Long, PackMode, PackRecipe, Rest};
use infeed_core::{Dtype, Error, Result};
use std::fmt;

/// Documents read together when they are laid end to end: enough to keep the threads busy.
const CONCAT_GROUP: usize = 64;
/// Documents packed together when they stay whole: enough to leave hardly any room unused.
const FIT_GROUP: usize = 1024;

/// The pack stage with all defaults resolved.
#[derive(Debug, Clone)]
pub(super) struct Settings {
    pub(super) on: String,
    pub(super) length: usize,
    pub(super) mode: PackMode,
    pub(super) eod: Option<i64>,
    pub(super) pad: i64,
    pub(super) long: Long,
    pub(super) rest: Rest,
    pub(super) group: usize,
    pub(super) stride: usize,
    pub(super) dtype: Dtype,
    pub(super) labels: bool,
    pub(super) segment_ids: bool,
    pub(super) position_ids: bool,
    pub(super) cu_seqlens: bool,
    /// All settings as text, for checkpoints.
    pub(super) about: String,
}

impl Settings {
    pub(super) fn new(pack: &PackRecipe) -> Result<Self> {
        let refuse = |what: String| Err(Error::plan("pack", what));
        if pack.length == 0 || pack.length > 1 << 28 {
            return refuse(format!("length must be 1 to 2^28 tokens, got {}", pack.length));
        }
        let Some(dtype) = Dtype::parse(&pack.dtype).filter(|d| d.is_integer()) else {
            return refuse(format!("dtype must be an integer type, got `{}`", pack.dtype));
        };
        for (name, token) in [("eod", pack.eod), ("pad", Some(pack.pad))] {
            if token.is_some_and(|token| !dtype.holds(token)) {
                return refuse(format!("{name}={} does not fit {dtype}", token.unwrap_or(0)));
            }
        }
        if pack.stride.is_some() && pack.mode != PackMode::Windows {
            return refuse("stride= belongs to mode=\"windows\"".to_owned());
        }
        if pack.stride == Some(0) {
            return refuse("stride must be at least 1".to_owned());
        }
        let group = pack.group.unwrap_or(match pack.mode {
            PackMode::Concat | PackMode::Windows => CONCAT_GROUP,
            PackMode::FirstFit | PackMode::BestFit => FIT_GROUP,
        });
        if group == 0 || group > 1 << 20 {
            return refuse(format!("group must be 1 to 2^20 documents, got {group}"));
        }
        Ok(Settings {
            on: pack.on.clone(),
            length: pack.length,
            mode: pack.mode,
            eod: pack.eod,
            pad: pack.pad,
            long: pack.long,
            rest: pack.rest,
            group,
            stride: pack.stride.unwrap_or(pack.length),
            dtype,
            labels: pack.labels,
            segment_ids: pack.segment_ids,
            position_ids: pack.position_ids,
            cu_seqlens: pack.cu_seqlens,
            about: serde_json::to_string(pack).unwrap_or_default(),
        })
    }

    /// Tokens read per sequence, and the stride between sequences, for documents laid end to end.
    pub(super) fn reach(&self) -> (usize, usize) {
        (self.length + usize::from(self.labels), self.length)
    }
}

/// The label of tokens that have none: the index that losses ignore by default.
pub(super) const IGNORED: i64 = -100;

impl fmt::Display for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let length = self.length;
        match self.mode {
            PackMode::Concat => write!(f, "sequences of {length} tokens, documents end to end"),
            PackMode::FirstFit => {
                write!(f, "sequences of {length} tokens, {} documents at a time by first fit", self.group)
            }
            PackMode::BestFit => {
                write!(f, "sequences of {length} tokens, {} documents at a time by best fit", self.group)
            }
            PackMode::Windows => write!(f, "windows of {length} tokens, every {} tokens", self.stride),
        }
    }
}
