//! What the metadata of an array says, in either version of the format.

use crate::{
    codec::{self, Chain},
    datatype::{self, Datatype, Native},
    error::{Error, Result},
    fill::fill,
    json::Json,
    limits::Limits,
};

/// How the key of a chunk is made of its coordinates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keys {
    /// `c/1/2`
    Default(char),
    /// `1.2`
    Second(char),
}

/// What is known of an array before any of its chunks is read.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Array {
    /// Its path in the hierarchy, which begins with a slash.
    pub path: String,
    /// The version of the format: 2 or 3.
    pub version: u8,
    /// How many elements along each axis.
    pub shape: Vec<u64>,
    /// The shape of what one object holds: a chunk or a shard.
    pub chunk: Vec<u64>,
    /// What its elements are, with their byte order in the store.
    pub datatype: Datatype,
    /// One element with the value of those that were never written, in this machine's byte order.
    pub fill: Vec<u8>,
    /// Names of the axes, where they have some: `dimension_names`, or `_ARRAY_DIMENSIONS` of xarray.
    pub names: Vec<Option<String>>,
    /// Small values beside it.
    pub attributes: Vec<(String, Json)>,
    /// Where its keys begin.
    pub(crate) folder: String,
    pub(crate) keys: Keys,
    pub(crate) chain: Chain,
}

/// Axes that an array may have.
const MOST_AXES: usize = 64;

/// What version 3 knows beside the metadata of an array.
const KNOWN: [&str; 12] = [
    "zarr_format",
    "node_type",
    "shape",
    "data_type",
    "chunk_grid",
    "chunk_key_encoding",
    "fill_value",
    "codecs",
    "attributes",
    "dimension_names",
    "storage_transformers",
    "consolidated_metadata",
];

fn need<'a>(json: &'a Json, name: &str) -> Result<&'a Json> {
    json.get(name).ok_or_else(|| Error::damaged(format!("`{name}` is missing")))
}

fn counts(json: &Json, name: &str) -> Result<Vec<u64>> {
    let list: Option<Vec<u64>> =
        need(json, name)?.list().and_then(|list| list.iter().map(Json::count).collect());
    list.ok_or_else(|| Error::damaged(format!("`{name}` is no list of lengths")))
}

fn pairs(json: Option<&Json>) -> Vec<(String, Json)> {
    match json {
        Some(Json::Map(pairs)) => pairs.clone(),
        _ => Vec::new(),
    }
}

/// A shape and its chunks, which must be countable.
fn checked(shape: &[u64], chunk: &mut [u64], datatype: &Datatype) -> Result<()> {
    if shape.len() != chunk.len() || shape.len() > MOST_AXES {
        return Err(Error::damaged(format!("a shape of {shape:?} with chunks of {chunk:?}")));
    }
    for (chunk, n) in chunk.iter_mut().zip(shape) {
        // Arrays without elements may have chunks without elements.
        *chunk = if *n == 0 { (*chunk).max(1) } else { *chunk };
    }
    if chunk.contains(&0) {
        return Err(Error::damaged(format!("chunks of {chunk:?}")));
    }
    let size = datatype.size as u64;
    // The last chunk may reach behind the end, and its coordinates must be countable, too.
    let filled =
        shape.iter().zip(chunk.iter()).try_fold(size, |all, (n, c)| all.checked_mul(n.checked_add(*c)?));
    if filled.is_none() {
        return Err(Error::damaged(format!("a shape of {shape:?} has more bytes than can be counted")));
    }
    Ok(())
}

impl Array {
    /// Version 2: `.zarray` and `.zattrs`.
    pub(crate) fn second(
        folder: &str,
        path: &str,
        json: &Json,
        attributes: Option<&Json>,
        limits: &Limits,
    ) -> Result<Array> {
        if json.get("zarr_format").and_then(Json::count) != Some(2) {
            return Err(Error::unsupported("a `.zarray` that is not of version 2"));
        }
        let datatype = datatype::numpy(need(json, "dtype")?, limits.max_depth)?;
        let (shape, mut chunk) = (counts(json, "shape")?, counts(json, "chunks")?);
        checked(&shape, &mut chunk, &datatype)?;
        let chain = codec::second(json, &chunk, &datatype)?;
        let attributes = pairs(attributes);
        let names = attributes.iter().find(|(name, _)| name == "_ARRAY_DIMENSIONS").map(|(_, names)| names);
        let names = named(names, shape.len());
        let keys = Keys::Second(separator(json.get("dimension_separator"), '.')?);
        let fill = fill(json.get("fill_value").unwrap_or(&Json::Null), &datatype)?;
        let (path, folder) = (path.to_owned(), folder.to_owned());
        Ok(Array { path, version: 2, shape, chunk, datatype, fill, names, attributes, folder, keys, chain })
    }

