//! Tokenises text with a `tokenizer.json`.
//!
//! An [`Encoder`] is immutable and shared by all threads. Each thread has its own [`Worker`] with the caches that
//! make it fast. No thread waits for another, and none starts others.

mod check;
mod ends;
mod file;
mod words;

#[cfg(test)]
mod tests;

use crate::bytelevel::{ByteLevel, Memory};
use ends::Ends;
use infeed_core::{Error, Hold, Result, registry::nearest};
use std::{
    fmt,
    sync::{
        Arc, Mutex, Weak,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};
use tokenizers::{Tokenizer, TruncationDirection, TruncationParams};

/// Which end of a long text is cut off.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Side {
    /// The beginning.
    Left,
    /// The end.
    #[default]
    Right,
}

/// A token by name or by number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Token {
    /// As in the vocabulary: `<|endoftext|>`.
    Name(String),
    /// Its number.
    Id(u32),
}

/// How each text is processed. Truncation and padding settings of the file are ignored; they are set here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Whether to add the tokens that the tokenizer puts around a text.
    pub special_tokens: bool,
    /// Maximum tokens of a text, including all added tokens.
    pub max_length: Option<usize>,
    /// Which end is cut off.
    pub truncation: Side,
    /// A token to put first.
    pub bos: Option<Token>,
    /// A token to put last.
    pub eos: Option<Token>,
}

impl Default for Options {
    fn default() -> Self {
        Options { special_tokens: true, max_length: None, truncation: Side::Right, bos: None, eos: None }
    }
}

/// A tokenizer for any number of threads. Cheap to clone.
#[derive(Clone)]
pub struct Encoder {
    shared: Arc<Shared>,
}

struct Shared {
    name: String,
    hash: u64,
    /// Identifies the encoder for per-thread caches.
    number: u64,
    tokenizer: Tokenizer,
    fast: Option<ByteLevel>,
    /// The tokens around each text; `None` if the library must add them and truncate.
    ends: Option<Ends>,
    /// Maximum tokens of the text itself.
    room: usize,
    options: Options,
    bos: Option<u32>,
    eos: Option<u32>,
}

static NUMBER: AtomicU64 = AtomicU64::new(0);

/// Encoders in use. A pipeline of many parts names its tokenizer in each, and loading one is slow.
static OPEN: Mutex<Vec<Weak<Shared>>> = Mutex::new(vec![]);

/// FNV-1a: the hash is stored in journals, so it must be independent of versions.
fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(*b)).wrapping_mul(0x0000_0100_0000_01b3))
}

impl Encoder {
    /// Reads a `tokenizer.json`. If it is already in use with the same options, it is shared.
    pub fn open(path: &str, options: &Options) -> Result<Self> {
        let bytes = file::read(path)?;
        let same = |shared: &Arc<Shared>| {
            shared.name == path && shared.hash == hash(&bytes) && shared.options == *options
        };
        let mut open = OPEN.hold();
        open.retain(|known| known.strong_count() > 0);
        if let Some(shared) = open.iter().filter_map(Weak::upgrade).find(same) {
            return Ok(Encoder { shared });
        }
        let made = Self::from_bytes(path, &bytes, options)?;
        open.push(Arc::downgrade(&made.shared));
        Ok(made)
    }

    /// Loads a `tokenizer.json` from memory; `name` is for messages.
    pub fn from_bytes(name: &str, bytes: &[u8], options: &Options) -> Result<Self> {
        let mut tokenizer = file::parse(name, bytes)?;
        let refuse = |e: tokenizers::Error| Error::argument(format!("`{name}`: {e}"));
        tokenizer.with_truncation(None).map_err(refuse)?;
        tokenizer.with_padding(None);
        let id = |token: &Option<Token>| token.as_ref().map(|t| token_id(&tokenizer, name, t)).transpose();
        let (bos, eos) = (id(&options.bos)?, id(&options.eos)?);
        let ends = if options.special_tokens { ends::ends(&tokenizer) } else { Some(Ends::default()) };
        let around = ends.as_ref().map_or(0, |e| e.before.len() + e.after.len());
        let added = usize::from(bos.is_some()) + usize::from(eos.is_some());
        let room = match options.max_length {
            None => usize::MAX,
            Some(most) => most.checked_sub(around + added).filter(|room| *room > 0).ok_or_else(|| {
                Error::argument(format!(
                    "max_length of {most} leaves no room for text: {} tokens are put around it",
                    around + added
                ))
            })?,
        };
        if ends.is_none() && room != usize::MAX {
            let direction = match options.truncation {
                Side::Left => TruncationDirection::Left,
                Side::Right => TruncationDirection::Right,
            };
            let params = TruncationParams { max_length: room, direction, ..TruncationParams::default() };
            tokenizer.with_truncation(Some(params)).map_err(refuse)?;
        }
        let fast = ends.as_ref().and_then(|_| {
            let added = tokenizer.get_added_tokens_decoder().into_iter().collect();
            ByteLevel::from_file(bytes, added).filter(|fast| check::agrees(fast, &tokenizer))
        });
        Ok(Encoder {
            shared: Arc::new(Shared {
                name: name.to_owned(),
                hash: hash(bytes),
                number: NUMBER.fetch_add(1, Relaxed),
                tokenizer,
                fast,
                ends,
                room,
                options: options.clone(),
                bos,
                eos,
            }),
        })
    }

