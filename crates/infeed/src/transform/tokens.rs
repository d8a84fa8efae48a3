//! Helpers for token transforms: integers in and out of arrays of any dtype.

use infeed_core::{Dtype, Error, FieldKind, FieldSpec, Result, Tensor, read_integers, write_integers};

/// The type of labels, whatever the type of the tokens: losses such as torch's `cross_entropy` take no other.
pub(super) const LABELS: Dtype = Dtype::I64;

/// The label that losses ignore by default.
pub(super) const IGNORED: i64 = -100;

/// Refuses a single field: the transform makes `second` from a copy of the field, and without it that part is lost.
pub(super) fn need_two(name: &str, second: &str, method: &str, count: usize) -> Result<()> {
    if count >= 2 {
        return Ok(());
    }
    Err(Error::plan(
        name,
        format!(
            "works on two fields, on=[\"tokens\", \"{second}\"], and makes the {second} from a copy of the tokens: \
             {method} makes the copy and both fields, or make it with \
             .views(\"tokens\", 1, to=\"{second}\", keep=True) and use on=[\"tokens\", \"{second}_0\"]"
        ),
    ))
}

/// Refuses anything but a list of integers.
pub(super) fn need_tokens(name: &str, input: &FieldSpec) -> Result<()> {
    if input.kind == FieldKind::Array && input.shape.len() == 1 && is_whole(input.dtype) {
        return Ok(());
    }
    let cure = match input.kind {
        FieldKind::Encoded => {
            "; decode it first, for example .decode(txt=\"text\"), and make tokens of it with Tokenize"
        }
        FieldKind::Text => "; make tokens of it with Tokenize",
        _ => "",
    };
    Err(Error::plan(
        name,
        format!("works on tokens, whole numbers in one dimension, but the field is {input}{cure}"),
    ))
}

fn is_whole(dtype: Dtype) -> bool {
    !dtype.is_float() && dtype != Dtype::Bool
}

/// Refuses a number that the dtype cannot hold.
pub(super) fn need_room(name: &str, what: &str, value: i64, dtype: Dtype) -> Result<()> {
    if dtype.holds(value) {
        return Ok(());
    }
    Err(Error::plan(
        name,
        format!(
            "{what} is {value}, which {dtype} cannot hold: use tokens of another type, Tokenize(..., dtype=\"int64\")"
        ),
    ))
}

/// The numbers of an array.
pub(super) fn read(tensor: &Tensor) -> Result<Vec<i64>> {
    let mut numbers = Vec::with_capacity(tensor.data.len() / tensor.dtype.size());
    read_integers(tensor, &mut numbers)?;
    Ok(numbers)
}

/// Makes an array of these numbers, all of which must fit the dtype.
pub(super) fn write(dtype: Dtype, numbers: &[i64]) -> Result<Tensor> {
    write_integers(dtype, numbers.iter().copied())
}
