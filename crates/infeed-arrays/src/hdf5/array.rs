//! One data set, or one member of its compounds.

use super::error::{at_opening, at_reading};
use crate::array::{Array, Element, Pieces, Plain, Scratch, Slab};
use infeed_core::{Dtype, Error, Result};
use infeed_hdf5::{Class, Dataset, Datatype, File, Layout, Order, Plan, Reader, Scalar, trim};
use std::{ops::Range, sync::Arc};

/// The names of the members of a data set that are fields, joined by dots; one that is empty if it has none.
pub(super) fn members(datatype: &Datatype) -> Vec<String> {
    let mut out = Vec::new();
    gather(datatype, "", &mut out);
    out
}

fn gather(datatype: &Datatype, above: &str, out: &mut Vec<String>) {
    match &datatype.class {
        Class::Compound(fields) if !fields.is_empty() => {
            for field in fields {
                let name =
                    if above.is_empty() { field.name.clone() } else { format!("{above}.{}", field.name) };
                gather(&field.datatype, &name, out);
            }
        }
        _ => out.push(above.to_owned()),
    }
}

/// Opens one member of a data set.
pub(super) fn open(file: &Arc<File>, name: &str, dataset: Dataset, member: &str) -> Result<Arc<dyn Array>> {
    let path = dataset.path.clone();
    let reader = file.reader(dataset, member).map_err(|e| at_opening(name, e))?;
    // Arrays in elements are further axes.
    let (mut base, mut inner) = (reader.datatype().clone(), Vec::new());
    while let Class::Array { shape, base: of } = &base.class {
        inner.extend(shape.iter().map(|side| u64::from(*side)));
        base = (**of).clone();
    }
    let element = element(&base).ok_or_else(|| {
        let member = if member.is_empty() { String::new() } else { format!(" (member `{member}`)") };
        Error::argument(format!("`{name}`: {path}{member}: {base} is nothing that can be a field"))
    })?;
    if let Some(plain) = plain(&reader, &base, element, &inner) {
        return Ok(Arc::new(plain));
    }
    let shape = |sides: &[u64]| sides.iter().chain(&inner).copied().collect::<Vec<u64>>();
    let chunk = reader.dataset().chunk().map(shape);
    let shape = shape(&reader.dataset().space.shape);
    let file = base.is_var_text().then(|| Arc::clone(file));
    Ok(Arc::new(Hdf5Array { reader, base, element, shape, chunk, inner: inner.len(), file }))
}

fn element(datatype: &Datatype) -> Option<Element> {
    let size = datatype.size as usize;
    Some(match (&datatype.class, datatype.scalar()) {
        (Class::Text { .. } | Class::VarText, _) if size > 0 => Element::Text(size),
        (_, Some(scalar)) => Element::Number(match scalar {
            Scalar::Bool => Dtype::Bool,
            Scalar::I8 => Dtype::I8,
            Scalar::I16 => Dtype::I16,
            Scalar::I32 => Dtype::I32,
            Scalar::I64 => Dtype::I64,
            Scalar::U8 => Dtype::U8,
            Scalar::U16 => Dtype::U16,
            Scalar::U32 => Dtype::U32,
            Scalar::U64 => Dtype::U64,
            Scalar::F16 => Dtype::F16,
            Scalar::BF16 => Dtype::Bf16,
            Scalar::F32 => Dtype::F32,
            Scalar::F64 => Dtype::F64,
        }),
        _ => return None,
    })
}

/// A data set that is one run of bytes, as an array with strides: its rows can be read straight into batches, or mapped.
fn plain(reader: &Reader, base: &Datatype, element: Element, inner: &[u64]) -> Option<Plain> {
    let Dataset { layout, space, datatype, .. } = reader.dataset();
    // Members of compounds go the other way: their place in the element is known to the reader alone.
    let single = datatype == reader.datatype();
    if !matches!(layout, Layout::Contiguous { address: Some(_) }) || !single || space.shape.contains(&0) {
        return None;
    }
    let turned = turned(base)?;
    let one = infeed_hdf5::Slab { start: vec![0; space.shape.len()], count: vec![1; space.shape.len()] };
    let at = reader.plan(&one).ok()?.pieces().first()?.range()?.start;
    let mut strides = Plain::strides(&space.shape, u64::from(datatype.size));
    strides.extend(Plain::strides(inner, element.size() as u64));
    let shape = space.shape.iter().chain(inner).copied().collect();
    Some(Plain { element, shape, strides, at, turned, wide: false, chunk: None, seal: None })
}

