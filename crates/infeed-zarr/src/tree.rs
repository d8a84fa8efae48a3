//! The hierarchy of groups and arrays, and what leads from there to data.

use crate::{
    codec::Scratch,
    error::{Error, Result},
    json::Json,
    limits::Limits,
    meta::Array,
    objects::{Objects, Span},
    slab::{Reader, Slab},
};
use std::{collections::BTreeMap, fmt, sync::Arc};

/// What a path of the hierarchy stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// More names.
    Group,
    /// An array.
    Array,
}

/// A line of the hierarchy's list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The path, which begins with a slash.
    pub path: String,
    /// What it is.
    pub kind: Kind,
}

/// Metadata of one array or group.
#[derive(Debug, Clone)]
struct Node {
    kind: Kind,
    version: u8,
    json: Json,
    attributes: Option<Json>,
}

/// An open hierarchy: a group, or a single array. It only reads metadata; many threads can use it at once.
pub struct Tree {
    objects: Arc<dyn Objects>,
    root: String,
    limits: Limits,
    top: Node,
    /// All nodes by path, where the metadata is consolidated.
    consolidated: Option<BTreeMap<String, Node>>,
}

impl fmt::Debug for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tree")
            .field("root", &self.root)
            .field("version", &self.top.version)
            .finish_non_exhaustive()
    }
}

/// The parts of a path. Names that could lead out of the store are refused.
fn parts(path: &str) -> Result<Vec<&str>> {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    match parts.iter().find(|part| matches!(**part, "." | "..") || part.contains(['\\', '\0'])) {
        Some(part) => Err(Error::damaged(format!("`{part}` is no name of an array or group"))),
        None => Ok(parts),
    }
}

fn join(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}

impl Tree {
    /// Opens the group or array below a folder of a store; the empty folder is the whole store.
    pub fn open(objects: Arc<dyn Objects>, folder: &str, limits: Limits) -> Result<Tree> {
        let root = folder.trim_matches('/').to_owned();
        let top = node(&*objects, &root, &limits)?;
        let Some(top) = top else {
            let place = if root.is_empty() { "the store" } else { &root };
            return Err(Error::NotZarr(format!("{place} has neither zarr.json nor .zgroup nor .zarray")));
        };
        let consolidated = match top.version {
            _ if top.kind == Kind::Array => None,
            2 => match small(&*objects, &join(&root, ".zmetadata"), &limits)? {
                Some(json) => second(&json, &limits)?,
                None => None,
            },
            _ => third(&top.json, &limits)?,
        };
        Ok(Tree { objects, root, limits, top, consolidated })
    }

    /// The version of the format: 2 or 3.
    pub fn version(&self) -> u8 {
        self.top.version
    }

    /// Whether all metadata came with the first objects.
    pub fn is_consolidated(&self) -> bool {
        self.consolidated.is_some()
    }

    /// All arrays and groups, in the order of their paths; the root is `/`. Without consolidated metadata, groups (and not arrays)
    /// are listed in the store.
    pub fn list(&self) -> Result<Vec<Entry>> {
        let mut out = vec![Entry { path: "/".to_owned(), kind: self.top.kind }];
        if let Some(nodes) = &self.consolidated {
            let named = nodes.iter().filter(|(path, _)| !path.is_empty());
            out.extend(named.map(|(path, node)| Entry { path: format!("/{path}"), kind: node.kind }));
            return Ok(out);
        }
        let mut waiting = vec![(String::new(), 0)];
        waiting.retain(|_| self.top.kind == Kind::Group);
        while let Some((path, depth)) = waiting.pop() {
            let names = self.objects.children(&join_paths(&self.root, &path)).map_err(Error::Read)?;
            for name in names {
                // Objects of metadata begin with a dot, and so do files that systems leave behind.
                if name.starts_with('.')
                    || name == "zarr.json"
                    || parts(&name).map_or(true, |p| p != [&*name])
                {
                    continue;
                }
                let path = join(&path, &name);
                let Some(node) = node(&*self.objects, &join_paths(&self.root, &path), &self.limits)? else {
                    continue;
                };
                if out.len() as u64 >= self.limits.max_nodes {
                    let (size, limit) = (out.len() as u64 + 1, self.limits.max_nodes);
                    return Err(Error::TooLarge { what: "a number of arrays and groups", size, limit });
                }
                if node.kind == Kind::Group {
                    if depth >= self.limits.max_depth {
                        let (size, limit) = (u64::from(depth) + 1, u64::from(self.limits.max_depth));
                        return Err(Error::TooLarge { what: "a depth of groups", size, limit });
                    }
                    waiting.push((path.clone(), depth + 1));
                }
                out.push(Entry { path: format!("/{path}"), kind: node.kind });
            }
        }
        out.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(out)
    }

    fn find(&self, path: &str) -> Result<(String, Node)> {
        let path = parts(path)?.join("/");
        if path.is_empty() {
            return Ok((path, self.top.clone()));
        }
        if let Some(found) = self.consolidated.as_ref().and_then(|nodes| nodes.get(&path)) {
            return Ok((path, found.clone()));
        }
        match node(&*self.objects, &join_paths(&self.root, &path), &self.limits)? {
            Some(found) => Ok((path, found)),
            None => Err(Error::NotFound(format!("there is no array or group /{path}"))),
        }
    }

