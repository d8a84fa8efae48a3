//! Where the indices of many tars are saved together.
//!
//! The name of the file has two parts: a hash of the common prefix of the tars' names, and a hash of all names. The
//! second finds the file of exactly these tars. If there is none, because tars were added or removed, a file with the
//! same first part still has most of them.

use super::{
    super::{check, set::Collector, set::TarSet},
    set::{self, Saved},
};
use crate::format::saved::{
    IndexCache,
    file::{self, hash, mix},
    is_far, is_known, is_older,
};
use infeed_core::{Shard, Shards, Store, parallel};
use std::{
    fs::File,
    path::{Path, PathBuf},
    time::SystemTime,
};

/// The extension of a file of many indices.
const ENDING: &str = ".infeed-set";

/// Files with the same first part that are kept: a growing data set would leave one behind each time.
const KEPT: usize = 8;

/// Tars that are looked at together.
const LOOKS: usize = 8;

/// A folder that may hold the file of some tars, and the two parts of the file's name.
struct Place {
    folder: PathBuf,
    like: String,
    name: String,
}

impl IndexCache {
    /// Loads what is saved of these tars; `None` if there is nothing of use.
    pub(in super::super) fn load_set(&self, store: &dyn Store, shards: &Shards) -> Option<Saved> {
        if *self == IndexCache::Off || !all_known(store, shards) {
            return None;
        }
        let far = all_far(store, shards);
        let near = (!far).then(|| beside(shards)).flatten();
        let places: Vec<Place> =
            [near, self.folder().and_then(|f| inside(f, shards, far))].into_iter().flatten().collect();
        let load = |path: &Path| {
            let file = File::open(path).ok()?;
            let older = |tar: usize| !far && is_older(&file, shards.version(tar));
            let suspects: Vec<usize> = (0..shards.len()).filter(|tar| older(*tar)).collect();
            let mut saved = set::read(file, shards)?;
            let changed = changed(store, shards, &saved, &suspects);
            saved.forget(changed);
            (!saved.is_useless()).then_some(saved)
        };
        let own = places.iter().find_map(|place| load(&place.folder.join(&place.name)));
        own.map(Saved::own).or_else(|| {
            // The newest file of each folder probably has the most of them.
            places.iter().find_map(|place| load(place.alike().first()?))
        })
    }

    /// Saves the indices of these tars for the next run, if wanted and possible.
    pub(in super::super) fn save_set(&self, store: &dyn Store, shards: &Shards, set: &TarSet) {
        let place = match self {
            IndexCache::Off => None,
            // Remote tars have files of their own, which are saved as they are made: others may read some of the tars.
            IndexCache::Beside if all_far(store, shards) => None,
            IndexCache::Beside => beside(shards),
            IndexCache::Auto | IndexCache::Folder(_) => {
                self.folder().and_then(|f| inside(f, shards, all_far(store, shards)))
            }
        };
        let Some(place) = place.filter(|_| all_known(store, shards)) else { return };
        let (path, skip) = (place.folder.join(&place.name), set::folder(shards).len());
        let written = if set.damage.is_empty() {
            file::write(&path, |file| set::write(file, shards, skip, set))
        } else {
            let Some((shards, set)) = sound(shards, set) else { return };
            file::write(&path, |file| set::write(file, &shards, skip, &set))
        };
        // If the folder is not writable, the next run makes the indices again.
        if written.is_ok() {
            place.alike().iter().skip(KEPT).for_each(|old| drop(std::fs::remove_file(old)));
        }
    }
}

impl Place {
    fn new(folder: PathBuf, root: &str, shards: &Shards) -> Self {
        let skip = set::folder(shards).len();
        // Names differ in their numbers, and how many leading digits they share depends on their count.
        let begin = shards.head()[skip..].trim_end_matches(|c: char| c.is_ascii_digit());
        let root = hash(root.as_bytes());
        let like = format!("{:016x}-", mix(root, hash(begin.as_bytes())));
        let mut name = String::new();
        let names = (0..shards.len()).fold(root, |state, tar| {
            shards.name_into(tar, &mut name);
            mix(state, hash(&name.as_bytes()[skip..]))
        });
        let name = format!("{like}{names:016x}{ENDING}");
        Place { folder, like, name }
    }

    /// Returns the files here with the same first part, newest first.
    fn alike(&self) -> Vec<PathBuf> {
        let mut found: Vec<(SystemTime, PathBuf)> = Vec::new();
        for entry in std::fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let fits = name.to_str().is_some_and(|n| n.starts_with(&self.like) && n.ends_with(ENDING));
            if let Some(Ok(age)) = fits.then(|| entry.metadata().and_then(|data| data.modified())) {
                found.push((age, entry.path()));
            }
        }
        found.sort_unstable_by(|a, b| b.cmp(a));
        found.into_iter().map(|(_, path)| path).collect()
    }
}

/// A place beside the first tar. Names count relative to their common folder, so that the data set can be moved.
fn beside(shards: &Shards) -> Option<Place> {
    let first = shards.name(0)?;
    let folder = &first[..first.rfind('/').map_or(0, |slash| slash + 1)];
    let below = &folder[set::folder(shards).len()..];
    Some(Place::new(Path::new(".").join(folder), below, shards))
}

/// A place in a folder for indices of all data sets.
fn inside(folder: PathBuf, shards: &Shards, far: bool) -> Option<Place> {
    let common = set::folder(shards);
    if far {
        return Some(Place::new(folder, common, shards));
    }
    let root = std::path::absolute(if common.is_empty() { "." } else { common }).ok()?;
    Some(Place::new(folder, root.to_str()?, shards))
}

/// Whether these are files that can be told from others, judged by the first.
fn all_known(store: &dyn Store, shards: &Shards) -> bool {
    (0..shards.len()).all(|tar| shards.modified(tar).is_some())
        && shards.get(0).is_some_and(|first| is_known(store, &first))
}

fn all_far(store: &dyn Store, shards: &Shards) -> bool {
    shards.name(0).is_some_and(|first| is_far(store, &first))
}

/// Compares the saved indices of tars that were changed after the file with the tars. Returns those that differ.
fn changed(store: &dyn Store, shards: &Shards, saved: &Saved, suspects: &[usize]) -> Vec<usize> {
    let compare = |at: usize| {
        let (view, shard) = (saved.get(suspects[at]), shards.get(suspects[at]));
        Ok(view.zip(shard).is_some_and(|(view, shard)| check::fits(store, &shard, &view)))
    };
    let fits = parallel::map(suspects.len(), LOOKS, compare).unwrap_or_default();
    let fits = |at: usize| fits.get(at).copied().unwrap_or(false);
    suspects.iter().enumerate().filter(|(at, _)| !fits(*at)).map(|(_, tar)| *tar).collect()
}

/// Returns the tars without damage.
fn sound(shards: &Shards, set: &TarSet) -> Option<(Shards, TarSet)> {
    let hurt = |tar: &usize| set.damage.binary_search_by_key(tar, |(at, _)| *at).is_ok();
    let kept: Vec<usize> = (0..shards.len()).filter(|tar| !hurt(tar)).collect();
    let mut sound = Collector::new(kept.len());
    kept.iter().filter_map(|tar| set.get(*tar)).for_each(|view| sound.push(&view));
    let kept: Vec<Shard> = kept.iter().filter_map(|tar| shards.get(*tar)).collect();
    (!kept.is_empty()).then_some((Shards::new(&kept).ok()?, sound.finish()))
}
