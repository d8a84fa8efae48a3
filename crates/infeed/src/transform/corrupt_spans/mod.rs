//! `CorruptSpans`: removes spans of tokens for a model to predict.

use super::{
    sequence::tensor,
    tokens::{IGNORED, LABELS, need_room, need_tokens, need_two, read, write},
};
use infeed_core::{Args, Context, Dim, Entry, Error, FieldSpec, Param, Result, Transform, Value};
use infeed_text::Corruption;
use std::sync::Arc;

/// The registry entry.
pub(super) const ENTRY: Entry<dyn Transform> = Entry {
    name: "CorruptSpans",
    about: "T5's span corruption, on=[\"inputs\", \"targets\"]: two copies of the same tokens",
    params: &[
        Param {
            name: "sentinel_start",
            python: "int",
            default: None,
            about: "the first sentinel; the next are one less each",
        },
        Param {
            name: "length",
            python: "int | None",
            default: Some("null"),
            about: "most tokens of the inputs; of longer texts the end is not used. None takes all",
        },
        Param {
            name: "density",
            python: "float",
            default: Some("0.15"),
            about: "share of tokens that are noise",
        },
        Param {
            name: "mean_span",
            python: "float",
            default: Some("3.0"),
            about: "mean length of a span of noise",
        },
        Param {
            name: "eos",
            python: "int | None",
            default: Some("null"),
            about: "a token that ends inputs and targets",
        },
        Param {
            name: "ascending",
            python: "bool",
            default: Some("false"),
            about: "count sentinels up instead of down",
        },
    ],
    build,
};

#[derive(Debug, Clone)]
struct CorruptSpans {
    corruption: Arc<Corruption>,
    sentinel: i64,
    targets: bool,
}

fn build(args: &Args) -> Result<Box<dyn Transform>> {
    let optional = |name: &str, least: i64| {
        if args.is_none(name) { Ok(None) } else { args.int(name, least).map(Some) }
    };
    let sentinel = args.int("sentinel_start", 0)?;
    let corruption = Corruption::new(
        sentinel,
        args.flag("ascending")?,
        args.float("density")?,
        args.float("mean_span")?,
        optional("eos", 0)?,
        optional("length", 1)?.map(|n| n as usize),
    )
    .map_err(|e| Error::argument(format!("CorruptSpans: {e}")))?;
    Ok(Box::new(CorruptSpans { corruption: Arc::new(corruption), sentinel, targets: false }))
}

impl Transform for CorruptSpans {
    fn spec(&self, input: &FieldSpec) -> Result<FieldSpec> {
        need_tokens("CorruptSpans", input)?;
        let mut out = input.clone();
        if self.targets {
            out.dtype = LABELS;
        }
        need_room("CorruptSpans", "sentinel_start", self.sentinel, out.dtype)?;
        if let Some(Dim::Fixed(n)) = out.shape.first_mut() {
            let (inputs, targets) = self.corruption.sizes(*n);
            *n = if self.targets { targets } else { inputs };
        }
        Ok(out)
    }

    fn at(&self, place: usize) -> Result<Option<Arc<dyn Transform>>> {
        match place {
            0 | 1 => Ok(Some(Arc::new(CorruptSpans { targets: place == 1, ..self.clone() }))),
            _ => Err(Error::plan(
                "CorruptSpans",
                "works on two fields, the inputs and the targets: on=[inputs, targets]",
            )),
        }
    }

    fn check_fields(&self, count: usize) -> Result<()> {
        need_two(
            "CorruptSpans",
            "targets",
            ".corrupt_spans(on=\"tokens\", targets=\"targets\", sentinel_start=...)",
            count,
        )
    }

    fn pad_value(&self) -> Option<f64> {
        self.targets.then_some(IGNORED as f64)
    }

    fn apply(&self, value: &mut Value, context: &mut Context<'_>) -> Result<()> {
        let tensor = tensor(value)?;
        let tokens = read(tensor)?;
        *tensor = if self.targets {
            write(LABELS, &self.corruption.targets(&tokens, &mut context.rng)?)?
        } else {
            write(tensor.dtype, &self.corruption.inputs(&tokens, &mut context.rng)?)?
        };
        Ok(())
    }
}
