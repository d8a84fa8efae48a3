//! Sample to sample.

use crate::{Boxes, Canvas, FieldSpec, Moves, Reach, Result, Rng, Scratch, Value};
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

/// A transform of one field.
pub trait Transform: Debug + Send + Sync {
    /// Returns the spec of the field afterwards. Refuses fields it cannot work on, with a remedy in the message.
    fn spec(&self, input: &FieldSpec) -> Result<FieldSpec>;

    /// Returns the transform for the field at this position, if one call treats several fields differently: the first
    /// becomes the input of a model, the second the expected output. `None` means that all are treated alike. All of
    /// them get the same random numbers.
    fn at(&self, _place: usize) -> Result<Option<Arc<dyn Transform>>> {
        Ok(None)
    }

    /// Returns what it does to things that lie in an image. Transforms that move pixels say so.
    fn reach(&self) -> Reach {
        Reach::Values
    }

    /// Returns how [`Transform::apply`] moves the pixels of an image of this size with these random numbers, for boxes and
    /// points that follow. Only those with [`Reach::Scene`] get boxes, which are placed; their images and masks follow too.
    fn moves(&self, _canvas: Canvas, _boxes: Option<&Boxes>, _rng: &mut Rng) -> Result<Moves> {
        Ok(Moves::default())
    }

    /// Refuses a number of fields it cannot be applied to at once: a transform that makes an input and the expected
    /// output would lose one of them on a single field.
    fn check_fields(&self, _count: usize) -> Result<()> {
        Ok(())
    }

    /// Refuses fields that it would have to treat alike and cannot, because they differ: arrays of which the same part is taken
    /// must agree in shape.
    fn check_together(&self, _fields: &[(&str, &FieldSpec)]) -> Result<()> {
        Ok(())
    }

    /// Returns the transform for the field of this name, if that makes a difference: numbers that were computed for each field.
    fn for_field(&self, _field: &str) -> Result<Option<Arc<dyn Transform>>> {
        Ok(None)
    }

    /// The value that pads the field it made, if samples of different length are padded into one array: what a loss
    /// ignores, for labels. `None` leaves the choice to the batch.
    fn pad_value(&self) -> Option<f64> {
        None
    }

    /// Whether the result depends on the random numbers. What stands before a cache must not: it would be drawn once and then
    /// kept. A transform that never draws says so.
    fn is_random(&self) -> bool {
        true
    }

    /// Changes the value.
    fn apply(&self, value: &mut Value, context: &mut Context<'_>) -> Result<()>;
}
