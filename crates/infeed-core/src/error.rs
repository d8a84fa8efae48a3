//! One error type for the whole loader: it says what happened, where, and what to do.

use std::{fmt, sync::Arc};

/// `Result` with the loader's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The location of a sample: shard, row in the whole source, key and field.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct At {
    /// Name of the shard.
    pub shard: String,
    /// Row number in the source.
    pub row: Option<u64>,
    /// The sample's key, if the format has keys.
    pub key: Option<String>,
    /// The field of the sample.
    pub field: Option<String>,
}

impl At {
    /// Returns the location with a colon; empty while it is not known.
    fn lead(&self) -> String {
        if *self == At::default() { String::new() } else { format!("{self}: ") }
    }
}

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "shard `{}`", self.shard)?;
        if let Some(row) = self.row {
            write!(f, ", row {row}")?;
        }
        if let Some(key) = &self.key {
            write!(f, ", key `{key}`")?;
        }
        if let Some(field) = &self.field {
            write!(f, ", field `{field}`")?;
        }
        Ok(())
    }
}

/// Everything that can go wrong.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A path that does not exist.
    #[error("not found: `{path}`{hint}")]
    NotFound {
        /// The path as the user gave it.
        path: String,
        /// A hint; empty or starting with a separator.
        hint: String,
    },
    /// An error of the operating system.
    #[error("cannot {doing} `{path}`: {source}")]
    Io {
        /// The operation: `open`, `read`, ...
        doing: &'static str,
        /// The path.
        path: String,
        /// The cause.
        source: Arc<std::io::Error>,
    },
    /// An object that is no longer what it was when it was listed.
    #[error("`{path}` changed while it was being read: {what}; start again with data that stays as it is")]
    Changed {
        /// The object.
        path: String,
        /// What differs.
        what: String,
    },
    /// A sample whose bytes could not be had, although it was tried again: the storage's fault, not the sample's.
    #[error("{}{what}", at.lead())]
    Unreadable {
        /// Its place.
        at: Box<At>,
        /// The cause.
        what: String,
    },
    /// A shard whose bytes violate its format.
    #[error("shard `{shard}` is damaged at byte {offset}: {what}")]
    Format {
        /// The shard.
        shard: String,
        /// Byte offset of the damage.
        offset: u64,
        /// What was found there.
        what: String,
    },
    /// A sample that could not be made.
    #[error("{}{what}", at.lead())]
    Sample {
        /// Its location.
        at: Box<At>,
        /// The cause.
        what: String,
    },
    /// A pipeline that cannot work, detected during planning.
    #[error("{stage}: {what}")]
    Plan {
        /// The stage that refuses.
        stage: String,
        /// The reason and the remedy.
        what: String,
    },
    /// An invalid argument.
    #[error("{what}")]
    Argument {
        /// Which argument and why.
        what: String,
    },
    /// A checkpoint that does not belong to the pipeline.
    #[error("this state does not fit the loader: {what}")]
    State {
        /// What differs.
        what: String,
    },
    /// More bad samples than the policy allows.
    #[error("{count} bad samples, more than the limit of {limit}; the last one: {last}")]
    TooManyBad {
        /// Bad samples seen.
        count: u64,
        /// The limit.
        limit: u64,
        /// The most recent error.
        last: String,
    },
    /// A run that makes no progress.
    #[error("{what}")]
    Stalled {
        /// What its threads are doing.
        what: String,
    },
    /// A bug in infeed: an invariant was violated or a worker panicked outside a sample.
    #[error("internal error in infeed: {what}; please report it")]
    Internal {
        /// What happened.
        what: String,
    },
}

impl Error {
    /// Creates an I/O error with its path; a missing file becomes [`Error::NotFound`].
    pub fn io(doing: &'static str, path: impl Into<String>, source: std::io::Error) -> Error {
        let path = path.into();
        if source.kind() == std::io::ErrorKind::NotFound {
            return Error::NotFound { path, hint: String::new() };
        }
        Error::Io { doing, path, source: Arc::new(source) }
    }

    /// Creates an argument error.
    pub fn argument(what: impl Into<String>) -> Error {
        Error::Argument { what: what.into() }
    }

    /// Creates a planning error.
    pub fn plan(stage: impl Into<String>, what: impl Into<String>) -> Error {
        Error::Plan { stage: stage.into(), what: what.into() }
    }

    /// Creates a sample error without location; the engine adds it with [`Error::at`].
    pub fn sample(what: impl Into<String>) -> Error {
        Error::Sample { at: Box::default(), what: what.into() }
    }

    /// Adds the location. A known location is kept.
    #[must_use]
    pub fn at(self, at: At) -> Error {
        match self {
            Error::Sample { at: old, what } if old.row.is_none() => {
                let field = old.field.clone().or(at.field.clone());
                Error::Sample { at: Box::new(At { field, ..at }), what }
            }
            Error::Sample { .. } | Error::Unreadable { .. } | Error::TooManyBad { .. } => self,
            other if other.is_storage() => Error::Unreadable { at: Box::new(at), what: other.to_string() },
            other => Error::Sample { at: Box::new(at), what: other.to_string() },
        }
    }

    /// Names the object of an error that does not know it.
    #[must_use]
    pub fn of_object(self, name: &str) -> Error {
        match self {
            Error::Changed { path, what } if path.is_empty() => {
                Error::Changed { path: name.to_owned(), what }
            }
            other => other,
        }
    }

    /// Whether the storage is at fault and not the data: it failed, or the object changed. Such an error is no reason to
    /// leave a sample out. A file that is not there or must not be read is not one of these: reading it again would not help.
    pub fn is_storage(&self) -> bool {
        match self {
            Error::Changed { .. } | Error::Unreadable { .. } => true,
            Error::Io { source, .. } => {
                use std::io::ErrorKind::{InvalidInput, IsADirectory, PermissionDenied, Unsupported};
                !matches!(source.kind(), PermissionDenied | IsADirectory | InvalidInput | Unsupported)
            }
            _ => false,
        }
    }

    /// Whether the same request can succeed a moment later.
    pub fn is_transient(&self) -> bool {
        use std::io::ErrorKind;
        /// Linux's numbers of EIO, ENXIO, EREMOTEIO, which have no kind of their own.
        const NUMBERS: [i32; 3] = [5, 6, 121];
        let Error::Io { source, .. } = self else { return false };
        match source.kind() {
            ErrorKind::Interrupted
            | ErrorKind::WouldBlock
            | ErrorKind::TimedOut
            | ErrorKind::StaleNetworkFileHandle
            | ErrorKind::ConnectionReset
            | ErrorKind::ConnectionAborted
            | ErrorKind::ConnectionRefused
            | ErrorKind::NotConnected
            | ErrorKind::BrokenPipe
            | ErrorKind::HostUnreachable
            | ErrorKind::NetworkUnreachable
            | ErrorKind::NetworkDown
            | ErrorKind::ResourceBusy
            | ErrorKind::UnexpectedEof => true,
            _ => source.raw_os_error().is_some_and(|number| NUMBERS.contains(&number)),
        }
    }

    /// Adds the field. A known field is kept.
    #[must_use]
    pub fn in_field(self, field: &str) -> Error {
        match self {
            Error::Sample { mut at, what } => {
                at.field.get_or_insert_with(|| field.to_owned());
                Error::Sample { at, what }
            }
            other => other,
        }
    }
}
