//! The fields of a sequence.

use super::{
    sequence::Sequence,
    settings::{IGNORED, Settings},
};
use crate::recipe::PackMode;
use infeed_core::{
    Dim, Dtype, Error, FieldKind, FieldSpec, Record, Result, Spec, Tensor, Value, format::Fields,
    write_integers,
};
use std::sync::Arc;

/// The type of labels, whatever the type of the tokens: losses such as torch's `cross_entropy` take no other.
const LABELS: Dtype = Dtype::I64;

/// Returns the spec of the packed fields, if the input field can be packed.
pub(super) fn spec(settings: &Settings, input: &FieldSpec) -> Result<Spec> {
    if input.kind != FieldKind::Array || !input.dtype.is_integer() || input.shape.len() != 1 {
        return Err(Error::plan(
            "pack",
            format!(
                "`{}` is {input}: it packs arrays of token ids, [n] for a document; tokenise first, for example with \
                 .map(T.Tokenize(\"tokenizer.json\"))",
                settings.on
            ),
        ));
    }
    let row = |dtype| FieldSpec::array(dtype, vec![Dim::Fixed(settings.length)]);
    let mut fields: Vec<(Arc<str>, FieldSpec)> = vec![(settings.on.as_str().into(), row(settings.dtype))];
    for (name, wanted, spec) in [
        ("labels", settings.labels, row(LABELS)),
        ("segment_ids", settings.segment_ids, row(Dtype::I32)),
        ("position_ids", settings.position_ids, row(Dtype::I32)),
        ("cu_seqlens", settings.cu_seqlens, FieldSpec::array(Dtype::I32, vec![Dim::Any])),
    ] {
        if wanted {
            if fields.iter().any(|(other, _)| **other == *name) {
                return Err(Error::plan("pack", format!("two fields would be called `{name}`")));
            }
            fields.push((name.into(), spec));
        }
    }
    Ok(Spec { fields })
}

/// Returns the fields as saved states know them: in older versions labels had the type of the tokens.
pub(super) fn of_states(settings: &Settings, spec: &Spec) -> Fields {
    let mut fields = spec.fields.clone();
    for (_, field) in fields.iter_mut().filter(|(name, _)| settings.labels && **name == *"labels") {
        field.dtype = settings.dtype;
    }
    fields
}

/// Makes the requested fields of a sequence.
pub(super) fn record(settings: &Settings, fields: &[Arc<str>], sequence: &Sequence) -> Result<Record> {
    let value = |name: &Arc<str>| -> Result<Value> {
        Ok(Value::Tensor(match &**name {
            name if name == settings.on => tokens(settings, sequence)?,
            "labels" => labels(settings, sequence)?,
            "segment_ids" => by_document(settings, sequence, |document, _| document as i32 + 1),
            "position_ids" => by_document(settings, sequence, |_, at| at as i32),
            "cu_seqlens" => {
                let starts = std::iter::once(0).chain(sequence.ends.iter().copied());
                ints(starts.map(|n| n as i32))
            }
            _ => return Ok(Value::Missing),
        }))
    };
    Ok(Record { fields: fields.iter().map(value).collect::<Result<_>>()? })
}

fn tokens(settings: &Settings, sequence: &Sequence) -> Result<Tensor> {
    let token = |at: usize| sequence.tokens.get(at).copied().unwrap_or(settings.pad);
    write_integers(settings.dtype, (0..settings.length).map(token))
}

/// The next token as label. With documents end to end that is the next token of any document; where documents stay
/// whole, the last token of each has no label.
fn labels(settings: &Settings, sequence: &Sequence) -> Result<Tensor> {
    let mut ends = sequence.ends.iter().copied().peekable();
    let label = |at: usize| {
        while ends.next_if(|end| *end <= at).is_some() {}
        let last = settings.mode != PackMode::Concat && ends.peek() == Some(&(at + 1));
        sequence.tokens.get(at + 1).copied().filter(|_| !last).unwrap_or(IGNORED)
    };
    write_integers(LABELS, (0..settings.length).map(label).collect::<Vec<_>>().into_iter())
}

/// Computes one number per token from its document and its position in it; 0 for padding.
fn by_document(settings: &Settings, sequence: &Sequence, number: impl Fn(usize, usize) -> i32) -> Tensor {
    let mut out = Vec::with_capacity(settings.length);
    let mut start = 0;
    for (document, end) in sequence.ends.iter().enumerate() {
        out.extend((start..*end).map(|at| number(document, at - start)));
        start = *end;
    }
    out.resize(settings.length, 0);
    ints(out.into_iter())
}

fn ints(numbers: impl Iterator<Item = i32>) -> Tensor {
    let data: Vec<u8> = numbers.flat_map(i32::to_ne_bytes).collect();
    Tensor { dtype: Dtype::I32, shape: vec![data.len() / 4], data: data.into() }
}
