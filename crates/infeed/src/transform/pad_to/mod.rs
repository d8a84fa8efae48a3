//! `PadTo`: pads to a length, or to a multiple of one.

use super::{
    sequence::{Side, side, tensor},
    truncate::need_array,
};
use infeed_core::{
    Args, Bytes, Context, Dim, Dtype, Entry, Error, FieldSpec, Param, Result, Transform, Value,
};

/// The registry entry.
pub(super) const ENTRY: Entry<dyn Transform> = Entry {
    name: "PadTo",
    about: "fill arrays up to a length, or to a multiple of one, along their first dimension",
    params: &[
        Param {
            name: "length",
            python: "int | None",
            default: Some("null"),
            about: "elements that there are afterwards; longer arrays are refused",
        },
        Param {
            name: "multiple",
            python: "int | None",
            default: Some("null"),
            about: "instead of length: the next multiple of this many elements",
        },
        Param { name: "value", python: "float", default: Some("0"), about: "what is filled in" },
        Param {
            name: "side",
            python: "str",
            default: Some("\"right\""),
            about: "which end is filled up: right or left",
        },
    ],
    build,
};

#[derive(Debug)]
enum Until {
    Length(usize),
    Multiple(usize),
}

#[derive(Debug)]
struct PadTo {
    until: Until,
    value: f64,
    side: Side,
}

fn build(args: &Args) -> Result<Box<dyn Transform>> {
    let until = match (args.is_none("length"), args.is_none("multiple")) {
        (false, true) => Until::Length(args.int("length", 1)? as usize),
        (true, false) => Until::Multiple(args.int("multiple", 1)? as usize),
        _ => return Err(Error::argument("PadTo needs either length or multiple")),
    };
    Ok(Box::new(PadTo { until, value: args.float("value")?, side: side(args, "side")? }))
}

impl PadTo {
    fn target(&self, now: usize) -> Option<usize> {
        match self.until {
            Until::Length(length) => (now <= length).then_some(length),
            Until::Multiple(of) => now.checked_next_multiple_of(of),
        }
    }
}

impl Transform for PadTo {
    fn is_random(&self) -> bool {
        false
    }

    fn spec(&self, input: &FieldSpec) -> Result<FieldSpec> {
        need_array("PadTo", input)?;
        element(input.dtype, self.value).ok_or_else(|| {
            Error::plan("PadTo", format!("value is {}, which {} cannot hold", self.value, input.dtype))
        })?;
        let mut out = input.clone();
        match (out.shape.first_mut(), &self.until) {
            (Some(Dim::Fixed(n)), _) => {
                *n = self.target(*n).ok_or_else(|| {
                    Error::plan("PadTo", format!("cannot shorten arrays of {n}: put Truncate before it"))
                })?;
            }
            (Some(any), Until::Length(length)) => *any = Dim::Fixed(*length),
            _ => {}
        }
        Ok(out)
    }

    fn apply(&self, value: &mut Value, _: &mut Context<'_>) -> Result<()> {
        let tensor = tensor(value)?;
        let Some(now) = tensor.shape.first().copied() else {
            return Err(Error::sample("PadTo works on arrays, and this is a single number"));
        };
        let target = self.target(now).ok_or_else(|| {
            Error::sample(format!("PadTo cannot shorten an array of {now} elements: put Truncate before it"))
        })?;
        let Some(filling) = element(tensor.dtype, self.value) else {
            return Err(Error::sample(format!("{} cannot hold the value {}", tensor.dtype, self.value)));
        };
        let row = tensor.shape[1..].iter().product::<usize>();
        let filled = filling.repeat((target - now) * row);
        let (first, second) = match self.side {
            Side::Right => (&tensor.data[..], &filled[..]),
            Side::Left => (&filled[..], &tensor.data[..]),
        };
        tensor.data = Bytes::from([first, second].concat());
        tensor.shape[0] = target;
        Ok(())
    }
}

/// Encodes a number as an element of this dtype; `None` if it cannot be represented.
fn element(dtype: Dtype, value: f64) -> Option<Vec<u8>> {
    macro_rules! whole {
        ($t:ty) => {{
            let n = value as $t;
            (n as f64 == value).then(|| n.to_ne_bytes().to_vec())
        }};
    }
    match dtype {
        Dtype::Bool => (value == 0.0 || value == 1.0).then(|| vec![value as u8]),
        Dtype::U8 => whole!(u8),
        Dtype::I8 => whole!(i8),
        Dtype::U16 => whole!(u16),
        Dtype::I16 => whole!(i16),
        Dtype::U32 => whole!(u32),
        Dtype::I32 => whole!(i32),
        Dtype::U64 => whole!(u64),
        Dtype::I64 => whole!(i64),
        Dtype::F16 => Some(half::f16::from_f64(value).to_ne_bytes().to_vec()),
        Dtype::Bf16 => Some(half::bf16::from_f64(value).to_ne_bytes().to_vec()),
        Dtype::F32 => Some((value as f32).to_ne_bytes().to_vec()),
        Dtype::F64 => Some(value.to_ne_bytes().to_vec()),
    }
}
