//! Transforms of finished batches, before the consumer sees them.

use super::{Batch, Column, Pool, lease::Open};
use infeed_core::{BatchBlock, BatchMut, BatchTransform, Context, Error, FieldSpec, Result, Spec};
use std::sync::Arc;

/// One batch transform with the specs before and after it, settled by the plan.
#[derive(Debug, Clone)]
pub struct Change {
    /// Its name.
    pub name: String,
    /// The number of its stage: part of the address of its random numbers.
    pub stage: u64,
    /// The transform.
    pub transform: Arc<dyn BatchTransform>,
    /// The fields it works on.
    pub on: Vec<usize>,
    /// The spec of a sample before it.
    pub before: Spec,
    /// The spec of a sample after it.
    pub after: Spec,
}

impl Change {
    /// Whether a field gets another dtype or shape.
    pub fn renews(&self, field: usize) -> bool {
        self.before.fields[field].1 != self.after.fields[field].1
    }

    /// Changes the batch in place; only fields that get another dtype or shape move to new memory.
    pub fn apply(&self, batch: &mut Batch, pool: &Arc<Pool>, context: &mut Context<'_>) -> Result<()> {
        let samples = batch.len();
        let mut opened: Vec<Option<Open>> = Vec::with_capacity(batch.columns.len());
        for (at, (name, spec)) in self.after.fields.iter().enumerate() {
            opened.push(match self.renews(at) {
                true => Some(pool.take(bytes(name, spec)?.saturating_mul(samples))?),
                false => None,
            });
        }
        let mut blocks = Vec::with_capacity(batch.columns.len());
        for ((_, column), open) in batch.columns.iter_mut().zip(&mut opened) {
            let data = match column {
                Column::Array { dtype, shape, lease } => {
                    let len = shape.iter().product::<usize>() * dtype.size();
                    Arc::get_mut(lease).and_then(|lease| lease.bytes_mut().get_mut(..len)).ok_or_else(
                        || Error::Internal { what: "a batch is changed that somebody holds".to_owned() },
                    )?
                }
                // Fields of batch transforms are not deferred.
                Column::Deferred { .. } | Column::List(_) => &mut [],
            };
            blocks.push(BatchBlock { data, out: open.as_mut().map(Open::bytes_mut) });
        }
        self.transform.apply(&mut BatchMut { spec: &self.before, on: &self.on, samples, blocks }, context)?;
        for (at, open) in opened.into_iter().enumerate() {
            let Some(open) = open else { continue };
            let spec = &self.after.fields[at].1;
            let shape = [samples].into_iter().chain(spec.fixed_shape().unwrap_or_default()).collect();
            batch.columns[at].1 = Column::Array { dtype: spec.dtype, shape, lease: Arc::new(open.seal()) };
        }
        Ok(())
    }
}

fn bytes(name: &str, spec: &FieldSpec) -> Result<usize> {
    spec.fixed_bytes()
        .ok_or_else(|| Error::Internal { what: format!("a batch transform leaves `{name}` as {spec}") })
}
