//! Which files are staged, and the name of each below the destination.
//!
//! As with `cp -r`, a file keeps its last name and a folder its own; what stands before them in all paths is left out:
//! `/data/a/x.tar` and `/data/b/` become `a/x.tar` and `b/...`.

use super::{manifest::is_own, part};
use infeed_core::{Error, Found, Result, Shard, Store, store::below::stays_inside};
use std::{
    collections::{HashMap, HashSet},
    path::{Component, Path, PathBuf},
};

/// One file that is to be staged.
#[derive(Debug, Clone)]
pub(super) struct Item {
    /// The source.
    pub(super) shard: Shard,
    /// What the source is called in manifests: independent of the folder that this process works in.
    pub(super) source: String,
    /// The name of the copy below the destination.
    pub(super) name: String,
}

/// What the sources stand for.
#[derive(Debug)]
pub(super) struct Layout {
    /// The files, in the order in which they were written.
    pub(super) items: Vec<Item>,
    /// The copy of each file and folder that the sources name, below the destination.
    pub(super) roots: Vec<String>,
    /// The folders of this machine among the sources.
    pub(super) folders: Vec<String>,
    /// What all sources begin with.
    pub(super) above: String,
}

/// The name of a source in manifests: an absolute path, or the name in another store.
pub(super) fn source_name(store: &dyn Store, name: &str) -> String {
    let local = store.local_path(name).and_then(|path| std::path::absolute(path).ok());
    local.and_then(|path| path.into_os_string().into_string().ok()).unwrap_or_else(|| name.to_owned())
}

/// Finds what these paths and patterns stand for and gives each file its name.
pub(super) fn lay_out(store: &dyn Store, sources: &[String]) -> Result<Layout> {
    let mut found = Vec::new();
    for source in sources {
        if source == "-" || source.starts_with("pipe:") {
            return Err(Error::argument(format!(
                "`{source}` cannot be staged: it is not a file; write it to one, and stage that"
            )));
        }
        found.extend(store.find(source)?);
    }
    let whole: Vec<String> =
        found.iter().map(|found| whole_name(store, found.name())).collect::<Result<_>>()?;
    let above = common(whole.iter().map(|name| parent(name)));
    let roots: Vec<String> = whole.iter().map(|name| tidy(&name[above.len()..])).collect();
    let mut items = Vec::with_capacity(found.len());
    let files: Vec<String> =
        found.iter().filter(|f| matches!(f, Found::File(_))).map(|f| f.name().to_owned()).collect();
    let mut shards = store.stat(&files)?.into_iter();
    for (found, root) in found.iter().zip(&roots) {
        match found {
            Found::File(_) => items.extend(shards.next().map(|shard| (shard, root.clone()))),
            Found::Folder(folder) => {
                let prefix = if folder.ends_with('/') { folder.clone() } else { format!("{folder}/") };
                for shard in store.list(&prefix)? {
                    let below =
                        shard.name.strip_prefix(&*prefix).unwrap_or(&shard.name).trim_start_matches('/');
                    // Some tools put an empty object where a folder would be. A folder that was staged into has files
                    // that are not data.
                    let last = below.rsplit('/').next().unwrap_or_default();
                    if !last.is_empty() && !is_own(last) {
                        let name = if root.is_empty() { below.to_owned() } else { format!("{root}/{below}") };
                        items.push((shard, name));
                    }
                }
            }
        }
    }
    let items =
        items.into_iter().map(|(shard, name)| Item { source: source_name(store, &shard.name), shard, name });
    let is_folder = |found: &Found| matches!(found, Found::Folder(name) if store.local_path(name).is_some());
    let folders =
        found.iter().zip(&whole).filter(|(found, _)| is_folder(found)).map(|(_, name)| name.clone());
    Ok(Layout { items: checked(items.collect())?, folders: folders.collect(), roots, above })
}