    /// The array at a path.
    pub fn array(&self, path: &str) -> Result<Array> {
        let (path, node) = self.find(path)?;
        if node.kind == Kind::Group {
            return Err(Error::NotFound(format!("/{path} is a group, not an array")));
        }
        let (folder, path) = (join_paths(&self.root, &path), format!("/{path}"));
        let array = match node.version {
            2 => Array::second(&folder, &path, &node.json, node.attributes.as_ref(), &self.limits),
            _ => Array::third(&folder, &path, &node.json, &self.limits),
        };
        array.map_err(|e| e.within(&path))
    }

    /// The attributes of an array or a group.
    pub fn attributes(&self, path: &str) -> Result<Vec<(String, Json)>> {
        let (_, node) = self.find(path)?;
        match node.attributes.as_ref().or_else(|| node.json.get("attributes")) {
            Some(Json::Map(pairs)) => Ok(pairs.clone()),
            _ => Ok(Vec::new()),
        }
    }

    /// An array that is ready to be read; `field` is a part of every element, or empty.
    pub fn reader(&self, array: Array, field: &str) -> Result<Reader> {
        Reader::new(array, field, self.limits)
    }

    /// Reads a slab on this thread: for tests, and for arrays that are small.
    pub fn read_slab(&self, reader: &Reader, slab: &Slab, out: &mut [u8]) -> Result<()> {
        for need in reader.needs(slab)? {
            let stored = self.objects.read(&need.key, &need.span).map_err(Error::Read)?;
            reader.learn(&need, stored.as_deref())?;
        }
        let plan = reader.plan(slab)?;
        let mut scratch = Scratch::default();
        for piece in plan.pieces() {
            let stored = match piece.key() {
                Some(key) => self.objects.read(key, piece.span()).map_err(Error::Read)?,
                None => None,
            };
            reader.place(&plan, piece, stored.as_deref(), &mut scratch, out)?;
        }
        Ok(())
    }
}

fn join_paths(root: &str, path: &str) -> String {
    if path.is_empty() { root.to_owned() } else { join(root, path) }
}

/// An object of metadata.
fn small(objects: &dyn Objects, key: &str, limits: &Limits) -> Result<Option<Json>> {
    let Some(size) = objects.size(key).map_err(Error::Read)? else { return Ok(None) };
    if size > limits.max_metadata {
        return Err(Error::TooLarge { what: "metadata", size, limit: limits.max_metadata }.within(key));
    }
    let Some(data) = objects.read(key, &Span::All).map_err(Error::Read)? else { return Ok(None) };
    Json::parse(&data, limits.max_depth).map(Some).map_err(|e| e.within(key))
}

/// The array or group in a folder of the store.
fn node(objects: &dyn Objects, folder: &str, limits: &Limits) -> Result<Option<Node>> {
    if let Some(json) = small(objects, &join(folder, "zarr.json"), limits)? {
        return Ok(Some(of_third(json).map_err(|e| e.within(folder))?));
    }
    for (name, kind) in [(".zarray", Kind::Array), (".zgroup", Kind::Group)] {
        if let Some(json) = small(objects, &join(folder, name), limits)? {
            let attributes = small(objects, &join(folder, ".zattrs"), limits)?;
            return Ok(Some(Node {
                kind,
                version: 2,
                json,
                attributes: Some(attributes.unwrap_or(Json::Null)),
            }));
        }
    }
    Ok(None)
}

fn of_third(json: Json) -> Result<Node> {
    let kind = match json.get("node_type").and_then(Json::text) {
        Some("array") => Kind::Array,
        Some("group") => Kind::Group,
        other => return Err(Error::unsupported(format!("nodes of type {other:?}"))),
    };
    Ok(Node { kind, version: 3, json, attributes: None })
}

fn counted(nodes: &BTreeMap<String, Node>, limits: &Limits) -> Result<()> {
    let (size, limit) = (nodes.len() as u64, limits.max_nodes);
    if size > limit {
        Err(Error::TooLarge { what: "a number of arrays and groups", size, limit })
    } else {
        Ok(())
    }
}

/// All nodes of `.zmetadata`.
fn second(json: &Json, limits: &Limits) -> Result<Option<BTreeMap<String, Node>>> {
    let Some(Json::Map(objects)) = json.get("metadata") else { return Ok(None) };
    let mut nodes = BTreeMap::new();
    for (key, json) in objects {
        let (folder, name) = key.rsplit_once('/').unwrap_or(("", key));
        let kind = match name {
            ".zarray" => Kind::Array,
            ".zgroup" => Kind::Group,
            _ => continue,
        };
        let path = parts(folder)?.join("/");
        nodes.insert(path, Node { kind, version: 2, json: json.clone(), attributes: Some(Json::Null) });
        counted(&nodes, limits)?;
    }
    for (key, json) in objects {
        let (folder, name) = key.rsplit_once('/').unwrap_or(("", key));
        if name == ".zattrs"
            && let Some(node) = nodes.get_mut(&parts(folder)?.join("/"))
        {
            node.attributes = Some(json.clone());
        }
    }
    Ok(Some(nodes))
}

/// All nodes of the `consolidated_metadata` in a group's `zarr.json`.
fn third(json: &Json, limits: &Limits) -> Result<Option<BTreeMap<String, Node>>> {
    let inline = json.get("consolidated_metadata").and_then(|all| all.get("metadata"));
    let Some(Json::Map(objects)) = inline else { return Ok(None) };
    let mut nodes = BTreeMap::new();
    for (path, json) in objects {
        let path = parts(path)?.join("/");
        let node = of_third(json.clone()).map_err(|e| e.within(&path))?;
        nodes.insert(path, node);
        counted(&nodes, limits)?;
    }
    Ok(Some(nodes))
}
