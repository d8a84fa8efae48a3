//! Transforms one after the other, for images that do not come out of a pipeline.

use super::ENTRIES;
use crate::families;
use infeed_core::{Context, Error, Image, Result, Rng, Scratch, Transform, Value};
use serde_json::{Map, Value as Json};

/// Some transforms, applied in turn.
#[derive(Debug)]
pub struct Chain(Vec<Box<dyn Transform>>);

impl Chain {
    /// By name and arguments.
    pub fn new(steps: &[(String, Map<String, Json>)]) -> Result<Self> {
        let make = |(name, args): &(String, Map<String, Json>)| {
            families::find(ENTRIES, name, "transform").and_then(|entry| entry.make(args))
        };
        Ok(Chain(steps.iter().map(make).collect::<Result<_>>()?))
    }

    /// Applies them to an image. The n-th draws its random choices from (seed, epoch, row, stage + n), as the n-th stage
    /// of a pipeline would.
    pub fn apply(
        &self,
        image: Image,
        (seed, epoch, row, stage): (u64, u64, u64, u64),
        scratch: &mut Scratch,
    ) -> Result<Image> {
        let mut value = Value::Image(Box::new(image));
        for (n, transform) in self.0.iter().enumerate() {
            let rng = Rng::at(seed, epoch, row, stage + n as u64);
            transform.apply(&mut value, &mut Context { rng, scratch })?;
        }
        match value {
            Value::Image(image) => Ok(*image),
            other => Err(Error::sample(format!("expected an image, found {}", other.what()))),
        }
    }
}