/// The whole name of what was found: absolute, and without `.` and `..`, if it is on this machine.
fn whole_name(store: &dyn Store, name: &str) -> Result<String> {
    let Some(path) = store.local_path(name) else { return Ok(name.trim_end_matches('/').to_owned()) };
    let plain = |part| matches!(part, Component::Normal(_) | Component::RootDir);
    let path = std::path::absolute(path).map_err(|e| Error::io("look at", name, e))?;
    let path = match path.components().all(plain) && !name.ends_with('.') {
        true => path.components().collect::<PathBuf>(),
        false => path.canonicalize().map_err(|e| Error::io("look at", name, e))?,
    };
    path.into_os_string()
        .into_string()
        .map_err(|path| Error::argument(format!("the name of {path:?} is not UTF-8; rename the file")))
}

/// What stands before the last part of a name.
fn parent(name: &str) -> &str {
    let end = name.rfind('/').map(|slash| slash + 1).or_else(|| Some(name.find(':')? + 1));
    &name[..end.unwrap_or(0)]
}

/// The longest beginning that all folders share.
fn common<'a>(mut folders: impl Iterator<Item = &'a str>) -> String {
    let Some(first) = folders.next() else { return String::new() };
    let mut shared = first;
    for folder in folders {
        let same = shared.bytes().zip(folder.bytes()).take_while(|(a, b)| a == b).count();
        // Bytes that agree may end inside a character, but never in front of a slash.
        let end = shared.as_bytes()[..same].iter().rposition(|b| *b == b'/').map_or(0, |slash| slash + 1);
        shared = if same == shared.len() { shared } else { &shared[..end] };
    }
    // `s3://` alone is no folder: buckets keep their names either way.
    shared.to_owned()
}

/// A name without the marks of absolute paths and stores.
fn tidy(name: &str) -> String {
    let name = match name.split_once("://") {
        Some((scheme, rest)) if !scheme.contains('/') => format!("{scheme}/{rest}"),
        _ => name.to_owned(),
    };
    name.trim_matches('/').to_owned()
}

/// Refuses names that would leave the destination or that stand in each other's way.
fn checked(items: Vec<Item>) -> Result<Vec<Item>> {
    let mut taken: HashMap<String, usize> = HashMap::with_capacity(items.len());
    let mut kept: Vec<Item> = Vec::with_capacity(items.len());
    for mut item in items {
        let source = &item.shard.name;
        if !stays_inside(&item.name) || item.name.ends_with('/') {
            return Err(Error::argument(format!(
                "`{source}` would be staged as `{}`, which leads out of the destination: rename it, or stage its folder \
                 by itself",
                item.name
            )));
        }
        // As the file system sees it: `a//b` and `a/./b` are `a/b`.
        let parts = Path::new(&item.name).components().filter(|part| *part != Component::CurDir);
        item.name = parts.collect::<PathBuf>().to_string_lossy().into_owned();
        if is_own(&item.name) {
            return Err(Error::argument(format!(
                "`{source}` has a name that staging uses for its own files: rename it, or stage its folder by itself"
            )));
        }
        match taken.get(&item.name) {
            Some(before) if kept[*before].source == item.source => continue,
            Some(before) => return Err(collide(&kept[*before], &item)),
            None => taken.insert(item.name.clone(), kept.len()),
        };
        kept.push(item);
    }
    let names: HashSet<&str> = kept.iter().map(|item| &*item.name).collect();
    for item in &kept {
        let folders = item.name.match_indices('/').map(|(slash, _)| &item.name[..slash]);
        let own = part::own_names(&item.name);
        if let Some(other) = folders.chain(own.iter().map(|name| &**name)).find(|name| names.contains(name)) {
            return Err(collide(&kept[taken[other]], item));
        }
    }
    Ok(kept)
}

fn collide(one: &Item, other: &Item) -> Error {
    Error::argument(format!(
        "`{}` and `{}` cannot be staged into one folder: their copies would be `{}` and `{}`; stage them one by one",
        one.shard.name, other.shard.name, one.name, other.name
    ))
}
