//! `Tokenize`: text to tokens.

use super::sequence::{Side, side};
use infeed_core::{
    Args, Bytes, Context, Dim, Dtype, Entry, Error, FieldKind, FieldSpec, Param, Result, Tensor, Transform,
    Value,
};
use infeed_text::{Encoder, Options, Token, Worker};

/// The registry entry.
pub(super) const ENTRY: Entry<dyn Transform> = Entry {
    name: "Tokenize",
    about: "text to tokens, with a tokenizer.json",
    params: &[
        Param { name: "tokenizer", python: "str", default: None, about: "path of a tokenizer.json" },
        Param {
            name: "max_length",
            python: "int | None",
            default: Some("null"),
            about: "most tokens of a text, with all that is added; None cuts nothing",
        },
        Param {
            name: "truncation",
            python: "str",
            default: Some("\"right\""),
            about: "which end of a long text is cut off: right or left",
        },
        Param {
            name: "special_tokens",
            python: "bool",
            default: Some("true"),
            about: "add what the tokenizer puts around a text, such as [CLS] and [SEP]",
        },
        Param {
            name: "bos",
            python: "str | int | None",
            default: Some("null"),
            about: "a token to put first, by name or number",
        },
        Param {
            name: "eos",
            python: "str | int | None",
            default: Some("null"),
            about: "a token to put last, by name or number",
        },
        Param {
            name: "dtype",
            python: "str",
            default: Some("\"int32\""),
            about: "element type: uint16, uint32, int32, uint64 or int64",
        },
    ],
    build,
};

#[derive(Debug)]
struct Tokenize {
    encoder: Encoder,
    dtype: Dtype,
}

fn build(args: &Args) -> Result<Box<dyn Transform>> {
    let dtype = args.dtype("dtype")?;
    let options = Options {
        special_tokens: args.flag("special_tokens")?,
        max_length: if args.is_none("max_length") { None } else { Some(args.int("max_length", 1)? as usize) },
        truncation: match side(args, "truncation")? {
            Side::Left => infeed_text::Side::Left,
            Side::Right => infeed_text::Side::Right,
        },
        bos: token(args, "bos")?,
        eos: token(args, "eos")?,
    };
    if !matches!(dtype, Dtype::U16 | Dtype::U32 | Dtype::I32 | Dtype::U64 | Dtype::I64) {
        return Err(args.error("dtype", "must be uint16, uint32, int32, uint64 or int64"));
    }
    let encoder = Encoder::open(args.text("tokenizer")?, &options)?;
    if dtype == Dtype::U16 && encoder.vocab_size() > 1 << 16 {
        return Err(
            args.error("dtype", &format!("is too small for {} tokens: use int32", encoder.vocab_size()))
        );
    }
    Ok(Box::new(Tokenize { encoder, dtype }))
}

fn token(args: &Args, name: &str) -> Result<Option<Token>> {
    if args.is_none(name) {
        return Ok(None);
    }
    if let Ok(text) = args.text(name) {
        return Ok(Some(Token::Name(text.to_owned())));
    }
    let id = args.int(name, 0).ok().and_then(|id| u32::try_from(id).ok());
    id.map(|id| Some(Token::Id(id))).ok_or_else(|| args.error(name, "must be a token's name or number"))
}

/// The tokenizer state that a thread keeps.
struct Workers(Vec<Worker>);

impl Transform for Tokenize {
    fn is_random(&self) -> bool {
        false
    }

    fn spec(&self, input: &FieldSpec) -> Result<FieldSpec> {
        if input.kind == FieldKind::Text {
            return Ok(FieldSpec::array(self.dtype, vec![Dim::Any]));
        }
        let cure = if input.kind == FieldKind::Encoded {
            "; decode it first, for example .decode(txt=\"text\")"
        } else {
            ""
        };
        Err(Error::plan("Tokenize", format!("works on text, but the field is {input}{cure}")))
    }

    fn apply(&self, value: &mut Value, context: &mut Context<'_>) -> Result<()> {
        let text = match value {
            Value::Text(text) => std::mem::take(text),
            other => return Err(Error::sample(format!("expected text, found {}", other.what()))),
        };
        let Workers(workers) = context.scratch.keep(|| Ok::<_, Error>(Workers(vec![])))?;
        let at = match workers.iter().position(|w| w.serves(&self.encoder)) {
            Some(at) => at,
            None => {
                workers.push(self.encoder.worker());
                workers.len() - 1
            }
        };
        let tokens = workers[at].encode(&text)?;
        let data: Vec<u8> = match self.dtype {
            Dtype::U16 => tokens.iter().flat_map(|t| (*t as u16).to_ne_bytes()).collect(),
            Dtype::U64 | Dtype::I64 => tokens.iter().flat_map(|t| u64::from(*t).to_ne_bytes()).collect(),
            _ => tokens.iter().flat_map(|t| t.to_ne_bytes()).collect(),
        };
        *value = Value::Tensor(Tensor::new(self.dtype, vec![tokens.len()], Bytes::from(data))?);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
