//! Pipelines over a stream, whose rows can be read only once, from front to back.

use super::Plan;
use crate::{
    order::Below,
    recipe::{ShuffleKind, Stage, hash},
};
use infeed_core::{Cursor, Error, Order, Record, Result, Source, Spec, Stream};
use std::sync::Arc;

/// Default size of the shuffle buffer, and how full it must be before the first row comes out: as in WebDataset.
pub(super) const BUFFER: u64 = 1000;
pub(super) const INITIAL: u64 = 100;

/// A stream and the stages that act on its order.
#[derive(Debug, Clone)]
pub struct StreamPlan {
    pub(crate) stream: Arc<dyn Stream>,
    pub(crate) shuffle: Option<BufferPlan>,
    /// Rows skipped at the start of an epoch.
    pub(crate) skip: u64,
    /// Maximum rows of an epoch.
    pub(crate) take: Option<u64>,
}

/// A shuffle through a buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BufferPlan {
    pub(crate) seed: u64,
    pub(crate) buffer: u64,
    pub(crate) initial: u64,
}

impl StreamPlan {
    /// The stream itself.
    pub fn stream(&self) -> &dyn Stream {
        &*self.stream
    }

    /// Creates a plan without changes to the order.
    pub(super) fn new(stream: Arc<dyn Stream>) -> Self {
        StreamPlan { stream, shuffle: None, skip: 0, take: None }
    }

    /// Returns a mark that lets the stream resume at a cursor without reading what comes before, if it has one.
    pub(crate) fn mark(&self, at: Cursor) -> Option<String> {
        let direct = self.shuffle.is_none();
        direct.then(|| self.stream.mark(at.epoch, self.skip + at.place)).flatten()
    }

    /// Applies a stage to the order.
    pub(super) fn apply(&mut self, stage: &Stage) -> Result<()> {
        match stage {
            Stage::Shuffle { seed, kind, window: None, block: None, buffer, initial } => match kind {
                ShuffleKind::None => return Ok(()),
                ShuffleKind::Auto | ShuffleKind::Buffer if self.shuffle.is_none() && self.untouched() => {
                    let buffer = buffer.unwrap_or(BUFFER);
                    if buffer == 0 {
                        return Err(Error::plan(
                            "shuffle",
                            "a buffer of 0 rows holds nothing: give at least 1",
                        ));
                    }
                    let initial = initial.unwrap_or(INITIAL).min(buffer);
                    self.shuffle = Some(BufferPlan { seed: *seed, buffer, initial });
                    return Ok(());
                }
                _ => {}
            },
            Stage::Slice { start, stop, step: None | Some(1) }
                if start.unwrap_or(0) >= 0 && stop.unwrap_or(0) >= 0 =>
            {
                let (start, stop) = (start.unwrap_or(0) as u64, stop.map(|s| s as u64));
                let before = self.take;
                self.skip += before.map_or(start, |take| start.min(take));
                let longest = before.map(|take| take.saturating_sub(start));
                let wanted = stop.map(|s| s.saturating_sub(start));
                self.take = match (longest, wanted) {
                    (Some(a), Some(b)) => Some(a.min(b)),
                    (a, b) => a.or(b),
                };
                return Ok(());
            }
            _ => {}
        }
        let what = match stage {
            Stage::Shuffle { .. } => "shuffle of this kind, or after take() and skip(), or twice".to_owned(),
            other => other.name().to_owned(),
        };
        Err(Error::plan(
            stage.name(),
            format!(
                "rows of a stream cannot be addressed, so there is no {what}; use shuffle(buffer=...), take() and \
                 skip(). Uncompressed tars can be addressed"
            ),
        ))
    }

    fn untouched(&self) -> bool {
        self.skip == 0 && self.take.is_none()
    }

    /// Returns the data part of what a checkpoint must agree with.
    pub(super) fn data_fingerprint(&self) -> String {
        let fields: Vec<String> =
            self.stream.fields_of_states().iter().map(|(name, field)| format!("{name}:{field}")).collect();
        let mut data = format!("{}|{}", self.stream.parts(), fields.join(";"));
        data += &self.stream.identity();
        format!("{:016x}", hash(data.as_bytes()))
    }
}

/// Stands in for the source of other plans. Knows the fields, but no rows.
#[derive(Debug)]
pub(super) struct StreamFields {
    spec: Spec,
    about: String,
}

impl StreamFields {
    pub(super) fn new(stream: &dyn Stream) -> Self {
        StreamFields { spec: stream.spec().clone(), about: stream.describe() }
    }
}

impl Source for StreamFields {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn shard_rows(&self) -> &[u64] {
        &[]
    }

    fn shard_of(&self, _: u64) -> String {
        self.about.clone()
    }

    fn key(&self, row: u64) -> String {
        row.to_string()
    }

    fn row_bytes(&self, _: u64, _: &[Arc<str>]) -> u64 {
        0
    }

    fn fetch(&self, _: &[u64], _: &[Arc<str>]) -> Result<Vec<Record>> {
        Err(Error::Internal { what: "a row of a stream was looked up".to_owned() })
    }

    fn describe(&self) -> String {
        self.about.clone()
    }
}

/// The order of a stream: rows as they come, of unknown number.
#[derive(Debug)]
pub(super) struct StreamOrder(pub(super) StreamPlan);

/// Stands for an unknown length: greater than any real one.
pub(super) const UNKNOWN: u64 = 1 << 60;

impl StreamOrder {
    pub(super) fn order(plan: &StreamPlan) -> Below {
        Arc::new(StreamOrder(plan.clone()))
    }
}

impl Order for StreamOrder {
    fn places(&self) -> u64 {
        UNKNOWN
    }

    fn resolve(&self, _: u64, _: &mut [u64]) {}

    fn describe(&self) -> String {
        let mut out = match self.0.shuffle {
            None => "as the stream comes".to_owned(),
            Some(BufferPlan { seed, buffer, .. }) => {
                let parts = if self.0.stream.parts() > 1 { "parts shuffled, then " } else { "" };
                format!("{parts}through a shuffle buffer of {buffer} rows (seed {seed})")
            }
        };
        if self.0.skip > 0 {
            out += &format!(", without the first {}", self.0.skip);
        }
        if let Some(take) = self.0.take {
            out += &format!(", {take} rows at most");
        }
        let seeks = self.0.shuffle.is_none() && !self.0.stream.identity().is_empty();
        out + if seeks {
            "; resuming begins close to where it stopped"
        } else {
            "; resuming reads from the epoch's start and steps over what was given"
        }
    }
}

impl Plan {
    /// Whether rows come from a stream, so that the length of an epoch is not known.
    pub fn is_stream(&self) -> bool {
        self.stream.is_some()
    }

    /// Whether reading the rows runs code of the user.
    pub(in crate::engine) fn runs_user_code(&self) -> bool {
        self.stream.as_ref().is_some_and(|plan| plan.stream.runs_user_code())
    }
}
