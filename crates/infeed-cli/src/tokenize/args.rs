//! The command line of `infeed tokenize`.

use crate::args::{OnError, positive, seconds};
use clap::{Args, ValueEnum};

/// Arguments of `infeed tokenize`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    infeed tokenize 'text-*.jsonl.zst' --tokenizer tokenizer.json --out corpus --append-eod auto\n  \
    infeed tokenize data/*.parquet --tokenizer tokenizer.json --out corpus --field content\n  \
    infeed tokenize 'text-*.tar' --tokenizer tokenizer.json --out out/corpus --per-file\n\n\
    Writes OUT.bin and OUT.idx, which `infeed tokens` and infeed.tokens() read. Documents\n\
    keep their order. An interrupted run continues when the same command is given again,\n\
    and ends with the same files: OUT.journal holds its progress.")]
pub(crate) struct TokenizeArgs {
    /// Files, folders or patterns, of any format that infeed reads.
    #[arg(required = true)]
    pub(crate) source: Vec<String>,
    /// The tokenizer.json.
    #[arg(long, value_name = "FILE")]
    pub(crate) tokenizer: String,
    /// Where to write: OUT.bin and OUT.idx.
    #[arg(long, value_name = "OUT")]
    pub(crate) out: String,
    /// The field with the text [default: text, or txt].
    #[arg(long)]
    pub(crate) field: Option<String>,
    /// Format of the data; `infeed list formats` shows them.
    #[arg(long, default_value = "auto")]
    pub(crate) format: String,
    /// Append this token to every document, by name or number; `auto` finds the end-of-document token.
    #[arg(long, value_name = "TOKEN|auto")]
    pub(crate) append_eod: Option<String>,
    /// Add what the tokenizer puts around a text, such as [CLS] and [SEP].
    #[arg(long)]
    pub(crate) special_tokens: bool,
    /// Element type; auto is u16 where the vocabulary allows it.
    #[arg(long, default_value = "auto")]
    pub(crate) dtype: Width,
    /// CPU workers [default: the CPUs this process may use].
    #[arg(long, value_parser = positive)]
    pub(crate) workers: Option<usize>,
    /// Write one corpus per input file: OUT-NAME.bin.
    #[arg(long, conflicts_with = "shards")]
    pub(crate) per_file: bool,
    /// Write this many corpora with equal numbers of documents: OUT-00000.bin, ...
    #[arg(long, value_parser = positive)]
    pub(crate) shards: Option<usize>,
    /// Skip corpora that are finished, and make the others.
    #[arg(long, conflicts_with = "overwrite")]
    pub(crate) resume: bool,
    /// Start over, and overwrite existing corpora.
    #[arg(long)]
    pub(crate) overwrite: bool,
    /// What to do with documents that cannot be read.
    #[arg(long, default_value = "raise")]
    pub(crate) on_error: OnError,
    /// Seconds between checkpoints.
    #[arg(long, default_value_t = 5.0, value_parser = seconds)]
    pub(crate) checkpoint: f64,
}

/// The values of `--dtype`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Width {
    /// By the size of the vocabulary.
    Auto,
    /// Two bytes.
    U16,
    /// Four bytes.
    I32,
}
