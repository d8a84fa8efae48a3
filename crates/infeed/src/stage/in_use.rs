//! Who uses the copies in a folder, and the end of those that nobody uses.
//!
//! Everybody who copies or reads holds a shared lock (`flock`) of one file. Whoever gets it alone may remove the copies. The
//! lock of a process ends with it, however it ends.

use super::{
    manifest::{IN_USE, Manifest, OWN},
    part, place,
};
use infeed_core::{Error, Result, sync::Hold};
use std::{
    collections::HashMap,
    fs::{File, TryLockError},
    io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::{Arc, LazyLock, Mutex, Weak},
};

/// One lock for each folder and process: several locks of one process would stand in each other's way.
static HELD: LazyLock<Mutex<HashMap<PathBuf, Weak<InUse>>>> = LazyLock::new(Mutex::default);

/// A folder whose copies are in use.
#[derive(Debug)]
pub(super) struct InUse {
    file: File,
    folder: PathBuf,
}

/// What was removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Removed {
    /// Complete copies.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl InUse {
    /// Marks a folder as used. It is made if it does not exist. Waits while its copies are being removed.
    pub(super) fn begin(folder: &Path) -> Result<Arc<InUse>> {
        let failed = |e| Error::io("lock", folder.join(IN_USE).display().to_string(), e);
        loop {
            std::fs::create_dir_all(folder)
                .map_err(|e| Error::io("make", folder.display().to_string(), e))?;
            match Self::of(folder, true) {
                Ok(Some(held)) => return Ok(held),
                // It was removed before the lock was had.
                Ok(None) => {}
                Err(e) if e.kind() == io::ErrorKind::NotFound => {}
                Err(e) => return Err(failed(e)),
            }
        }
    }

    /// Marks a folder as used for reading, if it has copies.
    pub(super) fn begin_reading(folder: &Path) -> Option<Arc<InUse>> {
        Self::of(folder, false).ok().flatten()
    }

    fn of(folder: &Path, create: bool) -> io::Result<Option<Arc<InUse>>> {
        let folder = folder.canonicalize()?;
        let mut held = HELD.hold();
        held.retain(|_, one| one.strong_count() > 0);
        if let Some(one) = held.get(&folder).and_then(Weak::upgrade)
            && one.is_there()
        {
            return Ok(Some(one));
        }
        let path = folder.join(IN_USE);
        let file = match create {
            true => File::options().write(true).create(true).truncate(false).open(&path)?,
            false => File::open(&path)?,
        };
        file.lock_shared()?;
        let one = Arc::new(InUse { file, folder: folder.clone() });
        if !one.is_there() {
            return Ok(None);
        }
        held.insert(folder, Arc::downgrade(&one));
        Ok(Some(one))
    }

    /// Whether the locked file is the one that has its name.
    fn is_there(&self) -> bool {
        let there = std::fs::metadata(self.folder.join(IN_USE));
        match (self.file.metadata(), there) {
            (Ok(mine), Ok(there)) => (mine.dev(), mine.ino()) == (there.dev(), there.ino()),
            _ => false,
        }
    }

    /// Removes the copies, unless another process uses them. With `leaving` this process does not use them any more either
    /// way: of several that leave at the same time, the last one removes the copies.
    pub(super) fn remove(&self, leaving: bool) -> Result<Option<Removed>> {
        let failed = |e| Error::io("lock", self.folder.join(IN_USE).display().to_string(), e);
        // First given back: two that ask for it alone while each holds its share would both be refused.
        self.file.unlock().map_err(failed)?;
        match self.file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) if leaving => return Ok(None),
            Err(TryLockError::WouldBlock) => {
                self.file.lock_shared().map_err(failed)?;
                return Ok(None);
            }
            Err(TryLockError::Error(e)) => return Err(failed(e)),
        }
        if !self.is_there() {
            return Ok(Some(Removed { files: 0, bytes: 0 }));
        }
        let removed = remove_all(&self.folder);
        // Whoever waits for the lock finds that the file is gone, and begins anew.
        let _ = self.file.unlock();
        removed.map(Some)
    }
}

/// Removes the copies in a folder, if nobody uses them. Files that were not staged stay.
pub fn clean_up(folder: &Path) -> Result<Removed> {
    if !place::is_staged(folder) {
        return Err(Error::argument(format!(
            "`{}` holds no staged files: nothing is removed",
            folder.display()
        )));
    }
    let in_use = || {
        Error::argument(format!(
            "the staged files in `{}` are in use by another process: nothing is removed",
            folder.display()
        ))
    };
    InUse::begin(folder)?.remove(false)?.ok_or_else(in_use)
}

fn remove_all(folder: &Path) -> Result<Removed> {
    let manifest = Manifest::read(folder)?;
    let mut removed = Removed { files: 0, bytes: 0 };
    remove_below(folder, "", &manifest, &mut removed)?;
    for name in OWN {
        match std::fs::remove_file(folder.join(name)) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => {
                return Err(Error::io("remove", folder.join(name).display().to_string(), e));
            }
            _ => {}
        }
    }
    // Fails, as it should, if there are other files.
    let _ = std::fs::remove_dir(folder);
    Ok(removed)
}

/// Removes what was staged into one folder. Links to folders are not followed.
fn remove_below(root: &Path, prefix: &str, manifest: &Manifest, removed: &mut Removed) -> Result<()> {
    let folder = root.join(prefix);
    let failed = |e| Error::io("remove", folder.display().to_string(), e);
    for entry in std::fs::read_dir(&folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let Ok(last) = entry.file_name().into_string() else { continue };
        let name = format!("{prefix}{last}");
        if entry.file_type().map_err(failed)?.is_dir() {
            remove_below(root, &format!("{name}/"), manifest, removed)?;
            // Fails, as it should, if there are other files.
            let _ = std::fs::remove_dir(entry.path());
            continue;
        }
        let copy = manifest.get(&name);
        if copy.is_some() || part::is_own_name(&last) {
            std::fs::remove_file(entry.path()).map_err(failed)?;
        }
        if let Some(copy) = copy {
            removed.files += 1;
            removed.bytes += copy.size;
        }
    }
    Ok(())
}
