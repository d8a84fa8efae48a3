//! What users ask of a token corpus.

use crate::{Drift, Read};
use infeed_core::{Args, Dtype, Entry, Error, Param, Result};

/// How rows are cut out of tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sampling {
    /// Windows of one length, `stride` apart, over all tokens laid end to end.
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

/// Names of the parts that a split makes.
pub(crate) const PARTS: [&str; 3] = ["train", "valid", "test"];

const fn param(
    name: &'static str,
    python: &'static str,
    default: Option<&'static str>,
    about: &'static str,
) -> Param {
    Param { name, python, default, about }
}

/// The table of arguments, with their defaults.
pub const ENTRY: Entry<Options> = Entry {
    name: "tokens",
    about: "token ids: .bin with .idx (Megatron), .bin alone, .npy",
    params: &[
        param("length", "int", None, "tokens of a row"),
        param("dtype", "str", Some("\"int64\""), "element type of tokens and labels"),
        param("labels", "bool", Some("false"), "whether to give `labels`: the tokens one place on"),
        param(
            "eod",
            "int | None",
            Some("null"),
            "the token that ends a document; without it the index says where one ends",
        ),
        param("position_ids", "bool", Some("false"), "whether to give the place of each token"),
        param(
            "loss_mask",
            "bool",
            Some("false"),
            "whether to give 1 for each token, and 0 where a document ends",
        ),
        param(
            "document_ids",
            "bool",
            Some("false"),
            "whether to give the number of each token's document in the row",
        ),
        param("attention_mask", "bool", Some("false"), "whether to give which token may look at which"),
        param("reset", "bool", Some("true"), "whether places begin anew and attention ends with a document"),
        param(
            "stride",
            "int | None",
            Some("null"),
            "tokens between the beginnings of two windows; as many as `length` if not given",
        ),
        param("sampling", "str", Some("\"windows\""), "`windows`, or `megatron` for its GPT samples"),
        param(
            "samples",
            "int | None",
            Some("null"),
            "GPT samples to prepare, over several epochs where needed",
        ),
        param("seed", "int", Some("1234"), "seed of the GPT samples"),
        param("split", "str | None", Some("null"), "shares of the parts, as in `969, 30, 1`"),
        param("part", "str", Some("\"train\""), "`train`, `valid` or `test` of a split"),
        param("cache", "str | None", Some("null"), "folder with the cache files of GPT samples"),
        param("vocab", "int | None", Some("null"), "size of the vocabulary: larger ids are errors"),
        param("raw", "str | None", Some("null"), "element type of files without an index"),
        param("read", "str", Some("\"mmap\""), "`mmap`, or `pread` to read row by row"),
        param(
            "drift",
            "str",
            Some("\"error\""),
            "`error`, `repair` or `ignore` when .idx and .bin do not agree",
        ),
    ],
    build,
};

fn build(args: &Args) -> Result<Box<Options>> {
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
        if crate::element::is_integer(dtype) {
            return Ok(dtype);
        }
        Err(args.error(name, "must be a type of whole numbers"))
    };
    let length = args.int("length", 1)?;
    // Rows are counted in 32 bits inside.
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
    Ok(Box::new(options))
}

impl Options {
    /// Refuses arguments that have no meaning together.
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
