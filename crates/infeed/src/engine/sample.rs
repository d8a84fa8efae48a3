//! One thread finishes one sample: decode, transform and write run back to back while the bytes are in cache.

use super::Plan;
use crate::batch::Part;
use infeed_core::{Context, Error, Record, Result, Rng, Scratch, Value};

/// Makes a sample of a record and writes it to its place in the batch.
pub(super) fn make(
    plan: &Plan,
    epoch: u64,
    row: u64,
    record: &mut Record,
    part: &mut Part<'_>,
    scratch: &mut Scratch,
) -> Result<()> {
    for (column, chain) in plan.chains.iter().enumerate() {
        let name = &plan.spec.fields[column].0;
        one(plan, epoch, row, record, column, chain, part, scratch).map_err(|e| e.in_field(name))?;
    }
    Ok(())
}

#[allow(clippy::too_many_arguments)]
fn one(
    plan: &Plan,
    epoch: u64,
    row: u64,
    record: &mut Record,
    column: usize,
    chain: &super::plan::Chain,
    part: &mut Part<'_>,
    scratch: &mut Scratch,
) -> Result<()> {
    let mut value = record.fields.get_mut(column).map(std::mem::take).unwrap_or_default();
    if let Some(decoder) = &chain.decoder {
        value = match &value {
            Value::Bytes(bytes) => scratch.decoding(|s| decoder.decode(bytes, s))?,
            Value::Missing => {
                return Err(Error::sample(format!(
                    "the sample has no such field; on_error=\"skip\" leaves such samples out, and a pipeline that does \
                     not decode `{}` does not need it",
                    plan.spec.fields[column].0
                )));
            }
            other => return Err(Error::sample(format!("cannot decode {}", other.what()))),
        };
    }
    for (stage, transform) in &chain.transforms {
        let rng = Rng::at(plan.seed, epoch, row, *stage);
        transform.apply(&mut value, &mut Context { rng, scratch })?;
    }
    part.put(column, value, scratch)
}
