//! Writes one tar of samples.

mod header;
mod rules;

use header::{BLOCK, headers};
use infeed_core::{Error, Result};
use std::io::{self, Write};

/// Writes samples as `key.field` members: ustar, read-only files without an owner, one fixed time for all.
#[derive(Debug)]
pub struct TarWriter<W: Write> {
    out: W,
    /// The name of the archive in errors.
    name: String,
    mtime: u64,
    last: Option<String>,
    written: u64,
    /// Set while members are being written: a partly written archive must not be continued.
    torn: bool,
}

impl<W: Write> TarWriter<W> {
    /// Creates an archive that is written to `out`; `name` is for messages.
    pub fn new(out: W, name: impl Into<String>) -> Self {
        TarWriter { out, name: name.into(), mtime: 0, last: None, written: 0, torn: false }
    }

    /// Sets the modification time of the members (default 0), in whole seconds since 1970. The same samples with the
    /// same time give the same archive.
    #[must_use]
    pub fn with_mtime(mut self, seconds: u64) -> Self {
        self.mtime = seconds;
        self
    }

    /// Returns the bytes written so far, without those that will end the archive.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Writes one sample, its fields sorted by name. A sample that would not be read back unchanged is refused before
    /// any of it is written.
    pub fn write(&mut self, key: &str, fields: &[(&str, &[u8])]) -> Result<()> {
        rules::check_key(key)?;
        if self.last.as_deref() == Some(key) {
            return Err(Error::argument(format!(
                "the key `{key}` comes twice in a row: it would be one sample"
            )));
        }
        let mut fields = fields.to_vec();
        fields.sort_unstable_by_key(|(name, _)| *name);
        rules::check_fields(key, &fields)?;
        if self.torn {
            return Err(self.failed(io::Error::other("an earlier write failed")));
        }
        self.torn = true;
        for (field, bytes) in fields {
            self.member(&format!("{key}.{field}"), bytes).map_err(|e| self.failed(e))?;
        }
        self.torn = false;
        self.last = Some(key.to_owned());
        Ok(())
    }

    /// Ends the archive and returns the inner writer.
    pub fn finish(mut self) -> Result<W> {
        if self.torn {
            return Err(self.failed(io::Error::other("an earlier write failed")));
        }
        let end = self.out.write_all(&[0; 2 * BLOCK]).and_then(|()| self.out.flush());
        end.map_err(|e| self.failed(e))?;
        Ok(self.out)
    }

    fn member(&mut self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let head = headers(name, bytes.len() as u64, self.mtime);
        let padding = bytes.len().next_multiple_of(BLOCK) - bytes.len();
        self.out.write_all(&head)?;
        self.out.write_all(bytes)?;
        self.out.write_all(&[0; BLOCK][..padding])?;
        self.written += (head.len() + bytes.len() + padding) as u64;
        Ok(())
    }

    fn failed(&self, cause: io::Error) -> Error {
        Error::io("write", &*self.name, cause)
    }
}
