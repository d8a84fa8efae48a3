//! Batch to batch.

use crate::{Context, Result, Spec, Transform};
use std::{fmt::Debug, sync::Arc};

/// One field of a batch.
#[derive(Debug)]
pub struct BatchBlock<'a> {
    /// The elements of all samples, contiguous; empty for fields that are lists.
    pub data: &'a mut [u8],
    /// Memory for the result, if [`BatchTransform::spec`] changes dtype or shape. It holds stale data: every byte
    /// must be written.
    pub out: Option<&'a mut [u8]>,
}

/// A batch with exclusive access.
#[derive(Debug)]
pub struct BatchMut<'a> {
    /// The spec of one sample.
    pub spec: &'a Spec,
    /// The fields to work on.
    pub on: &'a [usize],
    /// The number of samples. It can be zero.
    pub samples: usize,
    /// The fields, in the order of `spec`.
    pub blocks: Vec<BatchBlock<'a>>,
}

/// A transform of whole batches, run by the thread that finishes the batch.
pub trait BatchTransform: Debug + Send + Sync {
    /// Returns the spec of a sample afterwards; `on` are the fields to work on. Refuses fields it cannot work on,
    /// with a remedy in the message.
    fn spec(&self, input: &Spec, on: &[usize]) -> Result<Spec>;

    /// Returns a check of one field that every sample passes before it gets into a batch: a refused sample is a bad
    /// sample, and the batch does not fail because of it.
    fn check(&self, _input: &Spec) -> Result<Option<(usize, Arc<dyn Transform>)>> {
        Ok(None)
    }

    /// Changes the batch. The random numbers are addressed by (seed, epoch, first row of the batch, stage).
    fn apply(&self, batch: &mut BatchMut<'_>, context: &mut Context<'_>) -> Result<()>;
}
