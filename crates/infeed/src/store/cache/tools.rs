//! Looking after a cache: what it holds, whether it is sound, and making room. All of it works while others use the cache.

pub use super::shelf::tools as shelves;

use super::{
    claim::remove_abandoned,
    file::ChunkFile,
    index::Index,
    object::{ChunkId, Object, PART, ROOT, for_each_file, number},
    users,
};
use infeed_core::{Error, Result};
use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::ErrorKind,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

/// An object of which a cache has chunks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CachedObject {
    /// Its name in its store; empty if the cache does not know it any more.
    pub name: String,
    /// Its size in the store.
    pub size: u64,
    /// How many of its chunks are there.
    pub chunks: u64,
    /// How many chunks it has.
    pub of: u64,
    /// Bytes of their files.
    pub bytes: u64,
    /// When one of them was last written or read, as far as the file system tells.
    pub used: Option<SystemTime>,
}

/// A chunk that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DamagedChunk {
    /// The object.
    pub name: String,
    /// The number of the chunk.
    pub chunk: u32,
    /// The file.
    pub path: PathBuf,
    /// What is wrong with it.
    pub what: String,
}

/// What a check of a cache found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verified {
    /// Sound chunks.
    pub chunks: u64,
    /// Bytes of their files.
    pub bytes: u64,
    /// Chunks that are not sound; removed with `repair`.
    pub damaged: Vec<DamagedChunk>,
    /// Files that killed processes have left; removed with `repair`.
    pub left: u64,
    /// Bytes that the journal counts, if it can be read; made to agree with the files with `repair`.
    pub counted: Option<u64>,
}

impl Verified {
    /// Whether all chunks are sound. Files that are left and wrong counts do no harm: they are put right in passing.
    pub fn is_sound(&self) -> bool {
        self.damaged.is_empty()
    }
}

/// What was removed from a cache.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cleaned {
    /// Chunks.
    pub chunks: u64,
    /// Bytes of their files.
    pub bytes: u64,
    /// Whether somebody uses the cache.
    pub in_use: bool,
}

/// The folder of a cache, from the one that the user gave for it; `None` if that only has samples.
fn root(folder: &Path) -> Result<Option<PathBuf>> {
    let inside = folder.join(ROOT);
    let root = if folder.ends_with(ROOT) && !inside.is_dir() { folder.to_owned() } else { inside };
    if root.join("objects").is_dir() {
        return Ok(Some(root));
    }
    if shelves::exist(folder) {
        return Ok(None);
    }
    let hint = "; there is no cache in this folder".to_owned();
    Err(Error::NotFound { path: folder.display().to_string(), hint })
}

/// A chunk's file.
struct Found {
    id: ChunkId,
    path: PathBuf,
    bytes: u64,
    used: Option<SystemTime>,
}

/// All chunks of a cache, by object, and the files that are being written or were left.
fn files(root: &Path) -> (BTreeMap<u128, Vec<Found>>, Vec<PathBuf>) {
    let (mut objects, mut parts): (BTreeMap<u128, Vec<Found>>, _) = (BTreeMap::new(), Vec::new());
    for_each_file(root, |key, name, path| {
        if name.ends_with(PART) {
            parts.push(path.to_owned());
        }
        if let (Some(chunk), Ok(data)) = (number(name), fs::metadata(path)) {
            let used = data.accessed().ok().max(data.modified().ok());
            let found = Found { id: (key, chunk), path: path.to_owned(), bytes: data.len(), used };
            objects.entry(key).or_default().push(found);
        }
    });
    objects.values_mut().for_each(|chunks| chunks.sort_by_key(|found| found.id));
    (objects, parts)
}

/// Lists the objects of the cache in a folder, by name.
pub fn objects(folder: &Path) -> Result<Vec<CachedObject>> {
    let Some(root) = root(folder)? else { return Ok(Vec::new()) };
    let one = |(key, chunks): (u128, Vec<Found>)| {
        let object = Object::load(&root, key);
        let (name, size, of) = object.map_or((String::new(), 0, 0), |object| {
            (object.about.name, object.about.size, object.grid.size.div_ceil(object.grid.chunk))
        });
        CachedObject {
            name,
            size,
            chunks: chunks.len() as u64,
            of,
            bytes: chunks.iter().map(|found| found.bytes).sum(),
            used: chunks.iter().filter_map(|found| found.used).max(),
        }
    };
    let mut all: Vec<CachedObject> = files(&root).0.into_iter().map(one).collect();
    all.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(all)
}

