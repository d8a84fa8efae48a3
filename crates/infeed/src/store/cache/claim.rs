//! The right to fetch a chunk: a lock on the file that it is written to.
//!
//! The lock (`flock`) ends with its process, however that ends. The file then stays, and the next one that wants the chunk
//! takes it over.

use super::{
    file::{self, Checked},
    object::{ChunkId, Object},
};
use std::{
    fs::{self, File, TryLockError},
    io::{self, ErrorKind},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::Arc,
};

/// What came of an attempt to claim a chunk.
#[derive(Debug)]
pub(super) enum Attempt {
    /// It is this one's to fetch.
    Taken(Claim),
    /// It is in the cache by now.
    Present,
    /// Somebody else fetches it.
    Busy,
}

/// A chunk that this one, of all processes and threads, fetches. Dropped without bytes, it is free again.
#[derive(Debug)]
pub(super) struct Claim {
    pub(super) object: Arc<Object>,
    pub(super) chunk: u32,
    file: File,
    part: PathBuf,
    renamed: bool,
}

impl Claim {
    /// Tries to claim a chunk. Errors are those of a folder that cannot be written to.
    pub(super) fn attempt(object: &Arc<Object>, chunk: u32) -> io::Result<Attempt> {
        let (whole, part) = (object.chunk(chunk), object.part(chunk));
        object.prepare_once()?;
        loop {
            if whole.exists() {
                return Ok(Attempt::Present);
            }
            let open = || File::options().read(true).write(true).create(true).truncate(false).open(&part);
            let file = match open() {
                Err(e) if e.kind() == ErrorKind::NotFound => {
                    object.prepare()?;
                    open()?
                }
                other => other?,
            };
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(Attempt::Busy),
                Err(TryLockError::Error(e)) => return Err(e),
            }
            // Whoever had the lock before may have renamed or removed the file meanwhile.
            if !is_at(&file, &part) {
                continue;
            }
            let claim = Claim { object: Arc::clone(object), chunk, file, part, renamed: false };
            return Ok(if whole.exists() { Attempt::Present } else { Attempt::Taken(claim) });
        }
    }

    pub(super) fn id(&self) -> ChunkId {
        (self.object.key, self.chunk)
    }

    /// Writes the chunk and puts it in its place.
    pub(super) fn fill(&mut self, bytes: &[u8]) -> io::Result<Checked> {
        // A process that was killed may have left some bytes.
        self.file.set_len(0)?;
        let id = self.id();
        file::write(&mut self.file, id, bytes, self.object.grid.chunk)?;
        let checked = Checked::all(&self.file)?;
        fs::rename(&self.part, self.object.chunk(self.chunk))?;
        self.renamed = true;
        Ok(checked)
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        if !self.renamed {
            let _ = fs::remove_file(&self.part);
        }
        // Not left to the end of the file: a child of this process may have inherited it.
        let _ = self.file.unlock();
    }
}

/// Removes the file of a claim whose process is gone. Returns whether there is none any more.
pub(super) fn remove_abandoned(part: &Path) -> bool {
    let Ok(file) = File::options().read(true).write(true).open(part) else { return !part.exists() };
    if file.try_lock().is_err() {
        return false;
    }
    if is_at(&file, part) {
        let _ = fs::remove_file(part);
    }
    let _ = file.unlock();
    true
}

/// Whether a path leads to this file.
pub(super) fn is_at(file: &File, path: &Path) -> bool {
    match (file.metadata(), fs::metadata(path)) {
        (Ok(own), Ok(found)) => (own.dev(), own.ino()) == (found.dev(), found.ino()),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use infeed_core::Shard;

    fn object(root: &Path) -> Arc<Object> {
        let shard = Shard { name: "a".into(), size: 10, modified: Some(1), version: None };
        Arc::new(Object::new(root, &shard, 5).unwrap())
    }

    #[test]
    fn one_of_many_fetches() {
        let root = tempfile::tempdir().unwrap();
        let object = object(root.path());
        let Attempt::Taken(mut claim) = Claim::attempt(&object, 1).unwrap() else { panic!("not taken") };
        assert!(matches!(Claim::attempt(&object, 1).unwrap(), Attempt::Busy));
        assert!(!remove_abandoned(&object.part(1)));
        claim.fill(b"hello").unwrap();
        assert!(matches!(Claim::attempt(&object, 1).unwrap(), Attempt::Present));
        drop(claim);
        assert!(object.chunk(1).exists() && !object.part(1).exists());
        assert_eq!(Object::load(root.path(), object.key).unwrap().about, object.about);
    }

    #[test]
    fn what_is_left_blocks_nobody() {
        let root = tempfile::tempdir().unwrap();
        let object = object(root.path());
        object.prepare().unwrap();
        fs::write(object.part(0), b"the first half of").unwrap();
        let Attempt::Taken(mut claim) = Claim::attempt(&object, 0).unwrap() else { panic!("not taken") };
        claim.fill(b"hello").unwrap();
        assert_eq!(fs::metadata(object.chunk(0)).unwrap().len(), file::file_bytes(5, 5));
        let Attempt::Taken(claim) = Claim::attempt(&object, 1).unwrap() else { panic!("not taken") };
        drop(claim);
        assert!(!object.part(1).exists());
        fs::write(object.part(1), b"").unwrap();
        assert!(remove_abandoned(&object.part(1)) && !object.part(1).exists());
    }
}
