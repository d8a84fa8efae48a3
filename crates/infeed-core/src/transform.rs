//! Sample to sample.

use crate::{FieldSpec, Result, Rng, Scratch, Value};
use std::{fmt::Debug, sync::Arc};

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

    /// The transform for the field that is named at this place, where one call works on several fields in different ways:
    /// the first becomes the input of a model, the second what it should answer. Nothing means that all are treated alike.
    /// All of them get the same random numbers.
    fn at(&self, _place: usize) -> Result<Option<Arc<dyn Transform>>> {
        Ok(None)
    }

    /// Changes the value.
    fn apply(&self, value: &mut Value, context: &mut Context<'_>) -> Result<()>;
}
