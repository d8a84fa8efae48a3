//! The index of an LMDB database: offsets of its entries.

use infeed_core::{
    Bytes, Dim, Dtype, Error, FieldKind, FieldSpec, Index, Record, Result, Shard, Store, StoreExt, Sums,
    Value,
};
use infeed_records::lmdb::{self, HEAD, META, Meta, NONE, Page, Stored, Tree};
use std::{ops::Range, sync::Arc};

/// Maximum branch pages between the root and a leaf; real trees are never as deep.
const DEEPEST: usize = 40;
/// Adjacent pages that are read together when pages are wanted in sequence.
const TOGETHER: u64 = 64;

/// The entries of a database, in the order of their keys: 13 bytes per entry, and the key.
#[derive(Debug, Default)]
pub struct LmdbIndex {
    /// Offsets of values; overflow pages begin with a page header.
    starts: Vec<u64>,
    lens: Vec<u32>,
    /// Whether a value is on overflow pages.
    long: Vec<bool>,
    page: u64,
    keys: Vec<u8>,
    key_lens: Sums<u16>,
    as_text: bool,
}

/// A walk through the pages of a file.
struct Walk<'a> {
    store: &'a dyn Store,
    shard: &'a Shard,
    meta: Meta,
    /// The pages read last, and the number of the first.
    window: (u64, Bytes),
    visited: u64,
}

impl LmdbIndex {
    /// Walks through a database. `as_text` says whether keys are text; with `None` they are if all are UTF-8.
    pub fn read(store: &dyn Store, shard: &Shard, name: Option<&str>, as_text: Option<bool>) -> Result<Self> {
        let meta = newest(store, shard)?;
        let mut walk = Walk { store, shard, meta, window: (NONE, Bytes::new()), visited: 0 };
        let mut tree = meta.main;
        if let Some(name) = name {
            tree = walk.named(name)?;
        }
        if tree.sorted {
            return Err(walk.fault(
                0,
                "it keeps several values for a key (DUPSORT), which cannot be read as rows".to_owned(),
            ));
        }
        let mut index = LmdbIndex { page: meta.page, ..LmdbIndex::default() };
        walk.entries(tree, &mut |walk, page, at| {
            let (base, bytes) = page;
            let value = match &at.value {
                Stored::Here(range) => (base + range.start as u64, range.len() as u32, false),
                Stored::Pages(first, len) => (walk.place(*first, HEAD as u64 + u64::from(*len))?, *len, true),
                Stored::Tree(_) => {
                    let name = bytes[at.key.clone()].escape_ascii();
                    return Err(walk.fault(
                        base,
                        format!("`{name}` is a database of its own; give its name: name=\"{name}\""),
                    ));
                }
                Stored::Several => return Err(walk.fault(base, "a key has several values".to_owned())),
            };
            index.starts.push(value.0);
            index.lens.push(value.1);
            index.long.push(value.2);
            index.keys.extend_from_slice(&bytes[at.key.clone()]);
            index.key_lens.push(at.key.len() as u16);
            Ok(())
        })?;
        if index.starts.len() as u64 != tree.entries {
            let what =
                format!("there are {} entries, and there should be {}", index.starts.len(), tree.entries);
            return Err(walk.fault(0, what));
        }
        let utf8 = (0..index.starts.len()).all(|row| std::str::from_utf8(index.key_bytes(row)).is_ok());
        if as_text == Some(true) && !utf8 {
            return Err(Error::plan(
                "lmdb",
                format!("keys of `{}` are not UTF-8; key=\"bytes\" takes any", shard.name),
            ));
        }
        index.as_text = as_text.unwrap_or(utf8);
        Ok(index)
    }

    fn key_bytes(&self, row: usize) -> &[u8] {
        let range = self.key_lens.range(row).unwrap_or_default();
        &self.keys[range.start as usize..range.end as usize]
    }
}

/// Returns the newer of the two meta pages, checked against the file.
fn newest(store: &dyn Store, shard: &Shard) -> Result<Meta> {
    let fault = |offset, what: String| Error::Format { shard: shard.name.to_string(), offset, what };
    let read = |at: u64| -> Result<Option<Meta>> {
        let end = at + META as u64;
        if end > shard.size { Ok(None) } else { Ok(lmdb::meta(&store.read_one(shard, at..end)?)) }
    };
    let first = read(0)?
        .ok_or_else(|| fault(0, "it is no LMDB file: there is no meta page (is it data.mdb?)".to_owned()))?;
    let second = read(first.page)?.filter(|second| second.page == first.page);
    let newest = second.filter(|second| second.transaction > first.transaction).unwrap_or(first);
    let wanted = newest.last.checked_add(1).and_then(|pages| pages.checked_mul(newest.page));
    match wanted {
        Some(wanted) if wanted <= shard.size => Ok(newest),
        _ => Err(fault(
            shard.size,
            format!("the file is cut off: its last page is {}, of {} bytes each", newest.last, newest.page),
        )),
    }
}

/// A page: its offset and its bytes.
type Lent<'a> = (u64, &'a [u8]);

