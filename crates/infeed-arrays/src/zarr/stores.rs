//! Zarr stores among the objects of a store: where they begin, and what lies in each.
//!
//! A chunk that was never written has no object, and only a listing tells it from one that cannot be read. So all objects are
//! listed once, when a store is opened, with their sizes.

use super::archive::{Archive, ENDING, Packed};
use bytes::Bytes;
use infeed_core::{Error, Found, OpenRequest, Result, Shard, Stamp, Store, StoreExt};
use infeed_zarr::{Objects, ReadError, Span};
use std::{
    collections::{BTreeMap, BTreeSet},
    ops::{Bound, Range},
    sync::Arc,
};

/// Objects that make a folder an array or a group.
pub(super) const HEADS: [&str; 3] = ["zarr.json", ".zgroup", ".zarray"];
/// Objects of metadata.
const METADATA: [&str; 5] = ["zarr.json", ".zgroup", ".zarray", ".zattrs", ".zmetadata"];

/// Folder and name of an object.
pub(super) fn split(key: &str) -> (&str, &str) {
    key.rsplit_once('/').unwrap_or(("", key))
}

/// Whether an object is metadata.
pub(super) fn is_metadata(key: &str) -> bool {
    METADATA.contains(&split(key).1)
}

/// The objects of one Zarr store.
pub(super) struct Listing {
    /// Its folder.
    pub(super) name: Arc<str>,
    store: Arc<dyn Store>,
    /// What it is packed in.
    archive: Option<Arc<Archive>>,
    /// By their keys: names without the folder.
    keys: BTreeMap<String, Place>,
}

/// Where an object of a Zarr store lies.
#[derive(Debug, Clone)]
pub(super) enum Place {
    /// By itself.
    Shard(Shard),
    /// In the archive.
    Packed(Arc<Packed>),
}

impl Place {
    pub(super) fn size(&self) -> u64 {
        match self {
            Place::Shard(shard) => shard.size,
            Place::Packed(packed) => packed.size(),
        }
    }
}

/// The folders among these that are no part of another one: where stores begin.
pub(super) fn tops<'a>(keys: impl Iterator<Item = &'a str>) -> BTreeSet<&'a str> {
    let heads: BTreeSet<&str> =
        keys.map(split).filter(|(_, name)| HEADS.contains(name)).map(|(folder, _)| folder).collect();
    let hidden = |folder: &str| folder.split('/').any(|part| part.starts_with('.'));
    heads.iter().copied().filter(|folder| above(folder, &heads).is_none() && !hidden(folder)).collect()
}

/// The one of these folders that a folder is in.
fn above<'a>(folder: &'a str, of: &BTreeSet<&str>) -> Option<&'a str> {
    let parents = folder.match_indices('/').map(|(at, _)| &folder[..at]);
    let root = (!folder.is_empty()).then_some("");
    root.into_iter().chain(parents).find(|parent| of.contains(parent))
}

/// Finds the stores that the paths stand for, in order.
pub(super) fn find(request: &OpenRequest<'_>) -> Result<Vec<Listing>> {
    let mut out = Vec::new();
    for found in request.find()? {
        match found {
            Found::Folder(folder) => in_folder(request.store, &folder, &mut out)?,
            Found::File(name) if is_metadata(&name) => in_folder(request.store, split(&name).0, &mut out)?,
            Found::File(name) if name.ends_with(ENDING) => {
                in_archive(request.store, request.store.stat_one(&name)?, &mut out)?;
            }
            Found::File(name) => {
                return Err(Error::argument(format!(
                    "`{name}` is a file, and a Zarr store is a folder with zarr.json, .zgroup or .zarray in it, or a ZIP archive \
                     ({ENDING})"
                )));
            }
        }
    }
    Ok(out)
}

fn in_folder(store: &Arc<dyn Store>, folder: &str, out: &mut Vec<Listing>) -> Result<()> {
    let prefix = match folder {
        "" => String::new(),
        _ => format!("{}/", folder.trim_end_matches('/')),
    };
    let listed = store.list(&prefix)?;
    let key = |shard: Shard| Some((shard.name.strip_prefix(&prefix)?.to_owned(), shard));
    let keys: Vec<(String, Shard)> = listed.into_iter().filter_map(key).collect();
    let archives = keys.iter().filter(|(key, _)| key.ends_with(ENDING)).map(|(_, shard)| shard.clone());
    let archives: Vec<Shard> = archives.collect();
    let places = keys.into_iter().map(|(key, shard)| (key, Place::Shard(shard))).collect();
    if split_stores(store, &prefix, None, places, out) {
        return Ok(());
    }
    if archives.is_empty() {
        return Err(Error::NotFound { path: folder.to_owned(), hint: NOTHING.to_owned() });
    }
    archives.into_iter().try_for_each(|shard| in_archive(store, shard, out))
}