/// Whether the bytes of a number are turned around; `None` if there is more to do than that.
fn turned(datatype: &Datatype) -> Option<bool> {
    let order = match &datatype.class {
        Class::Integer { order, precision, shift: 0, .. } if u32::from(*precision) == datatype.size * 8 => {
            order
        }
        Class::Float { order, .. } => order,
        Class::Enum { base, .. } => return turned(base),
        _ => return None,
    };
    Some((*order == Order::Big) != cfg!(target_endian = "big") && datatype.size > 1)
}

/// A data set over the reader.
#[derive(Debug)]
struct Hdf5Array {
    reader: Reader,
    base: Datatype,
    element: Element,
    shape: Vec<u64>,
    chunk: Option<Vec<u64>>,
    /// Axes that lie in elements.
    inner: usize,
    /// The file, where texts of any length are looked up.
    file: Option<Arc<File>>,
}

impl Array for Hdf5Array {
    fn element(&self) -> Element {
        self.element
    }

    fn shape(&self) -> &[u64] {
        &self.shape
    }

    fn chunk(&self) -> Option<&[u64]> {
        self.chunk.as_deref()
    }

    fn filters(&self) -> Vec<String> {
        self.reader.dataset().pipeline.filters.iter().map(|filter| filter.name.clone()).collect()
    }

    fn packed(&self) -> Option<&[u64]> {
        // Axes that lie in elements cannot be cut by the reader.
        let plain = self.reader.dataset().pipeline.filters.is_empty() && self.inner == 0;
        self.chunk.as_deref().filter(|_| !plain)
    }

    fn plan<'a>(&'a self, slab: &'a Slab) -> Result<Box<dyn Pieces + 'a>> {
        let outer = self.shape.len() - self.inner;
        let inside = |range: Range<usize>| slab.start.get(range.clone()).zip(slab.count.get(range));
        let whole = inside(outer..self.shape.len())
            .is_some_and(|(start, count)| start.iter().all(|at| *at == 0) && count == &self.shape[outer..]);
        let (true, Some((start, count))) = (whole, inside(0..outer)) else {
            return Err(Error::sample("rows along an axis that lies in the elements of a data set"));
        };
        let wanted = infeed_hdf5::Slab { start: start.to_vec(), count: count.to_vec() };
        let plan = self.reader.plan(&wanted).map_err(at_reading)?;
        Ok(Box::new(Planned { reader: &self.reader, plan }))
    }

    fn texts(&self, elements: &[u8]) -> Result<Vec<String>> {
        let text = |bytes: &[u8]| match std::str::from_utf8(bytes) {
            Ok(text) => Ok(text.to_owned()),
            Err(e) => Err(Error::sample(format!("a text that is not UTF-8: {e}"))),
        };
        if let Some(file) = &self.file {
            return file.texts(elements).map_err(at_reading)?.iter().map(|bytes| text(bytes)).collect();
        }
        let Class::Text { padding } = self.base.class else {
            return Err(Error::Internal { what: "texts of a data set without texts".to_owned() });
        };
        elements.chunks_exact(self.element.size().max(1)).map(|one| text(trim(one, padding))).collect()
    }
}

struct Planned<'a> {
    reader: &'a Reader,
    plan: Plan,
}

impl Pieces for Planned<'_> {
    fn len(&self) -> usize {
        self.plan.pieces().len()
    }

    fn range(&self, piece: usize) -> Option<Range<u64>> {
        self.plan.pieces()[piece].range()
    }

    fn place(&self, piece: usize, stored: &[u8], out: &mut [u8], scratch: &mut Scratch) -> Result<()> {
        let piece = &self.plan.pieces()[piece];
        self.reader.place(&self.plan, piece, stored, &mut scratch.hdf5, out).map_err(at_reading)
    }
}
