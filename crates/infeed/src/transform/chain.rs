//! Chains of transforms for images outside a pipeline.

use super::ENTRIES;
use crate::families;
use infeed_core::{Context, Image, Result, Rng, Scratch, Transform, Value};
use serde_json::{Map, Value as Json};

/// Transforms applied in turn.
#[derive(Debug)]
pub struct Chain(Vec<Box<dyn Transform>>);

impl Chain {
    /// Creates a chain from names and arguments.
    pub fn new(steps: &[(String, Map<String, Json>)]) -> Result<Self> {
        let make = |(name, args): &(String, Map<String, Json>)| {
            families::find(ENTRIES, name, "transform").and_then(|entry| entry.make(args))
        };
        Ok(Chain(steps.iter().map(make).collect::<Result<_>>()?))
    }

    /// Applies the transforms to an image, and returns it or the array that they make of it. The n-th draws its random choices from (seed, epoch, row, stage + n), like
    /// the n-th stage of a pipeline.
    pub fn apply(
        &self,
        image: Image,
        (seed, epoch, row, stage): (u64, u64, u64, u64),
        scratch: &mut Scratch,
    ) -> Result<Value> {
        let mut value = Value::Image(Box::new(image));
        for (n, transform) in self.0.iter().enumerate() {
            let rng = Rng::at(seed, epoch, row, stage + n as u64);
            transform.apply(&mut value, &mut Context { rng, scratch })?;
        }
        Ok(value)
    }
}