impl Walk<'_> {
    fn fault(&self, offset: u64, what: String) -> Error {
        Error::Format { shard: self.shard.name.to_string(), offset, what }
    }

    /// Returns the offset of a page, if `bytes` bytes from there on are in the file.
    fn place(&self, number: u64, bytes: u64) -> Result<u64> {
        let at = number.checked_mul(self.meta.page).filter(|_| number <= self.meta.last);
        let inside = at.filter(|at| at.checked_add(bytes).is_some_and(|end| end <= self.shard.size));
        inside.ok_or_else(|| {
            self.fault(0, format!("page {number} is beyond the end: the last one is {}", self.meta.last))
        })
    }

    /// Returns the bytes of a page.
    fn bytes(&mut self, number: u64) -> Result<Bytes> {
        let size = self.meta.page;
        let at = self.place(number, size)?;
        let (first, bytes) = &self.window;
        let known = number
            .checked_sub(*first)
            .map(|skip| skip * size)
            .filter(|skip| skip + size <= bytes.len() as u64);
        if let Some(skip) = known {
            return Ok(bytes.slice(skip as usize..(skip + size) as usize));
        }
        // Leaves written in order are stored in order, but overflow pages of long values may be between them.
        let next = *first != NONE && number == first + bytes.len() as u64 / size;
        let end = (at + size * if next { TOGETHER } else { 1 }).min((self.meta.last + 1) * size);
        self.window = (number, self.store.read_one(self.shard, at..end)?);
        Ok(self.window.1.slice(..size as usize))
    }

    /// Calls `each` with the entries of a tree, in order.
    fn entries(
        &mut self,
        tree: Tree,
        each: &mut dyn FnMut(&Self, Lent<'_>, &lmdb::Entry) -> Result<()>,
    ) -> Result<()> {
        let mut path: Vec<std::vec::IntoIter<u64>> = vec![];
        if tree.root != NONE {
            path.push(vec![tree.root].into_iter());
        }
        while let Some(level) = path.last_mut() {
            let Some(number) = level.next() else {
                path.pop();
                continue;
            };
            self.visited += 1;
            if path.len() > DEEPEST || self.visited > self.meta.last + 1 {
                return Err(self.fault(0, "its pages form a cycle".to_owned()));
            }
            let bytes = self.bytes(number)?;
            let at = number * self.meta.page;
            let page =
                lmdb::page(&bytes, number).map_err(|e| self.fault(at, crate::layout::rows::said(e)))?;
            match page {
                Page::Branch(below) => path.push(below.into_iter()),
                Page::Leaf(entries) => {
                    for entry in &entries {
                        each(self, (at, &bytes), entry)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Returns the database of this name.
    fn named(&mut self, name: &str) -> Result<Tree> {
        let (mut found, mut others) = (None, vec![]);
        self.entries(self.meta.main, &mut |_, (_, bytes), entry| {
            if let Stored::Tree(tree) = entry.value {
                let key = &bytes[entry.key.clone()];
                if key == name.as_bytes() {
                    found = Some(tree);
                }
                others.push(String::from_utf8_lossy(key).into_owned());
            }
            Ok(())
        })?;
        self.visited = 0;
        found.ok_or_else(|| {
            let there = if others.is_empty() {
                "it has none with a name".to_owned()
            } else {
                format!("it has {}", others.join(", "))
            };
            Error::argument(format!("there is no database `{name}` in `{}`: {there}", self.shard.name))
        })
    }
}

impl Index for LmdbIndex {
    fn rows(&self) -> u64 {
        self.starts.len() as u64
    }

    fn fields(&self) -> Vec<(Arc<str>, FieldSpec)> {
        let kind = if self.as_text { FieldKind::Text } else { FieldKind::Encoded };
        let key = FieldSpec { kind, dtype: Dtype::U8, shape: vec![Dim::Any] };
        vec![("key".into(), key), ("value".into(), FieldSpec::encoded())]
    }

    fn key(&self, row: u64) -> String {
        String::from_utf8_lossy(self.key_bytes(row as usize)).into_owned()
    }

    fn row_bytes(&self, row: u64, fields: &[Arc<str>]) -> u64 {
        let value = fields.iter().any(|field| **field == *"value");
        self.lens.get(row as usize).filter(|_| value).map_or(8, |len| u64::from(*len))
    }

    fn ranges(&self, rows: &[u64], fields: &[Arc<str>]) -> Result<Vec<Range<u64>>> {
        if !fields.iter().any(|field| **field == *"value") {
            return Ok(vec![]);
        }
        let range = |row: &u64| {
            let at = *row as usize;
            let lost = || Error::argument(format!("there is no row {row}: there are {}", self.rows()));
            let start = *self.starts.get(at).ok_or_else(lost)?;
            let head = if self.long[at] { HEAD as u64 } else { 0 };
            Ok(start..start + head + u64::from(self.lens[at]))
        };
        rows.iter().map(range).collect()
    }

    fn cut(&self, rows: &[u64], fields: &[Arc<str>], bytes: Vec<Bytes>) -> Result<Vec<Record>> {
        let record = |(place, row): (usize, &u64)| {
            let at = *row as usize;
            let mut value = |field: &Arc<str>| match &**field {
                "key" if self.as_text => {
                    Ok(Value::Text(String::from_utf8_lossy(self.key_bytes(at)).into_owned()))
                }
                "key" => Ok(Value::Bytes(Bytes::copy_from_slice(self.key_bytes(at)))),
                "value" => {
                    let bytes = bytes.get(place).cloned().unwrap_or_default();
                    if !self.long[at] {
                        return Ok(Value::Bytes(bytes));
                    }
                    lmdb::long(&bytes, self.starts[at] / self.page)?;
                    Ok(Value::Bytes(bytes.slice(HEAD.min(bytes.len())..)))
                }
                _ => Ok(Value::Missing),
            };
            Ok(Record { fields: fields.iter().map(&mut value).collect::<Result<_>>()? })
        };
        rows.iter().enumerate().map(record).collect()
    }
}
