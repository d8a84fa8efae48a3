//! Arrays of any rank: what the transforms of arrays have in common.
//!
//! Elements are bytes in this machine's order. [`element`] knows their types, [`pointwise`] changes each of them,
//! [`strided`] moves them, [`window`] cuts boxes out and pads, [`resample`] changes how many there are.

pub(super) mod element;
pub(super) mod pointwise;
pub(super) mod resample;
pub(super) mod sides;
pub(super) mod strided;
pub(super) mod window;

#[cfg(test)]
pub(super) mod check;
#[cfg(test)]
mod tests;

use infeed_core::{
    Args, Bytes, Context, Dim, Dtype, Error, FieldKind, FieldSpec, Result, Tensor, Value, memory,
};
use serde_json::Value as Json;

/// More axes than any array has. It bounds lists of axes and sizes.
pub(super) const MOST_AXES: usize = 32;

/// Whether a field is an array, and not an image or what lies in one.
pub(super) fn is_array(input: &FieldSpec) -> bool {
    input.kind == FieldKind::Array
}

/// Refuses anything but arrays of numbers.
pub(super) fn need_array(name: &str, input: &FieldSpec) -> Result<()> {
    if is_array(input) {
        return Ok(());
    }
    let cure = match input.kind {
        FieldKind::Encoded => "; decode it first, for example .decode(x=\"npy\")",
        FieldKind::Image(_) => "; it is for numbers, and an image is pixels until it is in a batch",
        _ => "",
    };
    Err(Error::plan(name, format!("works on arrays, but the field is {input}{cure}")))
}

/// Returns the array inside, or an error.
pub(super) fn tensor(value: &mut Value) -> Result<&mut Tensor> {
    match value {
        Value::Tensor(tensor) => Ok(tensor),
        other => Err(Error::sample(format!("expected an array, found {}", other.what()))),
    }
}

/// The floating-point type of a result: that of the array, or f32 for integers and bool.
pub(super) fn float_of(dtype: Dtype) -> Dtype {
    if dtype.is_float() { dtype } else { Dtype::F32 }
}

/// The place of an axis, which may count from the end.
pub(super) fn axis(name: &str, what: &str, given: i64, rank: usize) -> Result<usize> {
    let found = if given < 0 { given + rank as i64 } else { given };
    usize::try_from(found).ok().filter(|at| *at < rank).ok_or_else(|| {
        Error::plan(name, format!("{what} is {given}, but the array has {rank} axes: {}", shown_axes(rank)))
    })
}

fn shown_axes(rank: usize) -> String {
    if rank == 0 { "it is a single number".to_owned() } else { format!("-{rank} to {}", rank - 1) }
}

/// Reads a list of axes, which may count from the end; a single number is a list of one.
pub(super) fn axes(args: &Args, name: &str) -> Result<Vec<i64>> {
    let least = -(MOST_AXES as i64);
    let bad = |_| args.error(name, "must be an axis or a list of axes; -1 is the last one");
    let found = args.ints(name, least).map_err(bad)?;
    if found.len() > MOST_AXES || found.iter().any(|a| *a >= MOST_AXES as i64) {
        return Err(args.error(name, "has more axes than an array can have"));
    }
    Ok(found)
}

/// Reads one axis, or `None`.
pub(super) fn one_axis(args: &Args, name: &str) -> Result<Option<i64>> {
    if args.is_none(name) {
        return Ok(None);
    }
    match (args.value(name).is_some_and(Json::is_array), axes(args, name)?.as_slice()) {
        (false, [one]) => Ok(Some(*one)),
        _ => Err(args.error(name, "must be one axis; -1 is the last one")),
    }
}

/// Elements of a shape; an error if that is more than there can be.
pub(super) fn elements(shape: &[usize]) -> Result<usize> {
    let all = shape.iter().try_fold(1usize, |n, d| n.checked_mul(*d));
    all.ok_or_else(|| Error::sample(format!("an array of {shape:?} has too many elements")))
}

/// Memory for an array of this type and shape, zeroed. It is claimed from the sample's budget first.
pub(super) fn room(dtype: Dtype, shape: &[usize], context: &mut Context<'_>) -> Result<Vec<u8>> {
    let bytes = elements(shape)?.checked_mul(dtype.size());
    let bytes = bytes.ok_or_else(|| Error::sample(format!("an array of {dtype}{shape:?} is too large")))?;
    context.scratch.claim(bytes as u64)?;
    memory::zeroed(bytes)
}

/// Changes bytes where they lie if nobody else has them, and a copy otherwise.
pub(super) fn edit<T>(data: &mut Bytes, work: impl FnOnce(&mut [u8]) -> T) -> Result<T> {
    match std::mem::take(data).try_into_mut() {
        Ok(mut own) => {
            let out = work(&mut own);
            *data = own.freeze();
            Ok(out)
        }
        Err(lent) => {
            let mut own = memory::with_capacity(lent.len())?;
            own.extend_from_slice(&lent);
            let out = work(&mut own);
            *data = own.into();
            Ok(out)
        }
    }
}

/// The spec with other lengths of the last axes.
pub(super) fn with_last(input: &FieldSpec, last: &[Dim]) -> FieldSpec {
    let mut out = input.clone();
    let from = out.shape.len().saturating_sub(last.len());
    out.shape.splice(from.., last.iter().copied());
    out
}

/// Refuses fields that are moved together and differ in the last `count` axes: the same random numbers would mean other
/// places.
pub(super) fn same_last(name: &str, fields: &[(&str, &FieldSpec)], count: usize) -> Result<()> {
    let last = |spec: &FieldSpec| spec.shape[spec.shape.len().saturating_sub(count)..].to_vec();
    let mut arrays = fields.iter().filter(|(_, spec)| is_array(spec));
    let Some((first, spec)) = arrays.next() else { return Ok(()) };
    let wanted = last(spec);
    let differs = |a: &[Dim], b: &[Dim]| {
        a.iter().zip(b).any(|pair| matches!(pair, (Dim::Fixed(x), Dim::Fixed(y)) if x != y))
    };
    match arrays.find(|(_, spec)| differs(&wanted, &last(spec))) {
        Some((other, other_spec)) => Err(Error::plan(
            name,
            format!(
                "moves `{first}` ({spec}) and `{other}` ({other_spec}) together, but their last {count} axes differ: \
                 give them stages of their own if they do not belong together"
            ),
        )),
        None => Ok(()),
    }
}

/// The place of an element as indices, for messages.
pub(super) fn place(mut at: usize, shape: &[usize]) -> Vec<usize> {
    let mut out: Vec<usize> = shape
        .iter()
        .rev()
        .map(|n| {
            let here = at % n.max(&1);
            at /= n.max(&1);
            here
        })
        .collect();
    out.reverse();
    out
}