/// Reads every chunk of the cache in a folder and checks it.
pub fn verify(folder: &Path, repair: bool) -> Result<Verified> {
    let mut verified = Verified::default();
    let Some(root) = root(folder)? else { return Ok(verified) };
    let (objects, parts) = files(&root);
    for (key, chunks) in objects {
        let object = Object::load(&root, key);
        for found in chunks {
            match check(object.as_ref(), &found) {
                Ok(()) => {
                    verified.chunks += 1;
                    verified.bytes += found.bytes;
                }
                // Evicted meanwhile.
                Err(e) if e.kind() == ErrorKind::NotFound => {}
                Err(e) => {
                    let name = object.as_ref().map_or(String::new(), |object| object.about.name.clone());
                    let (chunk, what) = (found.id.1, e.to_string());
                    if repair {
                        fs::remove_file(&found.path)
                            .map_err(|e| Error::io("remove", path(&found.path), e))?;
                    }
                    verified.damaged.push(DamagedChunk { name, chunk, path: found.path, what });
                }
            }
        }
    }
    for part in parts {
        let abandoned = || {
            let file = File::options().read(true).write(true).open(&part);
            file.is_ok_and(|file| file.try_lock().is_ok())
        };
        if if repair { remove_abandoned(&part) } else { abandoned() } {
            verified.left += 1;
        }
    }
    let index = Index::open(&root, u64::MAX, false);
    verified.counted = index.ok().and_then(|mut index| {
        if repair {
            index.recount().ok()?;
        }
        Some(index.policy().used())
    });
    Ok(verified)
}

fn path(path: &Path) -> String {
    path.display().to_string()
}

fn check(object: Option<&Object>, found: &Found) -> std::io::Result<()> {
    let Some(object) = object else {
        let what = "what object it belongs to is not known any more";
        return Err(std::io::Error::new(ErrorKind::InvalidData, what));
    };
    let file = File::open(&found.path)?;
    let len = object.grid.len(found.id.1);
    ChunkFile::new(&file, found.id, len, object.grid.chunk, None)?.verify()
}

/// Removes chunks from the cache in a folder: all, or those that were not used for a while. Objects that are read at the moment
/// are fetched again.
pub fn clean(folder: &Path, unused_for: Option<Duration>) -> Result<Cleaned> {
    let Some(root) = root(folder)? else { return Ok(Cleaned::default()) };
    let mut cleaned = Cleaned { in_use: users::unused(&root).is_none(), ..Cleaned::default() };
    let before = unused_for.and_then(|time| SystemTime::now().checked_sub(time));
    let (objects, parts) = files(&root);
    for found in objects.into_values().flatten() {
        let goes = unused_for.is_none() || found.used.zip(before).is_some_and(|(used, before)| used < before);
        if goes {
            match fs::remove_file(&found.path) {
                Ok(()) => {
                    cleaned.chunks += 1;
                    cleaned.bytes += found.bytes;
                }
                Err(e) if e.kind() == ErrorKind::NotFound => {}
                Err(e) => return Err(Error::io("remove", path(&found.path), e)),
            }
        }
    }
    for part in &parts {
        remove_abandoned(part);
    }
    if unused_for.is_none() && users::remove_unused(&root) {
        return Ok(cleaned);
    }
    // Folders of objects without chunks are not needed; one that somebody wants at this moment is made again.
    let emptied = |folder: PathBuf| {
        let chunks = fs::read_dir(&folder).into_iter().flatten().flatten();
        if chunks.map(|file| file.file_name()).all(|name| name == super::object::ABOUT)
            && users::unused(&root).is_some()
        {
            let _ = fs::remove_dir_all(folder);
        }
    };
    for first in fs::read_dir(root.join("objects")).into_iter().flatten().flatten() {
        fs::read_dir(first.path()).into_iter().flatten().flatten().for_each(|object| emptied(object.path()));
    }
    if let Ok(mut index) = Index::open(&root, u64::MAX, false) {
        index.recount().map_err(|e| Error::io("write", path(&root), e))?;
    }
    Ok(cleaned)
}
