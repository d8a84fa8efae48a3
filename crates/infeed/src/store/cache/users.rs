//! Who uses a cache: each process holds a shared lock on one file.
//!
//! A cache in memory is removed by the last one. The lock ends with its process, so one that is killed does not count; what is left
//! then is found by the next one that opens the folder.

use super::claim::is_at;
use std::{
    fs::{self, File, TryLockError},
    io::{self, ErrorKind},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

/// How long somebody else may take to open or to remove the cache.
const PATIENCE: Duration = Duration::from_secs(60);

/// One user of a cache.
#[derive(Debug)]
pub(super) struct User {
    file: Option<File>,
    root: PathBuf,
    keep: bool,
}

fn open(root: &Path) -> io::Result<File> {
    File::options().read(true).write(true).create(true).truncate(false).open(root.join("users"))
}

impl User {
    /// Becomes a user. `prepare` is told whether nobody else is one, which stays so until it returns.
    pub(super) fn new<T>(
        root: &Path,
        keep: bool,
        mut prepare: impl FnMut(bool) -> io::Result<T>,
    ) -> io::Result<(User, T)> {
        let until = Instant::now() + PATIENCE;
        loop {
            if Instant::now() > until {
                return Err(io::Error::new(ErrorKind::TimedOut, "somebody holds the lock of its users"));
            }
            fs::create_dir_all(root.join("objects"))?;
            let file = match open(root) {
                // Removed meanwhile.
                Err(e) if e.kind() == ErrorKind::NotFound => continue,
                other => other?,
            };
            let alone = file.try_lock().is_ok();
            if !alone && !shared(&file)? {
                std::thread::sleep(Duration::from_millis(2));
                continue;
            }
            if !is_at(&file, &root.join("users")) {
                continue;
            }
            let made = prepare(alone)?;
            if alone {
                // Not in one step: somebody else may be alone with it for a moment, and clear it up, or remove it.
                file.unlock()?;
                while !shared(&file)? && Instant::now() < until {
                    std::thread::sleep(Duration::from_millis(2));
                }
                if !is_at(&file, &root.join("users")) {
                    continue;
                }
            }
            return Ok((User { file: Some(file), root: root.to_owned(), keep }, made));
        }
    }
}

fn shared(file: &File) -> io::Result<bool> {
    match file.try_lock_shared() {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(e)) => Err(e),
    }
}

impl Drop for User {
    fn drop(&mut self) {
        // Closed, not unlocked: children of this process may still use the cache.
        drop(self.file.take());
        if !self.keep {
            remove_unused(&self.root);
        }
    }
}

/// Whether nobody uses a cache, as long as the returned file is open.
pub(super) fn unused(root: &Path) -> Option<File> {
    let file = File::options().read(true).write(true).open(root.join("users")).ok()?;
    (file.try_lock().is_ok() && is_at(&file, &root.join("users"))).then_some(file)
}

/// Removes a cache that nobody uses. Returns whether it did.
pub(super) fn remove_unused(root: &Path) -> bool {
    let Some(_alone) = unused(root) else { return false };
    // The file of the lock last: before, another one would be made beside what is left.
    let gone = fs::remove_dir_all(root.join("objects")).is_ok();
    let gone = fs::remove_dir_all(root).is_ok() && gone;
    if let Some(folder) = root.parent() {
        // The user's folder too, if there is nothing else in it.
        let _ = fs::remove_dir(folder);
    }
    gone
}
