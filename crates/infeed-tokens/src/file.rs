//! One file of tokens.

use crate::{Drift, Index, Read, data::Data, element, npy};
use bytes::Bytes;
use infeed_core::{Dtype, Error, Result, Store, StoreExt};
use std::{ops::Range, sync::Arc};

/// The magic number of token files with a header of 256 32-bit numbers; the third is the token count.
const HEADED: i32 = 20_240_520;
const HEADED_BYTES: u64 = 1024;

/// Tokens in a file, divided into sequences and documents by an index if there is one.
#[derive(Debug)]
pub struct TokenFile {
    name: String,
    path: String,
    data: Data,
    dtype: Dtype,
    /// Offset of the first token, if there is no index.
    start: u64,
    tokens: u64,
    index: Option<Index>,
}

/// A run of adjacent tokens in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Run {
    /// Index of the file.
    pub(crate) file: u32,
    /// Number of tokens.
    pub(crate) tokens: u64,
    /// Offset of the first byte.
    pub(crate) byte: u64,
}

/// Returns a path without a final `.bin` or `.idx`: the name of the corpus.
pub fn prefix_of(path: &str) -> &str {
    path.strip_suffix(".bin").or_else(|| path.strip_suffix(".idx")).unwrap_or(path)
}

impl TokenFile {
    /// Opens tokens by prefix (`x` of `x.bin` and `x.idx`), or by the name of a file.
    ///
    /// A `.bin` with an `.idx` beside it is read by the index, unless `raw` names an element type. A `.bin` without
    /// one contains only tokens of type `raw` (u16 by default), or has the header of 256 numbers that some training
    /// scripts write. A `.npy` file has its type in its header.
    pub fn open(
        store: &Arc<dyn Store>,
        path: &str,
        raw: Option<Dtype>,
        read: Read,
        drift: Drift,
    ) -> Result<TokenFile> {
        if path.ends_with(".npy") {
            return TokenFile::open_npy(store, path, raw, read);
        }
        let prefix = prefix_of(path);
        let (idx, bin) = (format!("{prefix}.idx"), format!("{prefix}.bin"));
        if raw.is_none() && exists(store, &idx)? {
            let data = Data::open(store, &bin, read).map_err(|e| match e {
                Error::NotFound { path, .. } => {
                    Error::NotFound { path, hint: format!("; its index `{idx}` is there") }
                }
                other => other,
            })?;
            let index = Index::open(store, &idx, data.len(), read, drift)?;
            return Ok(TokenFile {
                name: prefix.to_owned(),
                path: bin,
                dtype: index.dtype(),
                start: 0,
                tokens: index.tokens(),
                index: Some(index),
                data,
            });
        }
        let path = if exists(store, &bin)? { bin } else { path.to_owned() };
        if path.ends_with(".idx") || !exists(store, &path)? {
            let hint = format!("; there is no `{prefix}.bin`, `{prefix}.idx` or `{prefix}.npy`");
            return Err(Error::NotFound { path: prefix.to_owned(), hint });
        }
        TokenFile::open_raw(store, prefix, path, raw, read)
    }

    fn open_raw(
        store: &Arc<dyn Store>,
        prefix: &str,
        path: String,
        raw: Option<Dtype>,
        read: Read,
    ) -> Result<TokenFile> {
        let data = Data::open(store, &path, read)?;
        let (dtype, start, tokens) = {
            let mut scratch = Bytes::new();
            let head = data.get(0, data.len().min(HEADED_BYTES) as usize, &mut scratch)?;
            match headed(head, data.len(), raw, &path)? {
                Some(found) => found,
                None => {
                    let dtype = raw.unwrap_or(Dtype::U16);
                    let size = dtype.size() as u64;
                    if data.len() % size != 0 {
                        let what = format!(
                            "{} bytes are not a whole number of {dtype} tokens; raw= says which type they are",
                            data.len()
                        );
                        return Err(Error::Format { shard: path, offset: data.len() / size * size, what });
                    }
                    (dtype, 0, data.len() / size)
                }
            }
        };
        Ok(TokenFile { name: prefix.to_owned(), path, data, dtype, start, tokens, index: None })
    }

    fn open_npy(store: &Arc<dyn Store>, path: &str, raw: Option<Dtype>, read: Read) -> Result<TokenFile> {
        let data = Data::open(store, path, read)?;
        let mut scratch = Bytes::new();
        // Headers are short; longer ones belong to types with many fields.
        let head = data.get(0, data.len().min(1 << 16) as usize, &mut scratch)?;
        let header = npy::header(head, data.len(), path)?;
        let [tokens] = header.shape[..] else {
            let what = format!("an array of shape {:?}; tokens have one dimension", header.shape);
            return Err(Error::Format { shard: path.to_owned(), offset: 0, what });
        };
        if raw.is_some_and(|raw| raw != header.dtype) {
            let what =
                format!("raw is for files without a header, and `{path}` says it has {}", header.dtype);
            return Err(Error::argument(what));
        }
        let (name, start) = (path.to_owned(), header.data_at as u64);
        let tokens = tokens as u64;
        Ok(TokenFile { path: name.clone(), name, data, dtype: header.dtype, start, tokens, index: None })
    }

