//! `PadTo`: pads to a length, or to a multiple of one.

use super::{
    array::{
        MOST_AXES,
        element::element_bytes as element,
        window::{Mode, Window},
        with_last,
    },
    sequence::{Side, side, tensor},
    truncate::need_array,
};
use infeed_core::{
    Args, Bytes, Context, Dim, Entry, Error, FieldSpec, Param, Result, Tensor, Transform, Value,
};

/// The registry entry.
pub(super) const ENTRY: Entry<dyn Transform> = Entry {
    name: "PadTo",
    about: "fill arrays up to a length, or to a multiple of one, along their first dimension; or up to a size of their last axes",
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
        Param {
            name: "size",
            python: "Sequence[int] | None",
            default: Some("null"),
            about: "instead of length: the lengths of the last axes afterwards, (64, 64, 64)",
        },
        Param {
            name: "padding_mode",
            python: "str",
            default: Some("\"constant\""),
            about: "with size: constant (value), edge (repeat the last element), reflect or symmetric (mirror without or with it)",
        },
    ],
    build,
};

#[derive(Debug)]
enum Until {
    Length(usize),
    Multiple(usize),
    Size(Vec<usize>),
}

#[derive(Debug)]
struct PadTo {
    until: Until,
    value: f64,
    side: Side,
    mode: Mode,
}

fn build(args: &Args) -> Result<Box<dyn Transform>> {
    let until = match (args.is_none("length"), args.is_none("multiple"), args.is_none("size")) {
        (false, true, true) => Until::Length(args.int("length", 1)? as usize),
        (true, false, true) => Until::Multiple(args.int("multiple", 1)? as usize),
        (true, true, false) => Until::Size(args.ints("size", 1)?.iter().map(|n| *n as usize).collect()),
        _ => return Err(Error::argument("PadTo needs one of length, multiple and size")),
    };
    let mode = Mode::read(args, "padding_mode")?;
    match &until {
        Until::Size(size) if size.is_empty() || size.len() > MOST_AXES => {
            return Err(args.error("size", "must be the lengths of the last axes"));
        }
        Until::Length(_) | Until::Multiple(_) if mode != Mode::Constant => {
            return Err(args.error("padding_mode", "goes with size only"));
        }
        _ => {}
    }
    Ok(Box::new(PadTo { until, value: args.float("value")?, side: side(args, "side")?, mode }))
}

impl PadTo {
    fn target(&self, now: usize) -> Option<usize> {
        match self.until {
            Until::Length(length) => (now <= length).then_some(length),
            Until::Multiple(of) => now.checked_next_multiple_of(of),
            Until::Size(_) => None,
        }
    }

    /// Pads the last axes of an array.
    fn pad(&self, tensor: &mut Tensor, size: &[usize], context: &mut Context<'_>) -> Result<()> {
        let outer = tensor.shape.len().checked_sub(size.len());
        let lengths = outer.map_or(&[][..], |outer| &tensor.shape[outer..]);
        if lengths.len() != size.len() || lengths.iter().zip(size).any(|(n, wanted)| n > wanted) {
            return Err(Error::sample(format!(
                "PadTo cannot make an array of {size:?} of one of {:?}: put CenterCrop or RandomCrop before it",
                tensor.shape
            )));
        }
        let start = |(n, wanted): (&usize, &usize)| match self.side {
            Side::Right => 0,
            Side::Left => *n as i64 - *wanted as i64,
        };
        let starts = lengths.iter().zip(size).map(start).collect();
        let window =
            Window { name: "PadTo", starts, sizes: size.to_vec(), mode: self.mode, fill: self.value };
        window.apply(tensor, context)
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
        if let Until::Size(size) = &self.until {
            let short = |(dim, wanted): (&Dim, &usize)| matches!(dim, Dim::Fixed(n) if n > wanted);
            let outer = input.shape.len().checked_sub(size.len());
            if outer.is_none_or(|outer| input.shape[outer..].iter().zip(size).any(short)) {
                return Err(Error::plan(
                    "PadTo",
                    format!(
                        "size is {size:?}, but the field is {input}: put CenterCrop or RandomCrop before it"
                    ),
                ));
            }
            let sizes: Vec<Dim> = size.iter().map(|n| Dim::Fixed(*n)).collect();
            return Ok(with_last(input, &sizes));
        }
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

    fn apply(&self, value: &mut Value, context: &mut Context<'_>) -> Result<()> {
        let tensor = tensor(value)?;
        if let Until::Size(size) = &self.until {
            return self.pad(tensor, size, context);
        }
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
