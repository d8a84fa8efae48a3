//! The folder that files are staged into, where the user names none.

use super::{manifest::LIST, sys};
use infeed_core::{Error, Result};
use std::{
    os::unix::fs::{DirBuilderExt, MetadataExt},
    path::{Path, PathBuf},
};

/// Variables and folders of nodes with storage of their own, the most specific first.
const PLACES: [&str; 3] = ["$SLURM_TMPDIR", "$TMPDIR", "/local/scratch"];

/// A destination, and what led to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The folder.
    pub folder: PathBuf,
    /// Where it comes from: `$TMPDIR`, or `given`.
    pub from: String,
}

/// Returns the folder for sources that begin with `above`, below the first place that this user can write to.
pub(super) fn found(above: &str) -> Result<Place> {
    found_in(above, &|name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from))
}

pub(super) fn found_in(above: &str, variable: &dyn Fn(&str) -> Option<PathBuf>) -> Result<Place> {
    let mut why = Vec::new();
    for (from, base) in bases(variable) {
        match base.map(|base| own(&base)) {
            None => why.push(format!("{from} is not set")),
            Some(Err(what)) => why.push(format!("{from}: {what}")),
            Some(Ok(own)) => {
                return Ok(Place { folder: own.join(folder_name(above)), from: from.to_owned() });
            }
        }
    }
    Err(Error::argument(format!("there is no folder to stage into ({}): name one", why.join("; "))))
}

/// Returns the folders of this user that hold staged files, below all places where a folder is found by itself.
pub fn found_folders() -> Vec<PathBuf> {
    all_in(&|name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from))
}

pub(super) fn all_in(variable: &dyn Fn(&str) -> Option<PathBuf>) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    for base in bases(variable).into_iter().filter_map(|(_, base)| base) {
        let own = base.join(own_name());
        if check_owner(&own).is_err() {
            continue;
        }
        let Ok(entries) = std::fs::read_dir(&own) else { continue };
        let mut found: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
        found.retain(|folder| is_staged(folder));
        found.sort();
        folders.extend(found);
    }
    folders
}

fn bases(variable: &dyn Fn(&str) -> Option<PathBuf>) -> Vec<(&'static str, Option<PathBuf>)> {
    let base = |place: &'static str| match place.strip_prefix('$') {
        Some(name) => (place, variable(name)),
        None => (place, Some(PathBuf::from(place))),
    };
    PLACES.into_iter().map(base).collect()
}

fn own_name() -> String {
    format!("infeed-stage-{}", sys::user())
}

/// The user's folder below a place that users may share.
fn own(base: &Path) -> Result<PathBuf, String> {
    if !base.is_dir() {
        return Err(format!("`{}` is not a folder", base.display()));
    }
    let own = base.join(own_name());
    match std::fs::DirBuilder::new().mode(0o700).create(&own) {
        Err(e) if e.kind() != std::io::ErrorKind::AlreadyExists => {
            Err(format!("cannot write to `{}`: {e}", base.display()))
        }
        _ => check_owner(&own).map(|()| own),
    }
}

/// Others could put a folder of that name there, with files of their own choice.
fn check_owner(folder: &Path) -> Result<(), String> {
    let data = std::fs::symlink_metadata(folder)
        .map_err(|e| format!("cannot look at `{}`: {e}", folder.display()))?;
    if !data.is_dir() || data.uid() != sys::user() {
        return Err(format!("`{}` is not a folder of this user", folder.display()));
    }
    Ok(())
}

/// A name that says what is in the folder, and differs for sources that lie elsewhere.
fn folder_name(above: &str) -> String {
    let hash = above
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3));
    let last = above.trim_end_matches('/').rsplit(['/', ':']).next().unwrap_or_default();
    let plain = |c: char| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '-' };
    let last: String = last.chars().map(plain).take(40).collect();
    let last = last.trim_start_matches('.');
    format!("{}-{:08x}", if last.is_empty() { "files" } else { last }, hash >> 32)
}

/// Whether a folder holds staged files.
pub(super) fn is_staged(folder: &Path) -> bool {
    folder.join(LIST).is_file() || folder.join(super::manifest::IN_USE).is_file()
}