    /// Returns the prefix, or the file if there is no index.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the file with the tokens.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns the element type.
    pub fn dtype(&self) -> Dtype {
        self.dtype
    }

    /// Returns the number of tokens.
    pub fn tokens(&self) -> u64 {
        self.tokens
    }

    /// Returns the size in bytes of the file with the tokens.
    pub fn bytes(&self) -> u64 {
        self.data.len()
    }

    /// Returns the index, if there is one.
    pub fn index(&self) -> Option<&Index> {
        self.index.as_ref()
    }

    /// Fails if the elements are not integers.
    pub fn need_tokens(&self) -> Result<()> {
        if self.dtype.is_integer() {
            return Ok(());
        }
        Err(Error::argument(format!(
            "`{}` holds {} numbers: token ids are whole numbers",
            self.path, self.dtype
        )))
    }

    pub(crate) fn data(&self) -> &Data {
        &self.data
    }

    /// Locates tokens, with `range` counted over all sequences concatenated.
    pub(crate) fn runs(&self, file: u32, range: Range<u64>, out: &mut Vec<Run>) {
        let size = self.dtype.size() as u64;
        match &self.index {
            Some(index) if !index.is_straight() => {
                let mut sequence = index.sequence_of(range.start);
                let mut at = range.start;
                while at < range.end && sequence < index.sequences() {
                    let start = index.first_token(sequence);
                    let end = (start + index.size(sequence)).min(range.end);
                    if end > at {
                        let byte = index.byte(sequence) + (at - start) * size;
                        out.push(Run { file, byte, tokens: end - at });
                        at = end;
                    }
                    sequence += 1;
                }
            }
            _ if range.is_empty() => {}
            _ => {
                let byte = self.start + range.start * size;
                out.push(Run { file, byte, tokens: range.end - range.start });
            }
        }
    }

    /// Returns the index of the token at an offset, counted over all sequences concatenated, if those are contiguous.
    pub(crate) fn token_at(&self, byte: u64) -> u64 {
        (byte - self.start) / self.dtype.size() as u64
    }

    /// Returns all tokens of a sequence as numbers. Without an index the whole file is sequence 0.
    pub fn sequence(&self, sequence: u64) -> Result<Vec<i64>> {
        let (byte, tokens) = match &self.index {
            Some(index) if sequence < index.sequences() => (index.byte(sequence), index.size(sequence)),
            None if sequence == 0 => (self.start, self.tokens),
            _ => return Err(Error::argument(format!("`{}` has no sequence {sequence}", self.name))),
        };
        self.need_tokens()?;
        let (mut scratch, size) = (Bytes::new(), self.dtype.size());
        let bytes = self.data.get(byte, tokens as usize * size, &mut scratch)?;
        Ok(bytes.chunks_exact(size).map(|b| element::read(self.dtype, b)).collect())
    }
}

/// Returns whether an object exists.
fn exists(store: &Arc<dyn Store>, name: &str) -> Result<bool> {
    match store.stat_one(name) {
        Ok(_) => Ok(true),
        Err(Error::NotFound { .. }) => Ok(false),
        Err(other) => Err(other),
    }
}

/// Returns whether a file begins with the header of 256 numbers.
pub(crate) fn is_headed(head: &[u8]) -> bool {
    head.len() as u64 >= HEADED_BYTES && head.starts_with(&HEADED.to_le_bytes())
}

/// Returns type, offset and count of the tokens of a file with the header of 256 numbers, if it has one.
fn headed(head: &[u8], len: u64, raw: Option<Dtype>, path: &str) -> Result<Option<(Dtype, u64, u64)>> {
    let number = |i: usize| head.get(4 * i..).and_then(|b| b.first_chunk()).map(|b| i32::from_le_bytes(*b));
    if !is_headed(head) {
        return Ok(None);
    }
    let dtype = raw.unwrap_or(Dtype::U16);
    let tokens = number(2).and_then(|n| u64::try_from(n).ok()).unwrap_or(u64::MAX);
    let has = (len - HEADED_BYTES) / dtype.size() as u64;
    if number(1) != Some(1) || tokens > has {
        let what = format!(
            "a header of version {:?} claims {:?} tokens, but the file has room for {has}",
            number(1).unwrap_or_default(),
            number(2).unwrap_or_default()
        );
        return Err(Error::Format { shard: path.to_owned(), offset: 4, what });
    }
    Ok(Some((dtype, HEADED_BYTES, tokens)))
}
