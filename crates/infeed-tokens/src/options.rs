//! The options of a token corpus.

use crate::{Drift, Read};
use infeed_core::{Args, Dtype, Error, Result};

/// How rows are cut from tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sampling {
    /// Windows of one length, `stride` apart, over all tokens concatenated.
    Windows,
    /// Megatron's GPT samples.
    Megatron,
}

/// The arguments of a token corpus.
#[derive(Debug, Clone)]
#[allow(missing_docs)] // each is explained in `ENTRY`
pub struct Options {
    pub length: usize,
    pub dtype: Dtype,
    pub labels: bool,
    pub eod: Option<u64>,
    pub position_ids: bool,
    pub loss_mask: bool,
    pub document_ids: bool,
    pub attention_mask: bool,
    pub reset: bool,
    pub stride: Option<u64>,
    pub sampling: Sampling,
    pub samples: Option<u64>,
    pub seed: u32,
    pub split: Option<String>,
    pub part: usize,
    pub cache: Option<String>,
    pub vocab: Option<u64>,
    pub raw: Option<Dtype>,
    pub read: Read,
    pub drift: Drift,
}

/// Names of the parts of a split.
pub(crate) const PARTS: [&str; 3] = ["train", "valid", "test"];

/// Builds options from arguments. `length` must be given.
pub(crate) fn build(args: &Args) -> Result<Options> {
    let one_of = |name: &str, names: &[&str]| {
        let given = args.text(name)?;
        let place = names.iter().position(|n| *n == given);
        place.ok_or_else(|| args.error(name, &format!("must be one of {}", names.join(", "))))
    };
    let whole = |name: &str, least: i64| {
        if args.is_none(name) { Ok(None) } else { args.int(name, least).map(|n| Some(n as u64)) }
    };
    let text = |name: &str| {
        if args.is_none(name) { Ok(None) } else { args.text(name).map(|t| Some(t.to_owned())) }
    };
    let integer = |name: &str| {
        let dtype = args.dtype(name)?;
        if dtype.is_integer() {
            return Ok(dtype);
        }
        Err(args.error(name, "must be a type of whole numbers"))
    };
    let length = args.int("length", 1)?;
    // Row lengths are counted in 32 bits internally.
    let length = usize::try_from(length).ok().filter(|n| *n < i32::MAX as usize);
    let length = length.ok_or_else(|| args.error("length", "must be below 2**31 - 1"))?;
    let seed = u32::try_from(args.int("seed", 0)?);
    let options = Options {
        length,
        dtype: integer("dtype")?,
        labels: args.flag("labels")?,
        eod: whole("eod", 0)?,
        position_ids: args.flag("position_ids")?,
        loss_mask: args.flag("loss_mask")?,
        document_ids: args.flag("document_ids")?,
        attention_mask: args.flag("attention_mask")?,
        reset: args.flag("reset")?,
        stride: whole("stride", 1)?,
        sampling: [Sampling::Windows, Sampling::Megatron][one_of("sampling", &["windows", "megatron"])?],
        samples: whole("samples", 0)?,
        seed: seed.map_err(|_| args.error("seed", "must be below 2**32"))?,
        split: text("split")?,
        part: one_of("part", &PARTS)?,
        cache: text("cache")?,
        vocab: whole("vocab", 1)?,
        raw: if args.is_none("raw") { None } else { Some(integer("raw")?) },
        read: [Read::Map, Read::Pread][one_of("read", &["mmap", "pread"])?],
        drift: [Drift::Error, Drift::Repair, Drift::Ignore][one_of("drift", &["error", "repair", "ignore"])?],
    };
    options.check()?;
    Ok(options)
}

impl Options {
    /// Rejects arguments that do not go together.
    fn check(&self) -> Result<()> {
        let wrong = |what: String| Err(Error::argument(format!("tokens: {what}")));
        if self.sampling == Sampling::Megatron && self.stride.is_some() {
            return wrong("stride is for windows; samples of sampling=\"megatron\" follow each other".into());
        }
        if self.sampling == Sampling::Windows && (self.samples.is_some() || self.cache.is_some()) {
            return wrong("samples and cache are for sampling=\"megatron\"; .take(n) keeps n rows".into());
        }
        if self.split.is_none() && self.part != 0 {
            return wrong(format!(
                "part=\"{}\" needs a split, such as split=\"969, 30, 1\"",
                PARTS[self.part]
            ));
        }
        if let (Some(eod), Some(vocab)) = (self.eod, self.vocab)
            && eod >= vocab
        {
            return wrong(format!("eod={eod} is not in a vocabulary of {vocab}"));
        }
        Ok(())
    }
}
