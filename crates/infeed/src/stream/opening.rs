//! The parts that a stream is read from.

use super::{
    input::{Patient, Stop},
    pipe::Pipe,
};
use infeed_core::{Error, Result, Shard, Store, StoreExt, forward};
use std::{
    fs::File,
    io::{self, Read},
    os::{fd::AsFd, unix::fs::OpenOptionsExt},
    sync::Arc,
};

/// One part of a stream: where its bytes come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Opening {
    /// An object of a store, compressed or not, or a named pipe; `-` is standard input.
    File(String),
    /// The output of a shell command.
    Pipe(String),
}

impl Opening {
    /// Whether a user's path can only be read as a stream: a command or standard input.
    pub fn is_stream(text: &str) -> bool {
        text == "-" || text.starts_with("pipe:")
    }

    /// Parses what a user writes: `pipe:COMMAND`, `-` or a path.
    pub fn parse(text: &str) -> Opening {
        match text.strip_prefix("pipe:") {
            Some(command) => Opening::Pipe(command.to_owned()),
            None => Opening::File(text.to_owned()),
        }
    }

    /// Returns the name as a user would write it.
    pub fn name(&self) -> String {
        match self {
            Opening::File(path) => path.clone(),
            Opening::Pipe(command) => format!("pipe:{command}"),
        }
    }

    /// Whether its bytes can be read only once. Fails for a path that cannot be read.
    pub(super) fn once(&self, store: &dyn Store) -> Result<bool> {
        match self {
            Opening::Pipe(_) => Ok(false),
            Opening::File(path) if path == "-" => Ok(true),
            Opening::File(path) => {
                let Some(local) = store.local_path(path) else { return store.stat_one(path).map(|_| false) };
                let data = std::fs::metadata(local).map_err(|e| Error::io("open", path, e))?;
                if data.is_dir() {
                    let what = io::Error::new(io::ErrorKind::IsADirectory, "it is a folder");
                    return Err(Error::io("read", path, what));
                }
                Ok(!data.is_file())
            }
        }
    }

    /// Starts reading. Of an object of a store it also says which.
    pub(super) fn bytes(
        &self,
        store: &Arc<dyn Store>,
        stop: &Stop,
    ) -> Result<(Box<dyn Read + Send>, Option<Shard>)> {
        let bytes: Box<dyn Read + Send> = match self {
            Opening::Pipe(command) => {
                let pipe =
                    Pipe::start(command, stop.clone()).map_err(|e| Error::io("run", self.name(), e))?;
                Box::new(pipe)
            }
            Opening::File(path) if path == "-" => {
                let own = io::stdin().as_fd().try_clone_to_owned().map_err(|e| Error::io("open", path, e))?;
                Box::new(Patient { file: File::from(own), stop: stop.clone() })
            }
            Opening::File(path) => match store.local_path(path) {
                Some(local) if self.once(&**store)? => {
                    // Opening a named pipe without a writer would block, and could not be cancelled.
                    let flags = libc::O_NONBLOCK;
                    let file = File::options().read(true).custom_flags(flags).open(local);
                    Box::new(Patient {
                        file: file.map_err(|e| Error::io("open", path, e))?,
                        stop: stop.clone(),
                    })
                }
                _ => {
                    let shard = store.stat_one(path)?;
                    return Ok((forward(store, &shard, 0)?, Some(shard)));
                }
            },
        };
        Ok((bytes, None))
    }
}
