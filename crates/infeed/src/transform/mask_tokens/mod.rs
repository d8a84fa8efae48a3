//! `MaskTokens`: masks tokens for a model to predict.

use super::{
    sequence::tensor,
    tokens::{LABELS, need_room, need_tokens, need_two, read, write},
};
use infeed_core::{Args, Context, Entry, Error, FieldSpec, Param, Result, Transform, Value};
use infeed_text::{Encoder, Masking, Options};
use std::sync::Arc;

/// The registry entry.
pub(super) const ENTRY: Entry<dyn Transform> = Entry {
    name: "MaskTokens",
    about: "hide tokens for masked language modelling, on=[\"tokens\", \"labels\"]: two copies of the same tokens",
    params: &[
        Param { name: "mask", python: "int", default: None, about: "the token that hides others" },
        Param { name: "vocab", python: "int", default: None, about: "how many tokens there are" },
        Param {
            name: "probability",
            python: "float",
            default: Some("0.15"),
            about: "how likely a token is chosen",
        },
        Param {
            name: "keep",
            python: "float",
            default: Some("0.1"),
            about: "share of the chosen tokens that stay as they are",
        },
        Param {
            name: "random",
            python: "float",
            default: Some("0.1"),
            about: "share of the chosen tokens that become any other",
        },
        Param {
            name: "special",
            python: "Sequence[int]",
            default: Some("[]"),
            about: "tokens that are never chosen",
        },
        Param {
            name: "ignore",
            python: "int",
            default: Some("-100"),
            about: "label of tokens that were not chosen, and of padding",
        },
        Param {
            name: "whole_words",
            python: "str | None",
            default: Some("null"),
            about: "path of the tokenizer.json, to choose words with all their tokens",
        },
    ],
    build,
};

#[derive(Debug, Clone)]
struct MaskTokens {
    masking: Arc<Masking>,
    /// The largest number that it writes into the inputs.
    last_token: i64,
    ignore: i64,
    labels: bool,
}

fn build(args: &Args) -> Result<Box<dyn Transform>> {
    let (mask, vocab, ignore) = (args.int("mask", 0)?, args.int("vocab", 1)?, args.int("ignore", i64::MIN)?);
    let shares = (args.probability("keep")?, args.probability("random")?);
    let special = args.ints("special", 0)?;
    let p = args.probability("probability")?;
    let mut masking = Masking::new(mask, vocab as u64, p, shares, special, ignore)
        .map_err(|e| Error::argument(format!("MaskTokens: {e}")))?;
    if !args.is_none("whole_words") {
        let options = Options { special_tokens: false, ..Options::default() };
        masking = masking.whole_words(Encoder::open(args.text("whole_words")?, &options)?.continues());
    }
    Ok(Box::new(MaskTokens { masking: Arc::new(masking), last_token: vocab - 1, ignore, labels: false }))
}

impl Transform for MaskTokens {
    fn spec(&self, input: &FieldSpec) -> Result<FieldSpec> {
        need_tokens("MaskTokens", input)?;
        if self.labels {
            return Ok(FieldSpec { dtype: LABELS, ..input.clone() });
        }
        need_room("MaskTokens", "the last token of vocab", self.last_token, input.dtype)?;
        Ok(input.clone())
    }

    fn at(&self, place: usize) -> Result<Option<Arc<dyn Transform>>> {
        match place {
            0 | 1 => Ok(Some(Arc::new(MaskTokens { labels: place == 1, ..self.clone() }))),
            _ => Err(Error::plan(
                "MaskTokens",
                "works on two fields, the inputs and the labels: on=[inputs, labels]",
            )),
        }
    }

    fn check_fields(&self, count: usize) -> Result<()> {
        need_two(
            "MaskTokens",
            "labels",
            ".mask_tokens(on=\"tokens\", labels=\"labels\", mask=..., vocab=...)",
            count,
        )
    }

    fn pad_value(&self) -> Option<f64> {
        self.labels.then_some(self.ignore as f64)
    }

    fn apply(&self, value: &mut Value, context: &mut Context<'_>) -> Result<()> {
        let tensor = tensor(value)?;
        let mut tokens = read(tensor)?;
        if self.labels {
            self.masking.labels(&mut tokens, &mut context.rng);
            *tensor = write(LABELS, &tokens)?;
        } else {
            self.masking.inputs(&mut tokens, &mut context.rng);
            *tensor = write(tensor.dtype, &tokens)?;
        }
        Ok(())
    }
}
