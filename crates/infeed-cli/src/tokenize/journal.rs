//! The journal of a corpus: a file beside it with the progress, so that an interrupted run can be resumed.

use infeed::Error;
use infeed_core::{Dtype, Result};
use infeed_tokens::TokenWriter;
use serde_json::{Value as Json, json};
use std::{fs, path::Path};

/// The journal of one corpus.
#[derive(Debug)]
pub(super) struct Journal {
    prefix: String,
    /// What a run must have in common with the one it resumes: data, tokenizer and options.
    identity: Json,
}

/// A checkpoint: everything up to it is on disk.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Point {
    /// Rows of the source that are done, including those that were left out.
    pub(super) rows: u64,
    pub(super) documents: u64,
    pub(super) tokens: u64,
}

/// The state of a corpus on disk.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Corpus {
    /// Nothing.
    Nothing,
    /// A finished corpus.
    Finished,
    /// An unfinished corpus.
    Begun(Point),
}

impl Journal {
    pub(super) fn new(prefix: &str, identity: Json) -> Self {
        Journal { prefix: prefix.to_owned(), identity }
    }

    fn path(&self) -> String {
        format!("{}.journal", self.prefix)
    }

    fn exists(&self, ending: &str) -> bool {
        Path::new(&format!("{}.{ending}", self.prefix)).exists()
    }

    /// Finds the state of the corpus. A run that was stopped while finishing is completed or reset to its checkpoint.
    pub(super) fn look(&self) -> Result<Corpus> {
        let path = self.path();
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
                return Ok(if self.exists("idx") || self.exists("bin") {
                    Corpus::Finished
                } else {
                    Corpus::Nothing
                });
            }
            Err(e) => return Err(Error::io("read", path, e)),
        };
        let broken =
            |why: &str| Error::argument(format!("the journal `{path}` {why}: --overwrite starts over"));
        let json: Json = serde_json::from_str(&text).map_err(|_| broken("is damaged"))?;
        if json["identity"] != self.identity {
            return Err(broken(&format!("is of another run ({})", self.difference(&json["identity"]))));
        }
        let number = |name: &str| json[name].as_u64().ok_or_else(|| broken("is damaged"));
        let point =
            Point { rows: number("rows")?, documents: number("documents")?, tokens: number("tokens")? };
        match (self.exists("bin.part"), self.exists("idx.part")) {
            (true, _) => {}
            // Only the removal of the journal was missing.
            (false, false) if self.exists("bin") && self.exists("idx") => {
                self.remove()?;
                return Ok(Corpus::Finished);
            }
            // The tokens were renamed already, the index was not: the last checkpoint is the end of both.
            (false, true) if self.exists("bin") => {
                let (from, to) = (format!("{}.bin", self.prefix), format!("{}.bin.part", self.prefix));
                fs::rename(&from, to).map_err(|e| Error::io("rename", from, e))?;
            }
            _ => return Err(broken("exists, but the files it describes do not")),
        }
        Ok(Corpus::Begun(point))
    }

    /// What differs from another identity, as text.
    fn difference(&self, other: &Json) -> String {
        let names: Vec<&str> =
            self.identity.as_object().into_iter().flatten().map(|(k, _)| k.as_str()).collect();
        let changed: Vec<&str> = names.into_iter().filter(|k| self.identity[*k] != other[*k]).collect();
        if changed.is_empty() {
            "an older version".to_owned()
        } else {
            format!("{} changed", changed.join(", "))
        }
    }

    /// Writes a checkpoint: flushes the writer and updates the journal.
    pub(super) fn keep(&self, writer: &mut TokenWriter, rows: u64) -> Result<()> {
        let (documents, tokens) = writer.flush_state()?;
        let json = json!({"identity": self.identity, "rows": rows, "documents": documents, "tokens": tokens});
        let (path, new) = (self.path(), format!("{}.tmp", self.path()));
        // Replaced atomically: a journal is never half written.
        let written = fs::File::create(&new).and_then(|mut file| {
            std::io::Write::write_all(&mut file, json.to_string().as_bytes())?;
            file.sync_data()
        });
        written.and_then(|()| fs::rename(&new, &path)).map_err(|e| Error::io("write", path, e))
    }

    /// Opens the writer at a checkpoint, or for a new corpus.
    pub(super) fn writer(&self, dtype: Dtype, point: Option<Point>) -> Result<TokenWriter> {
        match point {
            Some(point) => TokenWriter::resume(&self.prefix, dtype, point.documents, point.tokens),
            None => {
                // An old journal would be taken for that of the new files.
                self.remove()?;
                TokenWriter::create(&self.prefix, dtype)
            }
        }
    }

    /// Removes the journal.
    pub(super) fn remove(&self) -> Result<()> {
        match fs::remove_file(self.path()) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(Error::io("remove", self.path(), e)),
            _ => Ok(()),
        }
    }
}
