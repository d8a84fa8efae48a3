//! One thread finishes one sample: decode, transform and write run back to back while the bytes are in cache.

use super::{
    Plan,
    plan::{Branch, Fact},
};
use crate::{batch::Part, order::filter::Scalar};
use infeed_core::{Context, Dtype, Error, Record, Result, Rng, Scratch, Value};

/// Makes a sample of a record and writes it to its place in the batch. `false` when a filter leaves it out.
pub(super) fn make(
    plan: &Plan,
    epoch: u64,
    row: u64,
    record: &mut Record,
    part: &mut Part<'_>,
    scratch: &mut Scratch,
) -> Result<bool> {
    let branch = plan.branch(row);
    let mut maker = Maker { plan, branch, epoch, row, record, scratch };
    if !branch.filters.is_empty() {
        return maker.filtered(part);
    }
    for column in 0..branch.chains.len() {
        let done = maker.advance(column, Value::Missing, 0, usize::MAX, true);
        let done = done.and_then(|value| part.put(column, value, maker.scratch));
        done.map_err(|e| e.in_field(&plan.spec.fields[column].0))?;
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
}

impl Maker<'_> {
    /// Takes a field through its transforms `from..to`; `fresh` ones are decoded first.
    fn advance(&mut self, column: usize, value: Value, from: usize, to: usize, fresh: bool) -> Result<Value> {
        let chain = &self.branch.chains[column];
        let mut value = if fresh {
            self.record.fields.get_mut(column).map(std::mem::take).unwrap_or_default()
        } else {
            value
        };
        if fresh && let Some(decoder) = &chain.decoder {
            value = match &value {
                Value::Bytes(bytes) => self.scratch.decoding(|s| decoder.decode(bytes, s))?,
                Value::Missing => {
                    return Err(Error::sample(format!(
                        "the sample has no such field; on_error=\"skip\" leaves such samples out, and a pipeline that \
                         does not decode `{}` does not need it",
                        self.plan.spec.fields[column].0
                    )));
                }
                other => return Err(Error::sample(format!("cannot decode {}", other.what()))),
            };
        }
        let to = to.min(chain.transforms.len());
        for (stage, transform) in chain.transforms.get(from..to).unwrap_or_default() {
            let rng = Rng::at(self.plan.seed, self.epoch, self.row, *stage);
            transform.apply(&mut value, &mut Context { rng, scratch: self.scratch })?;
        }
        Ok(value)
    }

    /// The fields that filters look at come first: a sample that is left out costs no more than these.
    fn filtered(&mut self, part: &mut Part<'_>) -> Result<bool> {
        let branch = self.branch;
        // The value of each field so far, and how many transforms it has behind it.
        let mut begun: Vec<Option<(Value, usize)>> = branch.chains.iter().map(|_| None).collect();
        let mut scalars: Vec<Scalar<'static>> = vec![];
        for filter in &branch.filters {
            scalars.clear();
            for fact in &filter.facts {
                scalars.push(match fact {
                    Fact::Known(name) => self.known(name),
                    Fact::Field { column, transforms, part, name } => {
                        let (value, from, fresh) = match begun[*column].take() {
                            Some((value, done)) => (value, done, false),
                            None => (Value::Missing, 0, true),
                        };
                        let value = self
                            .advance(*column, value, from, *transforms, fresh)
                            .map_err(|e| e.in_field(name))?;
                        let scalar = scalar(&value, part.as_deref()).map_err(|e| e.in_field(name))?;
                        begun[*column] = Some((value, (*transforms).max(from)));
                        scalar
                    }
                });
            }
            let keep = filter.bound.eval(&scalars);
            if !keep.map_err(|e| Error::sample(format!("filter `{}`: {e}", filter.text)))? {
                return Ok(false);
            }
        }
        for (column, begun) in begun.into_iter().enumerate() {
            let (value, from, fresh) = match begun {
                Some((value, done)) => (value, done, false),
                None => (Value::Missing, 0, true),
            };
            let done = self.advance(column, value, from, usize::MAX, fresh);
            let done = done.and_then(|value| part.put(column, value, self.scratch));
            done.map_err(|e| e.in_field(&self.plan.spec.fields[column].0))?;
        }
        Ok(true)
    }

    fn known(&self, name: &str) -> Scalar<'static> {
        let source = &self.plan.source;
        match name {
            "row" => Scalar::Int(self.row as i64),
            "key" => Scalar::Text(source.key(self.row).into()),
            "shard" => Scalar::Text(source.shard_of(self.row).into()),
            _ => Scalar::Int(source.weight(self.row, &self.plan.fields) as i64),
        }
    }
}

