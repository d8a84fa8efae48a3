//! Checks that files go together, and settles fields, rows and blocks.

use super::{ArraySource, Blocks, Part, RowKind, axis_of};
use crate::{
    array::{Array, Element},
    object::Object,
};
use infeed_core::{Dim, Error, FieldSpec, Result, Spec, Store, Sums, blocks::BlockCache, memory::readable};
use std::sync::{Arc, Mutex};

/// Bytes of a block that is decoded as a whole. Two of them fit into the memory of the cache.
pub(crate) const LARGEST_BLOCK: u64 = 512 << 20;
/// Bytes of blocks that a shuffle may have open at a time.
pub(crate) const MIXED: u64 = 256 << 20;
/// Bytes of a row: more than any machine has.
pub(crate) const LARGEST_ROW: u64 = 1 << 46;
/// Bytes that one request to a store far away should bring.
const REQUEST: u64 = 2 << 20;
/// Files are mapped if their rows are below this, where a read for each row would cost more than its bytes. Larger rows are
/// read straight into batches.
pub(crate) const SMALL_ROW: u64 = 128 << 10;
/// So many files are mapped: processes have a limit.
pub(crate) const MOST_MAPPED: usize = 1024;

/// What opening has found.
#[derive(Debug)]
pub(crate) struct Parts {
    pub(crate) kind: &'static str,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) objects: Vec<Object>,
    /// How many files or stores there are.
    pub(crate) files: usize,
    /// In the order of their objects.
    pub(crate) parts: Vec<Part>,
    /// The fields, parallel to the arrays of each part.
    pub(crate) names: Vec<Arc<str>>,
    pub(crate) rows: RowKind,
    /// Whether files may be mapped.
    pub(crate) map: bool,
    pub(crate) notes: String,
}

impl Parts {
    pub(crate) fn place(&self, part: &Part) -> String {
        let name = &part.name;
        if part.key.starts_with('/') { format!("`{name}`, group {}", part.key) } else { format!("`{name}`") }
    }

    pub(crate) fn axis(&self) -> Option<i64> {
        match self.rows {
            RowKind::Axis(axis) => Some(axis),
            RowKind::Whole => None,
        }
    }

    /// The shape of a row, and how many there are.
    pub(crate) fn row(&self, part: &Part, field: usize) -> Result<(Vec<u64>, u64)> {
        let mut shape = part.arrays[field].shape().to_vec();
        let rows = match self.axis() {
            None => 1,
            Some(axis) => {
                let at = axis_of(Some(axis), shape.len()).ok_or_else(|| {
                    Error::argument(format!(
                        "{}: `{}` has the shape {shape:?} and no axis {axis} for rows to lie along; choose other fields, \
                         another axis=, or rows=\"file\"",
                        self.place(part),
                        self.names[field]
                    ))
                })?;
                shape.remove(at)
            }
        };
        let size = part.arrays[field].element().size() as u64;
        let bytes = shape.iter().try_fold(size, |all, side| all.checked_mul(*side));
        if bytes.is_none_or(|bytes| bytes > LARGEST_ROW) {
            let what = format!(
                "{}: a row of `{}` has the shape {shape:?}, which no memory can hold",
                self.place(part),
                self.names[field]
            );
            return Err(Error::argument(what));
        }
        Ok((shape, rows))
    }

    /// The number of rows of a part, which its fields must agree about.
    pub(crate) fn count(&self, part: &Part) -> Result<u64> {
        let counts: Vec<u64> = (0..self.names.len())
            .map(|field| self.row(part, field).map(|(_, rows)| rows))
            .collect::<Result<_>>()?;
        let first = counts.first().copied().unwrap_or(0);
        match counts.iter().position(|count| *count != first) {
            None => Ok(first),
            Some(other) => Err(Error::argument(format!(
                "{}: `{}` has {first} rows and `{}` has {}; choose fields that go together",
                self.place(part),
                self.names[0],
                self.names[other],
                counts[other]
            ))),
        }
    }

    /// The spec of a field: that of the first part, with what differs from part to part left open.
    pub(crate) fn spec(&self, field: usize) -> Result<FieldSpec> {
        let Some(first) = self.parts.first() else { return Err(Error::argument("there are no files")) };
        let name = &self.names[field];
        let element = first.arrays[field].element();
        let (shape, _) = self.row(first, field)?;
        let mut dims: Vec<Dim> = shape.iter().map(|side| Dim::Fixed(*side as usize)).collect();
        let differ = |part: &Part, has: String, had: String| {
            Err(Error::argument(format!(
                "{}: `{name}` is {has}, and in {} it is {had}; files that are read together must agree",
                self.place(part),
                self.place(first)
            )))
        };
        for part in &self.parts {
            let own = part.arrays[field].element();
            let agrees = match (own, element) {
                // Texts may have room for different lengths.
                (Element::Text(_), Element::Text(_)) => true,
                (own, element) => own == element,
            };
            if !agrees {
                return differ(part, kind(own), kind(element));
            }
            let (sides, _) = self.row(part, field)?;
            let free = self.rows == RowKind::Whole;
            if sides.len() != shape.len() || !free && sides != shape {
                let named = |sides: &[u64]| match free {
                    true => format!("of shape {sides:?}"),
                    false => format!("of shape {sides:?} a row"),
                };
                return differ(part, named(&sides), named(&shape));
            }
            for ((dim, side), before) in dims.iter_mut().zip(&sides).zip(&shape) {
                if side != before {
                    *dim = Dim::Any;
                }
            }
            if matches!(own, Element::Text(_)) && sides.iter().product::<u64>() != 1 {
                return Err(Error::argument(format!(
                    "{}: a row of `{name}` has {sides:?} texts, and fields of text have one a row: read other fields",
                    self.place(part)
                )));
            }
        }
        Ok(match element {
            Element::Number(dtype) => FieldSpec::array(dtype, dims),
            Element::Text(_) => FieldSpec::text(),
        })
    }
}

