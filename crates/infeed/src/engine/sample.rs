//! Making one sample on one thread: decode, transform and write run back to back while the bytes are in cache.

mod keep;
mod scalar;

use super::{
    Plan, joint,
    plan::{Branch, Chain, ChainStep, FilterInput, Joint, SampleFilter, Start},
};
use crate::{batch::SampleSlot, order::filter::Scalar};
use infeed_core::{Bytes, Context, Error, Record, Result, Rng, Scratch, Value};
use scalar::scalar;

/// What a sample is made of.
pub(super) enum Input<'a> {
    /// The row as it is stored.
    Stored(&'a mut Record),
    /// The same; the sample is kept under this number.
    ToKeep(&'a mut Record, u128),
    /// What was kept of the sample.
    Kept(Bytes),
}

/// Makes a sample and writes it to its slot in the batch. Returns `false` if a filter drops it.
pub(super) fn make(
    plan: &Plan,
    epoch: u64,
    row: u64,
    input: Input<'_>,
    slot: &mut SampleSlot<'_>,
    scratch: &mut Scratch,
) -> Result<bool> {
    let branch = plan.branch(row);
    let mut empty = Record::default();
    let (record, stamp, bytes) = match input {
        Input::Stored(record) => (record, None, None),
        Input::ToKeep(record, stamp) => (record, Some(stamp), None),
        Input::Kept(bytes) => (&mut empty, None, Some(bytes)),
    };
    let mut maker = Maker { plan, branch, epoch, row, record, scratch, begun: vec![] };
    match (&branch.kept, stamp, bytes) {
        (Some(kept), _, Some(bytes)) => return maker.go_on(kept, bytes, slot),
        (Some(kept), Some(stamp), None) => return maker.make_and_keep(kept, stamp, slot),
        (None, _, Some(_)) => {
            return Err(Error::Internal { what: "a sample was kept by nobody".to_owned() });
        }
        (_, _, None) => {}
    }
    let together = !branch.joints.is_empty() || branch.chains.iter().any(|c| !c.forks.is_empty());
    if !branch.filters.is_empty() || together {
        return maker.in_stages(slot);
    }
    for (column, chain) in branch.chains.iter().enumerate() {
        let done = maker.stored(chain).and_then(|value| maker.advance(chain, value, 0, usize::MAX));
        let done = done.and_then(|value| slot.put(column, value, maker.scratch));
        done.map_err(|e| e.in_field(&chain.name))?;
    }
    Ok(true)
}

struct Maker<'a> {
    plan: &'a Plan,
    branch: &'a Branch,
    epoch: u64,
    row: u64,
    record: &'a mut Record,
    scratch: &'a mut Scratch,
    /// Fields in progress, when they are not made one after the other.
    begun: Vec<Option<FieldUnderWay>>,
}

/// A field in progress.
struct FieldUnderWay {
    value: Value,
    /// Transforms applied so far.
    done: usize,
    /// Forks passed so far.
    forks: usize,
}

impl<'a> Maker<'a> {
    /// Returns the decoded start value of a chain that begins in the record.
    fn stored(&mut self, chain: &Chain) -> Result<Value> {
        let Start::Stored { at, .. } = &chain.start else { return Ok(Value::Missing) };
        let value = self.record.fields.get_mut(*at).map(std::mem::take).unwrap_or_default();
        self.decoded(chain, value)
    }

    fn decoded(&mut self, chain: &Chain, value: Value) -> Result<Value> {
        let Some(decoder) = &chain.decoder else { return Ok(value) };
        match &value {
            Value::Bytes(bytes) => self.scratch.decoding(|s| decoder.decode(bytes, s)),
            Value::Missing if chain.optional => Ok(value),
            Value::Missing => Err(Error::sample(format!(
                "the sample has no such field; decode(optional=True) gives None, on_error=\"skip\" leaves such samples \
                 out, and a pipeline that does not decode `{}` does not need it",
                chain.name
            ))),
            _ => decoder.decode_value(value, self.scratch),
        }
    }

    /// Applies the transforms `from..to` of a chain to a value.
    fn advance(&mut self, chain: &Chain, mut value: Value, from: usize, to: usize) -> Result<Value> {
        if chain.optional && matches!(value, Value::Missing) {
            return Ok(value);
        }
        let to = to.min(chain.transforms.len());
        for (stage, step) in chain.transforms.get(from..to).unwrap_or_default() {
            let ChainStep::Own(transform) = step else {
                return Err(Error::Internal { what: format!("a joint of `{}` was passed by", chain.name) });
            };
            let rng = Rng::at(self.plan.seed, self.epoch, self.row, *stage);
            transform.apply(&mut value, &mut Context { rng, scratch: self.scratch })?;
        }
        Ok(value)
    }

    /// Advances a field to the given number of transforms and hands out its copies on the way.
    fn reach(&mut self, column: usize, to: usize) -> Result<&Value> {
        let chain: &'a Chain = &self.branch.chains[column];
        self.step(chain, column, to).map_err(|e| e.in_field(&chain.name))?;
        match &self.begun[column] {
            Some(begun) => Ok(&begun.value),
            None => Err(Error::Internal { what: format!("the field `{}` was used up", chain.name) }),
        }
    }