    /// Returns a hash of the file.
    pub fn hash(&self) -> u64 {
        self.shared.hash
    }

    /// Returns the size of the vocabulary: one more than the largest token number.
    pub fn vocab_size(&self) -> usize {
        let vocab = self.shared.tokenizer.get_vocab(true);
        vocab.values().max().map_or(0, |id| *id as usize + 1)
    }

    /// Returns the number of a token. The error suggests a similar name.
    pub fn token(&self, token: &Token) -> Result<u32> {
        token_id(&self.shared.tokenizer, &self.shared.name, token)
    }

    /// Returns the token that ends a document, if one of the usual names exists.
    pub fn end_of_document(&self) -> Option<(&'static str, u32)> {
        let names = ["<|endoftext|>", "<|end_of_text|>", "</s>", "<eos>", "<eod>", "[SEP]", "<|im_end|>"];
        names.into_iter().find_map(|name| Some((name, self.shared.tokenizer.token_to_id(name)?)))
    }

    /// Returns for each token number whether the token continues the word of the previous token.
    pub fn continues(&self) -> Vec<bool> {
        words::continues(&self.shared.tokenizer.get_vocab(true))
    }

    /// Returns the implementation: `byte-level` for infeed's own code, `library` for the tokenizers library.
    pub fn engine(&self) -> &'static str {
        if self.shared.fast.is_some() { "byte-level" } else { "library" }
    }

    /// Creates a worker for one thread.
    pub fn worker(&self) -> Worker {
        let memory = self.shared.fast.as_ref().map(|_| Memory::new());
        Worker { encoder: self.clone(), memory, out: vec![] }
    }
}

impl fmt::Debug for Encoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Encoder")
            .field("name", &self.shared.name)
            .field("engine", &self.engine())
            .field("options", &self.shared.options)
            .finish_non_exhaustive()
    }
}

/// An encoder with the caches of one thread.
#[derive(Debug)]
pub struct Worker {
    encoder: Encoder,
    memory: Option<Memory>,
    out: Vec<u32>,
}

impl Worker {
    /// Returns whether it is a worker of this encoder.
    pub fn serves(&self, encoder: &Encoder) -> bool {
        self.encoder.shared.number == encoder.shared.number
    }

    /// Returns the tokens of a text.
    pub fn encode(&mut self, text: &str) -> Result<&[u32]> {
        let Worker { encoder, memory, out } = self;
        let shared = &*encoder.shared;
        out.clear();
        out.extend(shared.bos);
        if let Some(ends) = &shared.ends {
            out.extend_from_slice(&ends.before);
            let start = out.len();
            // If the end is cut off, the rest need not be tokenised.
            let enough = match shared.options.truncation {
                Side::Right => start.saturating_add(shared.room),
                Side::Left => usize::MAX,
            };
            let done = match (&shared.fast, memory) {
                (Some(fast), Some(memory)) => fast.encode(text, memory, enough, out),
                _ => false,
            };
            if !done {
                out.truncate(start);
                out.extend_from_slice(library(&shared.tokenizer, text, false)?.get_ids());
            }
            let extra = (out.len() - start).saturating_sub(shared.room);
            match shared.options.truncation {
                Side::Right => out.truncate(out.len() - extra),
                Side::Left => drop(out.drain(start..start + extra)),
            }
            out.extend_from_slice(&ends.after);
        } else {
            out.extend_from_slice(library(&shared.tokenizer, text, true)?.get_ids());
        }
        out.extend(shared.eos);
        Ok(out)
    }
}

fn library(tokenizer: &Tokenizer, text: &str, special: bool) -> Result<tokenizers::Encoding> {
    tokenizer.encode_fast(text, special).map_err(|e| Error::sample(format!("cannot tokenize the text: {e}")))
}

fn token_id(tokenizer: &Tokenizer, name: &str, token: &Token) -> Result<u32> {
    match token {
        Token::Id(id) if tokenizer.id_to_token(*id).is_some() => Ok(*id),
        Token::Id(id) => Err(Error::argument(format!("`{name}` has no token number {id}"))),
        Token::Name(text) => tokenizer.token_to_id(text).ok_or_else(|| {
            let added = tokenizer.get_added_tokens_decoder();
            let mut names: Vec<&str> = added.values().map(|t| t.content.as_str()).collect();
            names.sort_unstable();
            let near = nearest(text, &names).map(|n| format!("; did you mean `{n}`?")).unwrap_or_default();
            names.truncate(12);
            let there = if names.is_empty() {
                "it has no special tokens".to_owned()
            } else {
                format!("among its special tokens are {}", names.join(", "))
            };
            Error::argument(format!("`{name}` has no token `{text}`{near} ({there})"))
        }),
    }
}
