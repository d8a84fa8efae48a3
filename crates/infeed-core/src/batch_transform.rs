//! Batch to batch.

use crate::{Context, Result, Spec, Transform};
use std::{fmt::Debug, sync::Arc};

/// One field of a batch.
#[derive(Debug)]
pub struct BatchBlock<'a> {
    /// The elements of all samples, one sample after the other without gaps; empty for fields that come as lists.
    pub data: &'a mut [u8],
    /// Memory for what [`BatchTransform::spec`] promises, when that differs from what is there. Its content is left over
    /// from other batches: every byte must be written.
    pub out: Option<&'a mut [u8]>,
}

/// A batch that nobody else sees yet.
#[derive(Debug)]
pub struct BatchMut<'a> {
    /// What one sample looks like.
    pub spec: &'a Spec,
    /// The fields that are meant.
    pub on: &'a [usize],
    /// How many samples there are. It can be none.
    pub samples: usize,
    /// The fields, in the order of `spec`.
    pub blocks: Vec<BatchBlock<'a>>,
}

/// A change of whole batches, done by the thread that finishes the batch.
pub trait BatchTransform: Debug + Send + Sync {
    /// What a sample looks like afterwards; `on` are the fields that are meant. Refuses fields it cannot work on, with the
    /// cure in the message.
    fn spec(&self, input: &Spec, on: &[usize]) -> Result<Spec>;

    /// A check that one field of every sample goes through before it gets into a batch: what it refuses is a bad sample,
    /// and the batch need not fail for it.
    fn check(&self, _input: &Spec) -> Result<Option<(usize, Arc<dyn Transform>)>> {
        Ok(None)
    }

    /// Changes the batch. The random numbers are addressed by (seed, epoch, first row of the batch, stage).
    fn apply(&self, batch: &mut BatchMut<'_>, context: &mut Context<'_>) -> Result<()>;
}