    fn step(&mut self, chain: &'a Chain, column: usize, to: usize) -> Result<()> {
        if self.begun[column].is_none() {
            match &chain.start {
                Start::Stored { .. } => {
                    let value = self.stored(chain)?;
                    self.begun[column] = Some(FieldUnderWay { value, done: 0, forks: 0 });
                }
                // The fork stores the copy in `begun`.
                Start::Copy { at, after, .. } => self.reach(*at, *after).map(drop)?,
            }
        }
        let to = to.min(chain.transforms.len());
        loop {
            let Some(FieldUnderWay { mut value, mut done, mut forks }) = self.begun[column].take() else {
                return Ok(());
            };
            let joint = (done..to).find(|at| matches!(chain.transforms[*at].1, ChainStep::Joint(_)));
            let stop = joint.unwrap_or(to);
            while let Some(fork) = chain.forks.get(forks).filter(|f| f.after <= stop) {
                value = self.advance(chain, value, done, fork.after)?;
                done = done.max(fork.after);
                forks += 1;
                if chain.shared
                    && let Value::Image(image) = &mut value
                {
                    image.share();
                }
                for copy in &fork.to {
                    // One that was made before the sample was kept came with it.
                    if self.begun[*copy].is_some() {
                        continue;
                    }
                    let value = self.decoded(&self.branch.chains[*copy], value.clone())?;
                    self.begun[*copy] = Some(FieldUnderWay { value, done: 0, forks: 0 });
                }
            }
            let value = self.advance(chain, value, done, stop)?;
            self.begun[column] = Some(FieldUnderWay { value, done: done.max(stop), forks });
            match joint.map(|at| &chain.transforms[at].1) {
                Some(ChainStep::Joint(number)) => self.join(*number)?,
                _ => return Ok(()),
            }
        }
    }

    /// Takes a step that several fields take together, once all of them have come so far.
    fn join(&mut self, number: usize) -> Result<()> {
        let joint: &'a Joint = &self.branch.joints[number];
        for part in &joint.parts {
            self.reach(part.column, part.after)?;
        }
        let lost =
            |name: &str| Error::Internal { what: format!("the field `{name}` was used up before a joint") };
        let mut values = Vec::with_capacity(joint.parts.len());
        for part in &joint.parts {
            let begun = self.begun[part.column].as_mut().filter(|b| b.done == part.after);
            values.push(std::mem::take(&mut begun.ok_or_else(|| lost(&part.name))?.value));
        }
        let rng = Rng::at(self.plan.seed, self.epoch, self.row, joint.stage);
        joint::apply(joint, &mut values, rng, self.scratch)?;
        for (part, value) in joint.parts.iter().zip(values) {
            if let Some(begun) = &mut self.begun[part.column] {
                (begun.value, begun.done) = (value, part.after + 1);
            }
        }
        Ok(())
    }

    /// Makes the fields that filters read first, so that a dropped sample costs no more than these. Fields with copies
    /// advance as far as the copies need.
    fn in_stages(&mut self, slot: &mut SampleSlot<'_>) -> Result<bool> {
        let branch = self.branch;
        self.begun = branch.chains.iter().map(|_| None).collect();
        if !self.passes(&branch.filters)? {
            return Ok(false);
        }
        self.write((0..branch.joints.len()).map(|number| &branch.joints[number]), slot)?;
        Ok(true)
    }

    /// Whether all of these filters let the sample pass.
    fn passes(&mut self, filters: &[SampleFilter]) -> Result<bool> {
        let mut scalars: Vec<Scalar<'static>> = vec![];
        for filter in filters {
            scalars.clear();
            for fact in &filter.facts {
                scalars.push(match fact {
                    FilterInput::Known(name) => self.known(name),
                    FilterInput::Field { column, transforms, part, name } => {
                        let value = self.reach(*column, *transforms)?;
                        scalar(value, part.as_deref()).map_err(|e| e.in_field(name))?
                    }
                });
            }
            let keep = filter.bound.eval(&scalars);
            if !keep.map_err(|e| Error::sample(format!("filter `{}`: {e}", filter.text)))? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Takes the rest of the steps and writes all fields.
    fn write(&mut self, joints: impl Iterator<Item = &'a Joint>, slot: &mut SampleSlot<'_>) -> Result<()> {
        // A field that is written is used up, so all that needs others comes first.
        for part in joints.flat_map(|j| &j.parts) {
            self.reach(part.column, part.after + 1)?;
        }
        for (column, (name, _)) in self.plan.spec.fields.iter().enumerate() {
            self.reach(column, usize::MAX)?;
            let value = self.begun[column].take().map(|b| b.value).unwrap_or_default();
            slot.put(column, value, self.scratch).map_err(|e| e.in_field(name))?;
        }
        Ok(())
    }

    fn known(&self, name: &str) -> Scalar<'static> {
        let source = &self.plan.source;
        match name {
            "row" => Scalar::Int(self.row as i64),
            "key" => Scalar::Text(source.key(self.row).into()),
            "shard" => Scalar::Text(source.shard_of(self.row).into()),
            _ => Scalar::Int(source.row_bytes(self.row, &self.plan.fields) as i64),
        }
    }
}
