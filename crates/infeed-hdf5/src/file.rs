//! An open file: its tree of groups, and what leads from there to data.

use crate::{
    attribute::{self, Attribute, Value},
    chunks::{self, ChunkMap},
    dataset::{Dataset, is_dataset},
    datatype::{Padding, trim},
    error::{Error, Result},
    group::{self, Link},
    header::{Header, SharedTable},
    heap::GlobalHeap,
    limits::Limits,
    meta::Meta,
    slab::{Reader, Scratch, Slab},
    source::ByteSource,
    superblock,
};
use bytes::Bytes;
use std::{collections::HashSet, ops::Range, sync::Arc};

/// An open HDF5 file. It only reads metadata; it can be used by many threads at once.
#[derive(Debug)]
pub struct File {
    meta: Meta,
    table: SharedTable,
    heap: GlobalHeap,
    root: u64,
    version: u8,
}

/// What a name of the file stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// More names.
    Group,
    /// An array.
    Dataset,
    /// A datatype that has a name.
    Datatype,
    /// A link to a path of the same file.
    Soft(String),
    /// A link to another file, which is not followed.
    External {
        /// The other file.
        file: String,
        /// The path in it.
        path: String,
    },
    /// Something else.
    Other,
}

/// A line of the file's list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The path, which begins with a slash.
    pub path: String,
    /// What it is.
    pub kind: Kind,
    /// The address of the object, which tells objects apart; `None` for links that are not followed.
    pub address: Option<u64>,
}

impl File {
    /// Opens a file over its bytes.
    pub fn open(source: Arc<dyn ByteSource>, limits: Limits) -> Result<File> {
        let mut meta = Meta::new(source, limits);
        // The front holds the superblock and most of the metadata of small files: one read brings them all.
        let front = meta.len().min(64 << 10);
        meta.read(0, front)?;
        let block = superblock::open(&mut meta)?;
        let table = SharedTable::read(&meta, block.extension)?;
        Ok(File { meta, table, heap: GlobalHeap::default(), root: block.root, version: block.version })
    }

    /// The version of the superblock, 0 to 3.
    pub fn version(&self) -> u8 {
        self.version
    }

    /// Length of the file in bytes.
    pub fn size(&self) -> u64 {
        self.meta.len()
    }

    /// All names of the file, in order. Groups that have several names are entered once.
    pub fn list(&self) -> Result<Vec<Entry>> {
        let mut out = Vec::new();
        let mut entered = HashSet::from([self.root]);
        let limits = &self.meta.limits;
        // The groups of one level are looked at together, and then what is in them.
        let (mut groups, mut depth) = (vec![(String::new(), self.root)], 0);
        while !groups.is_empty() {
            let links = self.meta.together(groups.len(), |at| {
                let (path, address) = &groups[at];
                self.links(*address).map_err(|e| e.in_object(path))
            })?;
            let inside = |(group, links): (&(String, u64), Vec<(String, Link)>)| {
                let path = group.0.clone();
                links.into_iter().map(move |(name, link)| (format!("{path}/{name}"), link))
            };
            let found: Vec<(String, Link)> = groups.iter().zip(links).flat_map(inside).collect();
            if (out.len() + found.len()) as u64 > limits.max_links {
                let (size, limit) = ((out.len() + found.len()) as u64, limits.max_links);
                return Err(Error::TooLarge { what: "a number of links", size, limit });
            }
            let kinds = self.meta.together(found.len(), |at| match &found[at] {
                (path, Link::Object(address)) => self.kind(*address).map(Some).map_err(|e| e.in_object(path)),
                _ => Ok(None),
            })?;
            groups.clear();
            for ((path, link), kind) in found.into_iter().zip(kinds) {
                let (kind, address) = match link {
                    Link::Object(address) => (kind.unwrap_or(Kind::Other), Some(address)),
                    Link::Soft(target) => (Kind::Soft(target), None),
                    Link::External { file, path } => (Kind::External { file, path }, None),
                    Link::Other(_) => (Kind::Other, None),
                };
                if let (Kind::Group, Some(address)) = (&kind, address)
                    && entered.insert(address)
                {
                    groups.push((path.clone(), address));
                }
                out.push(Entry { path, kind, address });
            }
            depth += 1;
            if !groups.is_empty() && depth > limits.max_depth {
                let (size, limit) = (u64::from(depth), u64::from(limits.max_depth));
                return Err(Error::TooLarge { what: "a depth of groups", size, limit });
            }
        }
        out.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(out)
    }

    /// Does the same with many objects of the file, such as opening them: see [`File::list`] for what it does with groups. Where the source
    /// is far away, what all of them need is asked for at once, and `work` is begun again until nothing is missing: so it must do
    /// nothing but read of this file, and its errors may come of bytes that are still to be asked for.
    pub fn together<T, E>(&self, count: usize, work: impl FnMut(usize) -> Result<T, E>) -> Result<Vec<T>, E> {
        self.meta.together(count, work)
    }

    fn links(&self, address: u64) -> Result<Vec<(String, Link)>> {
        group::links(&self.meta, &self.table, &Header::read(&self.meta, address)?)
    }

    fn kind(&self, address: u64) -> Result<Kind> {
        let header = Header::read(&self.meta, address)?;
        Ok(if is_dataset(&header) {
            Kind::Dataset
        } else if group::is_group(&header) {
            Kind::Group
        } else if header.has(crate::header::kind::DATATYPE) {
            Kind::Datatype
        } else {
            Kind::Other
        })
    }

