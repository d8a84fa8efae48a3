//! Writes samples to a sequence of shards.

mod pattern;

use super::tar::TarWriter;
use infeed_core::{Error, Result};
use pattern::Pattern;
use std::{
    fmt,
    fs::File,
    io::BufWriter,
    path::{Path, PathBuf},
};

/// Size of one write to the file system.
const BUFFER: usize = 1 << 20;

/// How samples are distributed over shards.
#[derive(Debug, Clone)]
pub struct ShardOptions {
    /// Path of a shard, with its number as `%06d` or `{:06}`.
    pub pattern: String,
    /// Maximum samples per shard.
    pub maxcount: u64,
    /// Maximum bytes per shard; a larger sample gets one of its own.
    pub maxsize: u64,
    /// Number of the first shard.
    pub start: u64,
    /// Modification time of the members, in seconds since 1970.
    pub mtime: u64,
}

impl ShardOptions {
    /// WebDataset's limits: 100,000 samples or 3 GB.
    pub fn new(pattern: impl Into<String>) -> Self {
        ShardOptions {
            pattern: pattern.into(),
            maxcount: 100_000,
            maxsize: 3_000_000_000,
            start: 0,
            mtime: 0,
        }
    }
}

/// A finished shard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// Its path.
    pub name: String,
    /// Samples in it.
    pub rows: u64,
    /// Its size.
    pub bytes: u64,
}

/// A function called with each finished shard.
type Hook = Box<dyn FnMut(&Written) -> Result<()> + Send>;

/// Writes samples into shards and starts a new one when the last is full.
///
/// A shard is written to a temporary name and renamed when it is complete, so a visible shard can be read. The current
/// shard is lost if the writer is dropped without [`ShardWriter::finish`].
#[must_use = "the last shard is only there after `finish`"]
pub struct ShardWriter {
    options: ShardOptions,
    pattern: Pattern,
    open: Option<Open>,
    done: Vec<Written>,
    hook: Option<Hook>,
}

#[derive(Debug)]
struct Open {
    tar: TarWriter<BufWriter<File>>,
    draft: Draft,
    name: String,
    rows: u64,
}

/// A file that is removed on drop unless it was renamed.
#[derive(Debug)]
struct Draft(PathBuf);

impl Drop for Draft {
    fn drop(&mut self) {
        // After a rename no file has that name; otherwise the rest is removed.
        let _ = std::fs::remove_file(&self.0);
    }
}

impl ShardWriter {
    /// Checks the options. The first file is created with the first sample.
    pub fn new(options: ShardOptions) -> Result<Self> {
        let pattern = Pattern::parse(&options.pattern)?;
        if options.maxcount == 0 || options.maxsize == 0 {
            return Err(Error::argument("maxcount and maxsize of a shard must be at least 1"));
        }
        Ok(ShardWriter { options, pattern, open: None, done: Vec::new(), hook: None })
    }

    /// Calls `hook` with each finished shard, for example to save an index beside it.
    pub fn after_each(mut self, hook: impl FnMut(&Written) -> Result<()> + Send + 'static) -> Self {
        self.hook = Some(Box::new(hook));
        self
    }

    /// Writes one sample.
    pub fn write(&mut self, key: &str, fields: &[(&str, &[u8])]) -> Result<()> {
        // A header and the padding per field; PAX headers are too rare to count.
        let coming: u64 = fields.iter().map(|(_, bytes)| 1024 + bytes.len() as u64).sum();
        let full = self.open.as_ref().is_some_and(|open| {
            open.rows >= self.options.maxcount
                || (open.rows > 0 && open.tar.written() + coming > self.options.maxsize)
        });
        if full {
            self.close()?;
        }
        if self.open.is_none() {
            let number = self.options.start + self.done.len() as u64;
            self.open = Some(Open::new(self.pattern.name(number), self.options.mtime)?);
        }
        if let Some(open) = &mut self.open {
            open.tar.write(key, fields)?;
            open.rows += 1;
        }
        Ok(())
    }

    /// Finishes the last shard and returns what was written.
    pub fn finish(mut self) -> Result<Vec<Written>> {
        self.close()?;
        Ok(std::mem::take(&mut self.done))
    }

    fn close(&mut self) -> Result<()> {
        // A shard whose only sample was refused is empty.
        let Some(open) = self.open.take().filter(|open| open.rows > 0) else { return Ok(()) };
        let written = open.close()?;
        self.done.push(written.clone());
        self.hook.as_mut().map_or(Ok(()), |hook| hook(&written))
    }
}

impl fmt::Debug for ShardWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ShardWriter")
            .field("options", &self.options)
            .field("done", &self.done)
            .finish_non_exhaustive()
    }
}

impl Open {
    fn new(name: String, mtime: u64) -> Result<Self> {
        let place = Path::new(&name);
        let folder = place.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        std::fs::create_dir_all(folder).map_err(|e| Error::io("make the folder of", &*name, e))?;
        let base = place.file_name().unwrap_or_default().to_string_lossy();
        // The leading dot keeps it out of `*.tar`.
        let draft = folder.join(format!(".{base}.{}.tmp", std::process::id()));
        let file = File::create(&draft).map_err(|e| Error::io("create", &*name, e))?;
        let out = BufWriter::with_capacity(BUFFER, file);
        Ok(Open { tar: TarWriter::new(out, &*name).with_mtime(mtime), draft: Draft(draft), name, rows: 0 })
    }

    fn close(self) -> Result<Written> {
        let Open { tar, draft, name, rows } = self;
        let bytes = tar.written() + 1024;
        drop(tar.finish()?);
        std::fs::rename(&draft.0, &name).map_err(|e| Error::io("rename the finished draft of", &*name, e))?;
        Ok(Written { name, rows, bytes })
    }
}
