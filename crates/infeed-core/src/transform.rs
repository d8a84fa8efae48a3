//! Sample to sample.

use crate::{FieldSpec, Result, Rng, Scratch, Value};
use std::fmt::Debug;

/// What a transform may use: its own random numbers and the thread's scratch memory.
#[derive(Debug)]
pub struct Context<'a> {
    /// Random numbers addressed by (seed, epoch, row, stage): the same for every field the transform is applied to,
    /// so an image and its mask get the same crop.
    pub rng: Rng,
    /// Memory of this thread.
    pub scratch: &'a mut Scratch,
}

/// A change of one field.
pub trait Transform: Debug + Send + Sync {
    /// What the field looks like afterwards; refuses fields it cannot work on, with the cure in the message.
    fn spec(&self, input: &FieldSpec) -> Result<FieldSpec>;

    /// Changes the value.
    fn apply(&self, value: &mut Value, context: &mut Context<'_>) -> Result<()>;
}
