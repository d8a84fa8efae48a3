//! Which arrays of a store become fields.

use super::{
    array::{Chunk, Places, ZarrArray, members},
    error::at_opening,
    stores::{Listing, Place},
};
use crate::{
    array::{Array as OpenArray, Dimensions, Element, NamedArrays, Scaling, number},
    lengths::{by_length, notes},
    open::missing,
    source::RowKind,
};
use base64::{Engine, engine::general_purpose::STANDARD};
use infeed_core::{Error, Result, Shard};
use infeed_zarr::{Array, Class, Json, Kind, Limits, Tree};
use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

/// What a store is called that is one array.
const DATA: &str = "data";

/// The arrays of a store that are fields, and the objects that they lie in.
pub(super) struct Chosen {
    pub(super) arrays: NamedArrays,
    pub(super) objects: Vec<Shard>,
    pub(super) dimensions: Dimensions,
}

/// An open store.
pub(super) struct Opened {
    listing: Arc<Listing>,
    tree: Tree,
    /// Paths in the hierarchy by the names of fields, in order.
    paths: BTreeMap<String, String>,
}

impl Opened {
    pub(super) fn new(listing: Arc<Listing>) -> Result<Self> {
        let failed = |e| at_opening(&listing.name, e);
        let tree = Tree::open(Arc::clone(&listing) as _, "", Limits::default()).map_err(failed)?;
        let entries = tree.list().map_err(failed)?;
        let arrays = entries.into_iter().filter(|entry| entry.kind == Kind::Array);
        let named = |path: String| match path.trim_start_matches('/') {
            "" => (DATA.to_owned(), path),
            bare => (bare.to_owned(), path.clone()),
        };
        let paths: BTreeMap<String, String> = arrays.map(|entry| named(entry.path)).collect();
        if paths.is_empty() {
            return Err(Error::argument(format!("`{}`: there is no array in it", listing.name)));
        }
        Ok(Opened { listing, tree, paths })
    }

    fn array(&self, path: &str) -> Result<Array> {
        self.tree.array(path).map_err(|e| at_opening(&self.listing.name, e))
    }

    /// Settles what is taken of every store, by this one. Says what was left out, too.
    pub(super) fn settle(&self, wanted: Option<Vec<String>>, rows: RowKind) -> Result<(Vec<String>, String)> {
        if let Some(names) = wanted {
            let bare = |name: String| name.trim_matches('/').to_owned();
            return Ok((names.into_iter().map(bare).collect(), String::new()));
        }
        let RowKind::Axis(axis) = rows else {
            return Ok((self.paths.keys().cloned().collect(), String::new()));
        };
        let shape = |(name, path): (&String, &String)| Ok((name.clone(), self.array(path)?.shape));
        let found = by_length(&self.listing.name, "array", axis, self.paths.iter().map(shape))?;
        let notes = notes(&found.others);
        Ok((found.taken, notes))
    }

    /// Finds an array, or a member of one: `x`, `x.member`.
    fn find(&self, name: &str) -> Result<(Array, Option<String>)> {
        if let Some(path) = self.paths.get(name) {
            return Ok((self.array(path)?, None));
        }
        // Names can have dots of their own: the longest that has members wins.
        for (at, _) in name.rmatch_indices('.') {
            if let Some(path) = self.paths.get(&name[..at]) {
                let found = self.array(path)?;
                if matches!(found.datatype.class, Class::Structure(_) | Class::Complex(..)) {
                    return Ok((found, Some(name[at + 1..].to_owned())));
                }
            }
        }
        Err(missing(&format!("`{}`", self.listing.name), name, self.paths.keys().map(String::as_str)))
    }

