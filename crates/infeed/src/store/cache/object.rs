//! Objects in a cache, and where their files lie.
//!
//! `FOLDER/infeed-cache-1/objects/AB/KEY/` holds the chunks of one object as `00000000`, `00000001` and so on, those that
//! are being fetched as `00000000.part`, and a text `about` that says what object it is. The key follows from name, size and
//! version, so an object that was replaced has another folder.

use super::chunks::Grid;
use infeed_core::{Shard, rng};
use serde::{Deserialize, Serialize};
use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
};

/// The folder inside the one that the user gave: whatever else lies there is not touched.
pub(super) const ROOT: &str = "infeed-cache-1";
/// The text that says what object it is.
pub(super) const ABOUT: &str = "about";
/// The ending of chunks that are being fetched.
pub(super) const PART: &str = ".part";

/// The chunk of an object: its key and its number.
pub(super) type ChunkId = (u128, u32);

/// What makes an object what it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct About {
    pub(super) name: String,
    pub(super) size: u64,
    pub(super) modified: Option<u64>,
    pub(super) version: Option<u64>,
    pub(super) chunk: u64,
}

/// One object of a cache.
#[derive(Debug)]
pub(super) struct Object {
    pub(super) key: u128,
    pub(super) grid: Grid,
    pub(super) folder: PathBuf,
    pub(super) about: About,
    /// The same as a shard.
    pub(super) shard: Shard,
    /// Whether this process has seen that the folder is there, and says what it is for.
    prepared: AtomicBool,
}

impl Object {
    /// The place of an object. `None` for one that could be replaced without notice: it has neither version nor time.
    pub(super) fn new(root: &Path, shard: &Shard, chunk: u64) -> Option<Object> {
        shard.version.or(shard.modified)?;
        Object::of(
            root,
            About {
                name: shard.name.to_string(),
                size: shard.size,
                modified: shard.modified,
                version: shard.version,
                chunk,
            },
        )
    }

    fn of(root: &Path, about: About) -> Option<Object> {
        let grid = Grid { size: about.size, chunk: about.chunk };
        let key = key(&serde_json::to_vec(&about).ok()?);
        grid.holds(&[]).then(|| Object {
            key,
            grid,
            folder: folder(root, key),
            shard: Shard {
                name: about.name.as_str().into(),
                size: about.size,
                modified: about.modified,
                version: about.version,
            },
            about,
            prepared: AtomicBool::new(false),
        })
    }

    /// The object whose chunks lie under a key.
    pub(super) fn load(root: &Path, key: u128) -> Option<Object> {
        let about = serde_json::from_slice(&fs::read(folder(root, key).join(ABOUT)).ok()?).ok()?;
        Object::of(root, about).filter(|object| object.key == key)
    }

    pub(super) fn chunk(&self, chunk: u32) -> PathBuf {
        self.folder.join(format!("{chunk:08}"))
    }

    pub(super) fn part(&self, chunk: u32) -> PathBuf {
        self.folder.join(format!("{chunk:08}{PART}"))
    }

    /// Makes the folder, with the text that says what it is for, before its first use. Whoever made the folder may have been
    /// killed before it wrote the text.
    pub(super) fn prepare_once(&self) -> io::Result<()> {
        if !self.prepared.load(Relaxed) {
            self.prepare()?;
            self.prepared.store(true, Relaxed);
        }
        Ok(())
    }

    /// Makes the folder again, wherever it has gone.
    pub(super) fn prepare(&self) -> io::Result<()> {
        static CALLS: AtomicU64 = AtomicU64::new(0);
        let about = self.folder.join(ABOUT);
        let mut tries = 0;
        loop {
            if about.exists() {
                return Ok(());
            }
            fs::create_dir_all(&self.folder)?;
            // Several processes and threads may do this at once: each writes its own file, and the same text.
            let call = CALLS.fetch_add(1, Relaxed);
            let aside = self.folder.join(format!("{ABOUT}.{}.{call}{PART}", std::process::id()));
            match fs::write(&aside, serde_json::to_vec(&self.about)?)
                .and_then(|()| fs::rename(&aside, &about))
            {
                // Somebody is cleaning up.
                Err(e) if e.kind() == io::ErrorKind::NotFound && tries < 100 => tries += 1,
                other => return other,
            }
        }
    }
}

/// The folder of a key.
pub(super) fn folder(root: &Path, key: u128) -> PathBuf {
    let name = format!("{key:032x}");
    root.join("objects").join(&name[..2]).join(name)
}

/// The number of a chunk from the name of its file.
pub(super) fn number(name: &str) -> Option<u32> {
    (name.len() >= 8 && name.bytes().all(|b| b.is_ascii_digit())).then(|| name.parse().ok())?
}

/// Visits every chunk of a cache.
pub(super) fn for_each_chunk(root: &Path, mut visit: impl FnMut(ChunkId, &Path)) {
    for_each_file(root, |key, name, path| {
        if let Some(chunk) = number(name) {
            visit((key, chunk), path);
        }
    });
}

/// Visits every file of every object of a cache.
pub(super) fn for_each_file(root: &Path, mut visit: impl FnMut(u128, &str, &Path)) {
    // Folders that vanish meanwhile have no files.
    let inside = |folder: &Path| fs::read_dir(folder).into_iter().flatten().flatten();
    for first in inside(&root.join("objects")) {
        for object in inside(&first.path()) {
            let name = object.file_name();
            let Some(key) = name.to_str().and_then(|name| u128::from_str_radix(name, 16).ok()) else {
                continue;
            };
            for file in inside(&object.path()) {
                if let Some(name) = file.file_name().to_str() {
                    visit(key, name, &file.path());
                }
            }
        }
    }
}

/// 128 bits of a text. Two objects with the same key would be told apart by their `about`.
fn key(text: &[u8]) -> u128 {
    let half = |seed: u64| {
        text.iter()
            .fold(seed, |hash, byte| rng::mix(hash.rotate_left(5) ^ u64::from(*byte)).wrapping_add(seed))
    };
    (u128::from(half(0x9e37_79b9_7f4a_7c15)) << 64) | u128::from(half(0xc2b2_ae3d_27d4_eb4f))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_version_lies_elsewhere() {
        let root = Path::new("/r");
        let shard = Shard { name: "s3://b/a".into(), size: 10, modified: Some(1), version: None };
        let object = |shard: &Shard, chunk| Object::new(root, shard, chunk).unwrap().folder;
        let first = object(&shard, 4);
        assert_eq!(first, object(&shard, 4));
        assert!(first.starts_with("/r/objects"));
        for other in [
            Shard { name: "s3://b/b".into(), ..shard.clone() },
            Shard { size: 11, ..shard.clone() },
            Shard { modified: Some(2), ..shard.clone() },
            Shard { version: Some(1), ..shard.clone() },
        ] {
            assert_ne!(first, object(&other, 4));
        }
        assert_ne!(first, object(&shard, 5));
        assert!(Object::new(root, &Shard { modified: None, ..shard }, 4).is_none());
    }

    #[test]
    fn names_of_chunks_are_numbers() {
        assert_eq!(number("00000012"), Some(12));
        assert_eq!(number("4294967295"), Some(u32::MAX));
        for other in ["about", "12", "00000012.part", "99999999999", ""] {
            assert_eq!(number(other), None);
        }
    }
}