/// The hint where nothing is found.
const NOTHING: &str = "; there is no Zarr array or group in it: no zarr.json, .zgroup or .zarray";

fn in_archive(store: &Arc<dyn Store>, shard: Shard, out: &mut Vec<Listing>) -> Result<()> {
    let name = Arc::clone(&shard.name);
    let (archive, packed) = Archive::open(store, shard)?;
    let places = packed.into_iter().map(|(key, packed)| (key, Place::Packed(packed))).collect();
    match split_stores(store, &name, Some(archive), places, out) {
        true => Ok(()),
        false => Err(Error::NotFound { path: name.to_string(), hint: NOTHING.to_owned() }),
    }
}

/// Adds the stores that these objects belong to. Returns whether there are any.
fn split_stores(
    store: &Arc<dyn Store>,
    prefix: &str,
    archive: Option<Archive>,
    places: Vec<(String, Place)>,
    out: &mut Vec<Listing>,
) -> bool {
    let archive = archive.map(Arc::new);
    let tops = tops(places.iter().map(|(key, _)| key.as_str()));
    let mut stores: BTreeMap<&str, BTreeMap<String, Place>> =
        tops.iter().map(|top| (*top, BTreeMap::new())).collect();
    for (key, place) in &places {
        let Some(top) = above(key, &tops) else { continue };
        let rest = key[top.len()..].trim_start_matches('/').to_owned();
        stores.entry(top).or_default().insert(rest, place.clone());
    }
    for (top, keys) in stores {
        let inside = if archive.is_some() && !top.is_empty() { "/" } else { "" };
        let name = format!("{prefix}{inside}{top}");
        let name = Arc::from(name.trim_end_matches('/'));
        out.push(Listing { name, store: Arc::clone(store), archive: archive.clone(), keys });
    }
    !tops.is_empty()
}

impl Listing {
    /// The chunks of an array: the objects below its folder.
    pub(super) fn chunks(&self, folder: &str) -> impl Iterator<Item = (&String, &Place)> {
        let prefix = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        let from = self.keys.range(prefix.clone()..);
        from.take_while(move |(key, _)| key.starts_with(&prefix)).filter(|(key, _)| !is_metadata(key))
    }

    /// The archive that all objects are in.
    pub(super) fn archive(&self) -> Option<&Shard> {
        self.archive.as_deref().map(Archive::shard)
    }

    /// A stamp over all objects: a chunk that is written later changes it.
    pub(super) fn stamp(&self) -> Option<Stamp> {
        let add = |all: Stamp, shard: &Shard| Some(all.wide(Stamp::of(shard)?.get()));
        let shards = self.keys.values().filter_map(|place| match place {
            Place::Shard(shard) => Some(shard),
            Place::Packed(_) => None,
        });
        self.archive().into_iter().chain(shards).try_fold(Stamp::default().text(&self.name), add)
    }
}

/// The bytes of an object of `size` bytes that a span names.
pub(super) fn range(span: &Span, size: u64) -> Option<Range<u64>> {
    let range = match span {
        Span::All => 0..size,
        Span::Range(range) => range.clone(),
        Span::Last(len) => size.checked_sub(*len)?..size,
    };
    (range.start <= range.end && range.end <= size).then_some(range)
}

impl Objects for Listing {
    fn size(&self, key: &str) -> Result<Option<u64>, ReadError> {
        Ok(self.keys.get(key).map(Place::size))
    }

    fn read(&self, key: &str, span: &Span) -> Result<Option<Bytes>, ReadError> {
        let shard = match (self.keys.get(key), &self.archive) {
            (Some(Place::Shard(shard)), _) => shard,
            (Some(Place::Packed(packed)), Some(archive)) => return Ok(Some(archive.read(packed, span)?)),
            _ => return Ok(None),
        };
        let short = || Error::Format {
            shard: shard.name.to_string(),
            offset: shard.size,
            what: format!("it has {} bytes, which is too short for {span:?}", shard.size),
        };
        let range = range(span, shard.size).ok_or_else(short)?;
        Ok(Some(self.store.read_one(shard, range)?))
    }

    /// Folders may hold millions of chunks: what lies in a folder is stepped over.
    fn children(&self, folder: &str) -> Result<Vec<String>, ReadError> {
        let prefix = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        let (mut out, mut from) = (Vec::new(), Bound::Included(prefix.clone()));
        while let Some((key, _)) = self.keys.range((from, Bound::Unbounded)).next()
            && let Some(rest) = key.strip_prefix(&prefix)
        {
            from = match rest.split_once('/') {
                // `0` comes behind `/`.
                Some((name, _)) => {
                    out.push(name.to_owned());
                    Bound::Included(format!("{prefix}{name}0"))
                }
                None => {
                    out.push(rest.to_owned());
                    Bound::Excluded(key.clone())
                }
            };
        }
        Ok(out)
    }
}