/// What an element is called in messages.
pub(crate) fn kind(element: Element) -> String {
    match element {
        Element::Number(dtype) => dtype.name().to_owned(),
        Element::Text(_) => "text".to_owned(),
    }
}

impl ArraySource {
    /// Makes a source of what was found.
    pub(crate) fn build(mut found: Parts) -> Result<Self> {
        let mut fields = Vec::new();
        for field in 0..found.names.len() {
            fields.push((Arc::clone(&found.names[field]), found.spec(field)?));
        }
        let mut rows = Sums::with_capacity(found.parts.len());
        let mut shard_rows = vec![0; found.files];
        for part in &found.parts {
            let count = found.count(part)?;
            rows.push(count);
            shard_rows[part.file] += count;
        }
        if rows.total() == 0 || fields.is_empty() {
            let name = found.parts.first().map_or("", |part| &*part.name);
            return Err(Error::argument(format!("there are no rows in `{name}`")));
        }
        let axis = found.axis();
        let elements = found.parts[0].arrays.iter().map(|array| array.element()).collect();
        let mut source = ArraySource {
            kind: found.kind,
            store: found.store,
            objects: std::mem::take(&mut found.objects),
            parts: found.parts,
            axis,
            spec: Spec { fields },
            elements,
            rows,
            shard_rows,
            blocks: Blocks::default(),
            cache: BlockCache::default(),
            announced: Mutex::default(),
            notes: found.notes,
        };
        source.cut()?;
        if found.map {
            source.map()?;
        }
        Ok(source)
    }

    /// Maps files of small rows that lie as they do in batches.
    fn map(&mut self) -> Result<()> {
        let fields = self.spec.fields.len();
        let plain = |part: usize| {
            let width: u64 = (0..fields).map(|field| self.width(part, field)).sum();
            width < SMALL_ROW && (0..fields).all(|field| self.dense(part, field).is_some())
        };
        if self.axis.is_some() && self.objects.len() <= MOST_MAPPED && (0..self.parts.len()).all(plain) {
            self.objects.iter_mut().try_for_each(Object::map)?;
        }
        Ok(())
    }

    /// Cuts rows into blocks, where chunks hold several of them, or where one request should bring several.
    fn cut(&mut self) -> Result<()> {
        let Some(axis) = self.axis else { return Ok(()) };
        let fields = self.spec.fields.len();
        let mut blocks = Blocks { banded: vec![false; fields], ..Blocks::default() };
        let chunk = |part: &Part, field: usize| {
            let array: &dyn Array = &*part.arrays[field];
            array.chunk()?.get(axis_of(Some(axis), array.shape().len())?).copied()
        };
        for field in 0..fields {
            let parts = self.parts.iter().enumerate();
            let mut large = None;
            for (at, part) in parts {
                let rows = chunk(part, field).unwrap_or(1).min(self.rows.lens()[at]);
                match rows.saturating_mul(self.width(at, field)) {
                    bytes if rows > 1 && bytes > LARGEST_BLOCK => large = Some((at, bytes)),
                    _ => blocks.banded[field] |= rows > 1,
                }
            }
            // Rows of it are decoded one by one then, from the chunks that they touch.
            blocks.banded[field] &= large.is_none();
            if let Some((part, bytes)) = large
                && self.parts[part].arrays[field].chunk() == Some(self.parts[part].arrays[field].shape())
            {
                return Err(Error::argument(format!(
                    "`{}`: `{}` can only be decoded as a whole, and takes {}: read it with rows=\"file\", or write it again \
                     uncompressed or in smaller chunks",
                    self.parts[part].name,
                    self.spec.fields[field].0,
                    readable(bytes)
                )));
            }
        }
        let far = self.store.room_ahead().is_some();
        if !far && !blocks.banded.contains(&true) {
            return Ok(());
        }
        let mut largest = 0;
        for (at, part) in self.parts.iter().enumerate() {
            let banded = (0..fields).filter(|field| blocks.banded[*field]);
            let width: u64 = banded.clone().map(|field| self.width(at, field)).sum();
            let mut sizes: Vec<u64> = banded.filter_map(|field| chunk(part, field)).collect();
            sizes.sort_unstable();
            let fits = |rows: &&u64| rows.saturating_mul(width) <= LARGEST_BLOCK;
            let all: u64 = (0..fields).map(|field| self.width(at, field)).sum();
            let request = if far { (REQUEST / all.max(1)).max(1) } else { 1 };
            let each = sizes.iter().rev().find(fits).or(sizes.first()).copied().unwrap_or(request).max(1);
            let total = self.rows.lens()[at];
            let mut first = 0;
            while first < total {
                let rows = each.min(total - first);
                blocks.rows.push(rows);
                blocks.starts.push((at, first));
                first += rows;
            }
            largest = largest.max(each.min(total).saturating_mul(width));
        }
        blocks.mixed = (largest > 0).then(|| (MIXED / largest).max(2));
        self.blocks = blocks;
        Ok(())
    }
}
