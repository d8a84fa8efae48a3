//! The command line of `infeed tokens`.

use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;

/// Arguments of `infeed tokens`.
#[derive(Debug, Args)]
pub(crate) struct TokensArgs {
    #[command(subcommand)]
    pub(crate) command: TokensCommand,
}

/// What can be done with token corpora.
#[derive(Debug, Subcommand)]
pub(crate) enum TokensCommand {
    /// Show documents, tokens, lengths and drift of corpora.
    Info(InfoArgs),
    /// Read every token and report errors.
    #[command(after_help = "Exit codes: 0 no errors, 1 errors or unreadable files, 2 wrong usage.")]
    Verify(VerifyArgs),
    /// Write the documents of several corpora, in order, as one.
    Merge(MergeArgs),
    /// Write the documents of a corpus, in order, as several.
    Split(SplitArgs),
    /// Make a file list, `weight prefix corpus`, with weights by number of tokens.
    List(ListArgs),
}

/// Arguments of `infeed tokens info`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    infeed tokens info corpus_text_document\n  \
    infeed tokens info train.bin --raw uint16\n  \
    infeed tokens info data/*.idx --json")]
pub(crate) struct InfoArgs {
    /// Prefixes, .bin, .idx or .npy files.
    #[arg(required = true)]
    pub(crate) prefix: Vec<String>,
    /// Element type of files without an index [default: uint16].
    #[arg(long, value_parser = dtype)]
    pub(crate) raw: Option<infeed::Dtype>,
}

/// Arguments of `infeed tokens verify`.
#[derive(Debug, Args)]
pub(crate) struct VerifyArgs {
    /// Prefixes, .bin, .idx or .npy files.
    #[arg(required = true)]
    pub(crate) prefix: Vec<String>,
    /// Size of the vocabulary: larger ids are wrong.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) vocab: Option<u64>,
    /// Element type of files without an index [default: uint16].
    #[arg(long, value_parser = dtype)]
    pub(crate) raw: Option<infeed::Dtype>,
    /// What to do when .idx and .bin do not agree.
    #[arg(long, default_value = "error")]
    pub(crate) drift: Drift,
}

/// Arguments of `infeed tokens merge`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    infeed tokens merge part_0 part_1 part_2 --out whole\n  \
    infeed tokens merge drifting --drift repair --out right")]
pub(crate) struct MergeArgs {
    /// Prefixes, .bin, .idx or .npy files, in the order wanted.
    #[arg(required = true)]
    pub(crate) prefix: Vec<String>,
    /// Prefix of the corpus to write.
    #[arg(long)]
    pub(crate) out: String,
    /// Element type to write [default: the narrowest that holds all].
    #[arg(long, value_parser = dtype)]
    pub(crate) dtype: Option<infeed::Dtype>,
    /// Element type of files without an index [default: uint16].
    #[arg(long, value_parser = dtype)]
    pub(crate) raw: Option<infeed::Dtype>,
    /// What to do when .idx and .bin do not agree.
    #[arg(long, default_value = "error")]
    pub(crate) drift: Drift,
}

/// Arguments of `infeed tokens split`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    infeed tokens split corpus --parts 8 --out shard\n  \
    infeed tokens split corpus --shares 0.98,0.01,0.01 --out corpus\n\n\
    Parts are called OUT_00, OUT_01, ...; documents keep their order and stay whole.")]
pub(crate) struct SplitArgs {
    /// Prefix of the corpus.
    pub(crate) prefix: String,
    /// What the prefixes of the parts begin with.
    #[arg(long)]
    pub(crate) out: String,
    /// Parts of the same number of documents.
    #[arg(long, required_unless_present = "shares", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) parts: Option<u64>,
    /// Parts in proportion to these numbers of documents.
    #[arg(long, value_delimiter = ',', conflicts_with = "parts")]
    pub(crate) shares: Vec<f64>,
    /// What to do when .idx and .bin do not agree.
    #[arg(long, default_value = "error")]
    pub(crate) drift: Drift,
}

/// Arguments of `infeed tokens list`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    infeed tokens list data/*/*.idx --out files.txt\n  \
    infeed tokens list web_*.idx --corpus web\n\n\
    Without --corpus, files belong to the corpus named like their folder.")]
pub(crate) struct ListArgs {
    /// Prefixes, .bin, .idx or .npy files.
    #[arg(required = true)]
    pub(crate) prefix: Vec<String>,
    /// The corpus that all files belong to [default: the name of their folder].
    #[arg(long)]
    pub(crate) corpus: Option<String>,
    /// The file to write [default: show it].
    #[arg(long)]
    pub(crate) out: Option<PathBuf>,
    /// Element type of files without an index [default: uint16].
    #[arg(long, value_parser = dtype)]
    pub(crate) raw: Option<infeed::Dtype>,
}

/// The values of `--drift`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Drift {
    /// Refuse the corpus.
    Error,
    /// Include the uncounted token of each document.
    Repair,
    /// Read what the index says.
    Ignore,
}

impl From<Drift> for infeed_tokens::Drift {
    fn from(given: Drift) -> Self {
        match given {
            Drift::Error => infeed_tokens::Drift::Error,
            Drift::Repair => infeed_tokens::Drift::Repair,
            Drift::Ignore => infeed_tokens::Drift::Ignore,
        }
    }
}

fn dtype(text: &str) -> Result<infeed::Dtype, String> {
    let found = infeed::Dtype::parse(text).filter(|d| !d.is_float() && *d != infeed::Dtype::Bool);
    found.ok_or_else(|| "must be a type of whole numbers: uint16, int32, ...".to_owned())
}