    /// The header of the object at a path; soft links are followed.
    fn find(&self, path: &str) -> Result<Header> {
        let mut parts: Vec<String> = parts(path);
        parts.reverse();
        let mut header = Header::read(&self.meta, self.root)?;
        let (mut walked, mut jumps) = (Vec::<(String, u64)>::new(), 0);
        while let Some(name) = parts.pop() {
            let links = group::links(&self.meta, &self.table, &header)?;
            let known = || links.iter().map(|(name, _)| name.as_str()).take(8).collect::<Vec<_>>().join(", ");
            let missing = || format!("there is no `{name}` on the way to {path}; there are: {}", known());
            let (_, link) =
                links.iter().find(|(own, _)| *own == name).ok_or_else(|| Error::NotFound(missing()))?;
            match link {
                Link::Object(address) => {
                    walked.push((name.clone(), header.address));
                    header = Header::read(&self.meta, *address)?;
                }
                Link::Soft(target) => {
                    jumps += 1;
                    if jumps > self.meta.limits.max_depth {
                        return Err(Error::damaged(format!(
                            "the soft links on the way to {path} go in circles"
                        )));
                    }
                    if target.starts_with('/') {
                        header = Header::read(&self.meta, self.root)?;
                        walked.clear();
                    }
                    parts.extend(self::parts(target).into_iter().rev());
                }
                Link::External { file, path } => {
                    return Err(Error::Unsupported(format!(
                        "external links ({path} of {file}); open that file itself"
                    )));
                }
                Link::Other(kind) => return Err(Error::Unsupported(format!("links of kind {kind}"))),
            }
        }
        Ok(header)
    }

    /// The data set at a path.
    pub fn dataset(&self, path: &str) -> Result<Dataset> {
        let header = self.find(path)?;
        if !is_dataset(&header) {
            return Err(Error::NotFound(format!("{path} is not a data set")));
        }
        Dataset::parse(&self.meta, &self.table, &header, path).map_err(|e| e.in_object(path))
    }

    /// The data set of a line of [`File::list`]. Unlike [`File::dataset`] it does not walk down from the root, which takes its time
    /// where groups have many thousand names.
    pub fn listed(&self, entry: &Entry) -> Result<Dataset> {
        let Some(address) = entry.address else { return self.dataset(&entry.path) };
        let header = Header::read(&self.meta, address).map_err(|e| e.in_object(&entry.path))?;
        Dataset::parse(&self.meta, &self.table, &header, &entry.path).map_err(|e| e.in_object(&entry.path))
    }

    /// The attributes of a line of [`File::list`].
    pub fn attributes_of(&self, entry: &Entry) -> Result<Vec<Attribute>> {
        let Some(address) = entry.address else { return self.attributes(&entry.path) };
        let header = Header::read(&self.meta, address);
        let found = header.and_then(|header| attribute::all(&self.meta, &self.table, &header));
        found.map_err(|e| e.in_object(&entry.path))
    }

    /// The attributes of the object at a path, by name.
    pub fn attributes(&self, path: &str) -> Result<Vec<Attribute>> {
        attribute::all(&self.meta, &self.table, &self.find(path)?).map_err(|e| e.in_object(path))
    }

    /// The value of an attribute.
    pub fn value(&self, attribute: &Attribute) -> Result<Value> {
        attribute.value(&self.meta, &self.heap).map_err(|e| e.in_object(&attribute.name))
    }

    /// Where the chunks of a data set are.
    pub fn chunks(&self, dataset: &Dataset) -> Result<ChunkMap> {
        chunks::read(&self.meta, dataset).map_err(|e| e.in_object(&dataset.path))
    }

    /// A reader of a data set, or of one field of its compounds (names joined by dots; empty for all of it).
    pub fn reader(&self, dataset: Dataset, field: &str) -> Result<Reader> {
        dataset.check()?;
        let map = if dataset.chunk().is_some() { Some(self.chunks(&dataset)?) } else { None };
        Reader::new(self, dataset, field, map)
    }

    pub(crate) fn meta(&self) -> &Meta {
        &self.meta
    }

    /// Bytes of a range of the file, as the byte source gives them.
    pub fn read(&self, range: Range<u64>) -> Result<Bytes> {
        self.meta.data(range)
    }

    /// Reads a slab, one piece after the other. Those who want threads, few requests or a cache follow the plan themselves.
    pub fn read_slab(&self, reader: &Reader, slab: &Slab, out: &mut [u8]) -> Result<()> {
        let plan = reader.plan(slab)?;
        let mut scratch = Scratch::default();
        for piece in plan.pieces() {
            let stored = piece.range().map(|range| self.read(range)).transpose()?.unwrap_or_default();
            reader.place(&plan, piece, &stored, &mut scratch, out)?;
        }
        Ok(())
    }

    /// The texts that elements of any length stand for: `raw` is what a reader gave.
    pub fn texts(&self, raw: &[u8]) -> Result<Vec<Bytes>> {
        let size = 8 + usize::from(self.meta.sizes.offset);
        let one = |element| {
            let found = attribute::var_bytes(&self.meta, &self.heap, element, 1)?;
            let len = trim(&found, Padding::Zero).len();
            Ok(found.slice(..len))
        };
        raw.chunks_exact(size).map(one).collect()
    }
}

/// The names of a path.
fn parts(path: &str) -> Vec<String> {
    path.split('/').filter(|part| !part.is_empty() && *part != ".").map(str::to_owned).collect()
}