    /// Version 3: `zarr.json`.
    pub(crate) fn third(folder: &str, path: &str, json: &Json, limits: &Limits) -> Result<Array> {
        if json.get("zarr_format").and_then(Json::count) != Some(3) {
            return Err(Error::unsupported("a `zarr.json` that is not of version 3"));
        }
        if let Json::Map(pairs) = json {
            let optional = |value: &Json| value.get("must_understand") == Some(&Json::Bool(false));
            let unknown =
                pairs.iter().find(|(name, value)| !KNOWN.contains(&name.as_str()) && !optional(value));
            if let Some((name, _)) = unknown {
                return Err(Error::unsupported(format!("arrays with the extension `{name}`")));
            }
        }
        if json.get("storage_transformers").and_then(Json::list).is_some_and(|list| !list.is_empty()) {
            return Err(Error::unsupported("arrays with storage transformers"));
        }
        let plain = datatype::named(need(json, "data_type")?, limits.max_depth)?;
        let shape = counts(json, "shape")?;
        let grid = need(json, "chunk_grid")?;
        let name = grid.get("name").and_then(Json::text).unwrap_or_default();
        if name != "regular" {
            return Err(Error::unsupported(format!("the chunk grid `{name}`")));
        }
        let mut chunk = counts(need(grid, "configuration")?, "chunk_shape")?;
        checked(&shape, &mut chunk, &plain)?;
        let (chain, order) = codec::third(need(json, "codecs")?, &chunk, &plain, limits)?;
        let datatype = plain.with_order(order);
        let encoding = need(json, "chunk_key_encoding")?;
        let name = encoding.text().or_else(|| encoding.get("name").and_then(Json::text)).unwrap_or_default();
        let given = encoding.get("configuration").and_then(|settings| settings.get("separator"));
        let keys = match name {
            "default" => Keys::Default(separator(given, '/')?),
            "v2" => Keys::Second(separator(given, '.')?),
            other => return Err(Error::unsupported(format!("the chunk key encoding `{other}`"))),
        };
        let fill = fill(json.get("fill_value").unwrap_or(&Json::Null), &datatype)?;
        let attributes = pairs(json.get("attributes"));
        let own = json.get("dimension_names").filter(|names| **names != Json::Null);
        let names =
            own.or_else(|| attributes.iter().find(|(name, _)| name == "_ARRAY_DIMENSIONS").map(|(_, n)| n));
        let names = named(names, shape.len());
        let (path, folder) = (path.to_owned(), folder.to_owned());
        Ok(Array { path, version: 3, shape, chunk, datatype, fill, names, attributes, folder, keys, chain })
    }

    /// The shape of what is decoded at once: a chunk, or one of the chunks in a shard that can be read by themselves.
    pub fn unit(&self) -> &[u64] {
        match &self.chain.shard {
            Some(shard) if self.in_parts() => &shard.chain.shape,
            _ => &self.chunk,
        }
    }

    /// Whether single chunks of a shard can be read: nothing was done to the shard as a whole.
    pub(crate) fn in_parts(&self) -> bool {
        self.chain.shard.is_some() && self.chain.is_straight() && self.chain.steps.is_empty()
    }

    /// Names of the codecs of a chunk, in the order in which they were applied.
    pub fn codecs(&self) -> Vec<&'static str> {
        let mut out = Vec::new();
        let mut chain = Some(&self.chain);
        while let Some(one) = chain {
            out.extend((!one.is_straight()).then_some("transpose"));
            out.extend(one.shard.is_some().then_some("sharding_indexed"));
            out.extend(one.steps.iter().map(codec::Step::name));
            chain = one.shard.as_ref().map(|shard| &shard.chain);
        }
        out
    }

    /// How many objects there can be along each axis.
    pub fn grid(&self) -> Vec<u64> {
        self.shape.iter().zip(&self.chunk).map(|(n, c)| n.div_ceil(*c)).collect()
    }

    /// The key of the object at coordinates of the grid.
    pub fn key(&self, at: &[u64]) -> String {
        let mut key = self.folder.clone();
        let (separator, alone) = match self.keys {
            Keys::Default(separator) => (separator, false),
            Keys::Second(separator) => (separator, true),
        };
        if !key.is_empty() {
            key.push('/');
        }
        if !alone {
            key.push('c');
        }
        for (axis, n) in at.iter().enumerate() {
            if axis > 0 || !alone {
                key.push(separator);
            }
            key.push_str(&n.to_string());
        }
        if alone && at.is_empty() {
            key.push('0');
        }
        key
    }

    /// The fill value as it would be stored.
    pub(crate) fn stored_fill(&self) -> Vec<u8> {
        let mut fill = self.fill.clone();
        if let Some(native) = Native::of(&self.datatype) {
            native.apply(&mut fill);
        }
        fill
    }
}

fn separator(json: Option<&Json>, usual: char) -> Result<char> {
    match json {
        None | Some(Json::Null) => Ok(usual),
        Some(Json::Text(text)) if text == "." => Ok('.'),
        Some(Json::Text(text)) if text == "/" => Ok('/'),
        Some(other) => Err(Error::unsupported(format!("chunk keys with the separator {other}"))),
    }
}

/// Names of axes; a list of another length is not one of these axes.
fn named(json: Option<&Json>, axes: usize) -> Vec<Option<String>> {
    match json.and_then(Json::list) {
        Some(list) if list.len() == axes => list.iter().map(|name| name.text().map(str::to_owned)).collect(),
        _ => vec![None; axes],
    }
}