/// A value as filters see it.
fn scalar(value: &Value, part: Option<&str>) -> Result<Scalar<'static>> {
    Ok(match value {
        Value::Missing => Scalar::None,
        Value::Text(text) => Scalar::Text(text.to_string().into()),
        Value::Json(text) => json(text, part)?,
        Value::Image(image) => {
            Scalar::Int(i64::from(if part == Some("width") { image.width() } else { image.height() }))
        }
        Value::Tensor(t) => number(t.dtype, &t.data)?,
        other => return Err(Error::sample(format!("a filter cannot compare {}", other.what()))),
    })
}

fn number(dtype: Dtype, data: &[u8]) -> Result<Scalar<'static>> {
    macro_rules! read {
        ($t:ty) => {
            <$t>::from_ne_bytes(
                data.try_into()
                    .map_err(|_| Error::sample("a filter compares single numbers, and this is an array"))?,
            )
        };
    }
    Ok(match dtype {
        Dtype::Bool => Scalar::Bool(read!(u8) != 0),
        Dtype::U8 => Scalar::Int(read!(u8).into()),
        Dtype::I8 => Scalar::Int(read!(i8).into()),
        Dtype::U16 => Scalar::Int(read!(u16).into()),
        Dtype::I16 => Scalar::Int(read!(i16).into()),
        Dtype::U32 => Scalar::Int(read!(u32).into()),
        Dtype::I32 => Scalar::Int(read!(i32).into()),
        Dtype::U64 => {
            let n = read!(u64);
            i64::try_from(n).map_or(Scalar::Float(n as f64), Scalar::Int)
        }
        Dtype::I64 => Scalar::Int(read!(i64)),
        Dtype::F16 => Scalar::Float(half::f16::from_bits(read!(u16)).into()),
        Dtype::Bf16 => Scalar::Float(half::bf16::from_bits(read!(u16)).into()),
        Dtype::F32 => Scalar::Float(read!(f32).into()),
        Dtype::F64 => Scalar::Float(read!(f64)),
    })
}

/// A part of a JSON value: `a.b.0`.
fn json(text: &str, part: Option<&str>) -> Result<Scalar<'static>> {
    let whole: serde_json::Value =
        serde_json::from_str(text).map_err(|e| Error::sample(format!("not JSON: {e}")))?;
    let mut found = Some(&whole);
    for step in part.into_iter().flat_map(|p| p.split('.')) {
        found = found.and_then(|v| match v {
            serde_json::Value::Array(list) => step.parse::<usize>().ok().and_then(|i| list.get(i)),
            other => other.get(step),
        });
    }
    Ok(match found {
        None | Some(serde_json::Value::Null) => Scalar::None,
        Some(serde_json::Value::Bool(b)) => Scalar::Bool(*b),
        Some(serde_json::Value::String(s)) => Scalar::Text(s.clone().into()),
        Some(serde_json::Value::Number(n)) => {
            n.as_i64().map_or_else(|| Scalar::Float(n.as_f64().unwrap_or(f64::NAN)), Scalar::Int)
        }
        Some(_) => {
            return Err(Error::sample("a filter cannot compare a list or an object: name a part of it"));
        }
    })
}
