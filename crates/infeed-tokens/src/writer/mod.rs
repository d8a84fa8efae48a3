//! Writes token corpora, document by document.

#[cfg(test)]
mod tests;

use crate::{element, idx::write_mmid, prefix_of};
use infeed_core::{Dtype, Error, Result};
use std::{
    fs::{File, OpenOptions},
    io::{BufReader, BufWriter, Read, Write},
    sync::atomic::{AtomicU64, Ordering},
};

/// Writes `PREFIX.bin` and `PREFIX.idx`.
///
/// Until [`TokenWriter::finish`] everything is in `PREFIX.bin.part` and `PREFIX.idx.part`; the final names appear when
/// the files are complete. An interrupted writer can resume from a point recorded with [`TokenWriter::flush_state`].
#[derive(Debug)]
pub struct TokenWriter {
    prefix: String,
    dtype: Dtype,
    bin: BufWriter<File>,
    sizes: BufWriter<File>,
    sequences: u64,
    tokens: u64,
    /// Number of finished documents.
    documents: u64,
    /// Where documents begin; needed once a document is not exactly one sequence.
    starts: Option<Vec<u64>>,
    block: Vec<u8>,
}

const BUFFER: usize = 1 << 20;

impl TokenWriter {
    /// Returns the element type for a vocabulary: u16 if all ids fit with room to spare, otherwise i32, as in Megatron.
    pub fn dtype_for(vocab: u64) -> Dtype {
        if vocab < 65_500 { Dtype::U16 } else { Dtype::I32 }
    }

    /// Starts a corpus. What an interrupted writer left under this prefix is discarded.
    pub fn create(prefix: &str, dtype: Dtype) -> Result<TokenWriter> {
        TokenWriter::start(prefix, dtype, true)
    }

    fn start(prefix: &str, dtype: Dtype, new: bool) -> Result<TokenWriter> {
        if element::code_of(dtype).is_none() || !dtype.is_integer() {
            return Err(Error::argument(format!(
                "tokens cannot be written as {dtype}: u8, u16, i8 to i64 can"
            )));
        }
        let prefix = prefix_of(prefix).to_owned();
        let open = |path: String| {
            let file = OpenOptions::new().write(true).read(true).create(new).truncate(new).open(&path);
            file.map(|file| BufWriter::with_capacity(BUFFER, file)).map_err(|e| Error::io("create", path, e))
        };
        let (bin, sizes) = (open(part(&prefix, "bin"))?, open(part(&prefix, "idx"))?);
        Ok(TokenWriter {
            prefix,
            dtype,
            bin,
            sizes,
            sequences: 0,
            tokens: 0,
            documents: 0,
            starts: None,
            block: Vec::new(),
        })
    }

    /// Resumes after `documents` documents with `tokens` tokens in total, as returned by
    /// [`TokenWriter::flush_state`]. What was written after that point is truncated. Each document must be one
    /// sequence, as [`TokenWriter::add`] writes them.
    pub fn resume(prefix: &str, dtype: Dtype, documents: u64, tokens: u64) -> Result<TokenWriter> {
        let mut writer = TokenWriter::start(prefix, dtype, false)?;
        let prefix = writer.prefix.clone();
        let lost = |ending: &str, what: String| Error::Format {
            shard: part(&prefix, ending),
            offset: 0,
            what: format!("{what}: begin anew"),
        };
        let sizes_path = part(&prefix, "idx");
        let mut sum = 0;
        let mut sizes = Sizes::open(&sizes_path)?;
        for i in 0..documents {
            let size =
                sizes.next().ok_or_else(|| lost("idx", format!("it has {i} documents, not {documents}")))?;
            sum += u64::from(size.map_err(|e| Error::io("read", &*sizes_path, e))?);
        }
        if sum != tokens {
            return Err(lost(
                "idx",
                format!("its first {documents} documents have {sum} tokens, not {tokens}"),
            ));
        }
        let path = part(&prefix, "bin");
        let bytes = tokens.saturating_mul(dtype.size() as u64);
        let has = writer.bin.get_ref().metadata().map_err(|e| Error::io("look at", &*path, e))?.len();
        if has < bytes {
            return Err(lost("bin", format!("it has {has} bytes, and {tokens} tokens take {bytes}")));
        }
        for (file, len, path) in
            [(writer.bin.get_mut(), bytes, &path), (writer.sizes.get_mut(), documents * 4, &sizes_path)]
        {
            use std::io::{Seek, SeekFrom};
            let cut = file.set_len(len).and_then(|()| file.seek(SeekFrom::End(0)));
            cut.map_err(|e| Error::io("cut", path, e))?;
        }
        (writer.documents, writer.sequences, writer.tokens) = (documents, documents, tokens);
        Ok(writer)
    }

    /// Adds a document.
    pub fn add(&mut self, tokens: &[u32]) -> Result<()> {
        self.add_sequence(tokens.iter().map(|t| i64::from(*t)))?;
        self.end_document();
        Ok(())
    }

    /// Adds a document of numbers that may be wider than 32 bits.
    pub fn add_wide(&mut self, tokens: &[i64]) -> Result<()> {
        self.add_sequence(tokens.iter().copied())?;
        self.end_document();
        Ok(())
    }

    /// Adds a sequence to the current document.
    pub fn add_sequence(&mut self, tokens: impl Iterator<Item = i64>) -> Result<()> {
        let (least, most) = element::range(self.dtype);
        let size = self.dtype.size();
        let mut block = std::mem::take(&mut self.block);
        block.clear();
        for (place, token) in tokens.enumerate() {
            if i128::from(token) < least || i128::from(token) > most {
                self.block = block;
                return Err(Error::argument(format!(
                    "token {place} of document {} is {token}, which does not fit {}: write i32 (vocabularies of 65,500 \
                     and more need it)",
                    self.documents, self.dtype
                )));
            }
            block.extend_from_slice(&token.to_le_bytes()[..size]);
        }
        let added = self.add_bytes(&block);
        self.block = block;
        added
    }