    /// Opens these arrays.
    pub(super) fn open(&self, names: &[String], scale: bool, threads: usize) -> Result<Chosen> {
        let objects = self.listing.archive().cloned().into_iter().collect();
        let mut out = Chosen { arrays: Vec::new(), objects, dimensions: Dimensions::new() };
        let mut known: HashMap<String, Arc<Places>> = HashMap::new();
        for wanted in names {
            let (array, prefix) = self.find(wanted)?;
            let all = members(&array.datatype);
            // A member alone, or all of them.
            let inside = |own: &&String| match prefix.as_deref() {
                None => true,
                Some(prefix) => {
                    own.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
                }
            };
            let chosen: Vec<&String> = all.iter().filter(inside).collect();
            if chosen.is_empty() {
                let place = format!("`{}`: {}", self.listing.name, array.path);
                return Err(missing(&place, &prefix.unwrap_or_default(), all.iter().map(String::as_str)));
            }
            let bare = match &prefix {
                Some(prefix) => &wanted[..wanted.len() - prefix.len() - 1],
                None => wanted.as_str(),
            };
            let places = match known.get(&array.path) {
                Some(places) => Arc::clone(places),
                None => {
                    let places = Arc::new(self.places(&array.path, &mut out.objects));
                    known.insert(array.path.clone(), Arc::clone(&places));
                    places
                }
            };
            for member in chosen {
                let field = if member.is_empty() { bare.to_owned() } else { format!("{bare}.{member}") };
                let reader = self.tree.reader(array.clone(), member);
                let reader = reader.map_err(|e| at_opening(&self.listing.name, e))?;
                let opened = ZarrArray::open(&self.listing, reader, member, &places, threads)?;
                let opened: Arc<dyn OpenArray> = Arc::new(opened);
                let opened =
                    if scale && member.is_empty() { scaling(&array, &*opened).apply(opened) } else { opened };
                let field: Arc<str> = Arc::from(field);
                let named = array.names.iter().map(|name| name.clone().unwrap_or_else(|| "?".to_owned()));
                out.dimensions.insert(Arc::clone(&field), named.collect());
                out.dimensions.count_in(&field, |name| units(&array, name));
                out.arrays.push((field, opened));
            }
        }
        Ok(out)
    }

    /// Adds the chunks of an array to the objects of the store, of which an archive is the first and only one.
    fn places(&self, path: &str, objects: &mut Vec<Shard>) -> Places {
        let mut places = Places::new();
        for (key, place) in self.listing.chunks(path.trim_matches('/')) {
            let object = match place {
                Place::Packed(_) => 0,
                Place::Shard(shard) => {
                    objects.push(shard.clone());
                    objects.len() - 1
                }
            };
            places.insert(key.clone(), Chunk { object, place: place.clone() });
        }
        places
    }
}

/// What the attributes of an array say about its values.
fn scaling(array: &Array, opened: &dyn OpenArray) -> Scaling {
    let scaling = Scaling::of(|name| {
        let found = array.attributes.iter().rev().find(|(own, _)| own == name);
        found.map_or_else(Vec::new, |(_, value)| numbers(value))
    });
    // In version 2, xarray keeps the value of what is missing where Zarr keeps that of what was never written.
    let xarray = array.version == 2 && array.names.iter().any(Option::is_some);
    let fill = match opened.element() {
        Element::Number(dtype) if xarray && scaling.is_packed() => number(dtype, &array.fill),
        _ => None,
    };
    match fill {
        Some(fill) => scaling.and_missing(fill),
        None => scaling,
    }
}

/// The text of an attribute that says what values are counted in. Dates and spans of time have that in their type.
fn units(array: &Array, name: &str) -> Option<String> {
    if let ("units", Class::Time { span, unit, .. }) = (name, &array.datatype.class) {
        return Some(format!("{}[{unit}]", if *span { "timedelta64" } else { "datetime64" }));
    }
    match array.attributes.iter().rev().find(|(own, _)| own == name) {
        Some((_, Json::Text(text))) => Some(text.clone()),
        _ => None,
    }
}

/// The numbers of an attribute. xarray writes floats as texts: their 8 bytes in base 64.
fn numbers(value: &Json) -> Vec<f64> {
    match value {
        Json::Number(text) => text.parse().into_iter().collect(),
        Json::List(all) => all.iter().flat_map(numbers).collect(),
        Json::Text(text) if text == "NaN" => vec![f64::NAN],
        Json::Text(text) => {
            let bytes = STANDARD.decode(text).ok().and_then(|bytes| bytes.try_into().ok());
            bytes.map(f64::from_le_bytes).into_iter().collect()
        }
        _ => Vec::new(),
    }
}