    /// Adds a sequence whose elements already have the writer's type.
    pub(crate) fn add_bytes(&mut self, bytes: &[u8]) -> Result<()> {
        let count = (bytes.len() / self.dtype.size()) as u64;
        if count > i32::MAX as u64 {
            let what = format!("a sequence of {count} tokens: an index has room for 2^31 - 1; cut it");
            return Err(Error::argument(what));
        }
        self.bin.write_all(bytes).map_err(|e| Error::io("write", part(&self.prefix, "bin"), e))?;
        let size = (count as u32).to_le_bytes();
        self.sizes.write_all(&size).map_err(|e| Error::io("write", part(&self.prefix, "idx"), e))?;
        self.sequences += 1;
        self.tokens += count;
        Ok(())
    }

    /// Ends the current document. One without sequences is an empty document.
    pub fn end_document(&mut self) {
        self.documents += 1;
        if let Some(starts) = &mut self.starts {
            starts.push(self.sequences);
        } else if self.documents != self.sequences {
            let mut starts: Vec<u64> = (0..self.documents).collect();
            starts.push(self.sequences);
            self.starts = Some(starts);
        }
    }

    /// Returns the number of tokens so far.
    pub fn tokens(&self) -> u64 {
        self.tokens
    }

    /// Returns the number of documents so far.
    pub fn documents(&self) -> u64 {
        self.documents
    }

    /// Syncs everything so far to disk and returns the point to [`TokenWriter::resume`] from: documents and tokens.
    pub fn flush_state(&mut self) -> Result<(u64, u64)> {
        for (file, ending) in [(&mut self.bin, "bin"), (&mut self.sizes, "idx")] {
            let path = part(&self.prefix, ending);
            file.flush()
                .and_then(|()| file.get_ref().sync_data())
                .map_err(|e| Error::io("write", path, e))?;
        }
        Ok((self.documents, self.tokens))
    }

    /// Writes the index and gives both files their final names. Returns documents and tokens.
    pub fn finish(mut self) -> Result<(u64, u64)> {
        let open_ended = match &self.starts {
            Some(starts) => starts.last() != Some(&self.sequences),
            None => self.documents != self.sequences,
        };
        if open_ended {
            self.end_document();
        }
        let state = self.flush_state()?;
        let (bin, idx) = (format!("{}.bin", self.prefix), format!("{}.idx", self.prefix));
        let sizes = part(&self.prefix, "idx");
        // From here on, an existing index would belong to another .bin.
        let gone = std::fs::remove_file(&idx);
        gone.or_else(|e| if e.kind() == std::io::ErrorKind::NotFound { Ok(()) } else { Err(e) })
            .map_err(|e| Error::io("replace", &*idx, e))?;
        rename(&part(&self.prefix, "bin"), &bin)?;
        let whole = temporary(&idx);
        let file = File::create(&whole).map_err(|e| Error::io("create", &*whole, e))?;
        let mut out = BufWriter::with_capacity(BUFFER, file);
        let passes = [Sizes::open(&sizes)?, Sizes::open(&sizes)?];
        let mut passes = passes.into_iter();
        let pass = || passes.next().into_iter().flatten();
        write_mmid(&mut out, self.dtype, self.sequences, pass, self.starts.as_deref())?;
        let file = out.into_inner().map_err(|e| Error::io("write", &*whole, e.into_error()))?;
        file.sync_data().map_err(|e| Error::io("write", &*whole, e))?;
        rename(&whole, &idx)?;
        std::fs::remove_file(&sizes).map_err(|e| Error::io("remove", sizes, e))?;
        Ok(state)
    }
}

fn part(prefix: &str, ending: &str) -> String {
    format!("{prefix}.{ending}.part")
}

fn rename(from: &str, to: &str) -> Result<()> {
    std::fs::rename(from, to).map_err(|e| Error::io("rename", from, e))
}

/// Returns a unique name in the folder of `path`.
fn temporary(path: &str) -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    format!("{path}.{}.{}.tmp", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}

/// Replaces a file atomically: readers see either the old one or all of the new one.
pub(crate) fn replace(
    path: &str,
    write: impl FnOnce(&mut BufWriter<File>) -> std::io::Result<()>,
) -> Result<()> {
    let new = temporary(path);
    let made = File::create(&new).and_then(|file| {
        let mut out = BufWriter::with_capacity(BUFFER, file);
        write(&mut out)?;
        out.flush()
    });
    if let Err(e) = made {
        // The incomplete file is useless.
        let _ = std::fs::remove_file(&new);
        return Err(Error::io("write", path, e));
    }
    rename(&new, path)
}

/// Iterates over the sizes that a writer has recorded.
struct Sizes(BufReader<File>);

impl Sizes {
    fn open(path: &str) -> Result<Sizes> {
        let file = File::open(path).map_err(|e| Error::io("open", path, e))?;
        Ok(Sizes(BufReader::with_capacity(BUFFER, file)))
    }
}

impl Iterator for Sizes {
    type Item = std::io::Result<u32>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut size = [0; 4];
        match self.0.read_exact(&mut size) {
            Ok(()) => Some(Ok(u32::from_le_bytes(size))),
            Err(e) if e.kind() == std::io::ErrorKind::UnexpectedEof => None,
            Err(e) => Some(Err(e)),
        }
    }
}
