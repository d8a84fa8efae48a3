//! One array, or one member of its structures.

use super::{
    error::{at_opening, at_reading},
    stores::{Listing, Place, range},
};
use crate::array::{Array, Element, Pieces, Scratch, Slab, fixed_texts};
use infeed_core::{Dtype, Error, Result, parallel};
use infeed_zarr::{Class, Datatype, Limits, Objects, Piece, Plan, Reader, Scalar};
use std::{collections::HashMap, ops::Range, sync::Arc};

/// The chunks of an array by their keys.
pub(super) type Places = HashMap<String, Chunk>;

/// A chunk, or several in a shard.
#[derive(Debug)]
pub(super) struct Chunk {
    /// The number of its object among those of the store.
    pub(super) object: usize,
    pub(super) place: Place,
}

/// The names of the members of an array that are fields, joined by dots; one that is empty if it has none.
pub(super) fn members(datatype: &Datatype) -> Vec<String> {
    let mut out = Vec::new();
    gather(datatype, "", &mut out);
    out
}

fn gather(datatype: &Datatype, above: &str, out: &mut Vec<String>) {
    let below = |name: &str| if above.is_empty() { name.to_owned() } else { format!("{above}.{name}") };
    match &datatype.class {
        Class::Structure(fields) if !fields.is_empty() => {
            fields.iter().for_each(|field| gather(&field.datatype, &below(&field.name), out));
        }
        Class::Complex(..) => out.extend([below("r"), below("i")]),
        _ => out.push(above.to_owned()),
    }
}

/// An array over the reader.
#[derive(Debug)]
pub(super) struct ZarrArray {
    reader: Reader,
    element: Element,
    /// Whether characters of texts have four bytes.
    wide: bool,
    shape: Vec<u64>,
    chunk: Vec<u64>,
    /// Axes that lie in elements.
    inner: usize,
    places: Arc<Places>,
}

impl ZarrArray {
    /// Takes a reader, and reads where the chunks of its shards are.
    pub(super) fn open(
        listing: &Listing,
        reader: Reader,
        member: &str,
        places: &Arc<Places>,
        threads: usize,
    ) -> Result<Self> {
        let array = reader.array();
        let (mut base, mut inner) = (reader.datatype().clone(), Vec::new());
        while let Class::Array { shape, base: of } = &base.class {
            inner.extend(shape.iter().copied());
            base = (**of).clone();
        }
        let element = element(&base).ok_or_else(|| {
            let member = if member.is_empty() { String::new() } else { format!(" (member `{member}`)") };
            Error::argument(format!(
                "`{}`: {}{member}: {base} is nothing that can be a field",
                listing.name, array.path
            ))
        })?;
        let sides = |sides: &[u64]| sides.iter().chain(&inner).copied().collect::<Vec<u64>>();
        let (shape, chunk) = (sides(&array.shape), sides(array.unit()));
        learn(listing, &reader, threads)?;
        let wide = matches!(base.class, Class::Unicode(_));
        let places = Arc::clone(places);
        Ok(ZarrArray { reader, element, wide, shape, chunk, inner: inner.len(), places })
    }

    /// Where the bytes of a piece are; `None` if its chunk was never written.
    fn locate(&self, piece: &Piece) -> Result<Option<Located<'_>>> {
        let Some(key) = piece.key() else { return Ok(None) };
        let Some(chunk) = self.places.get(key) else { return Ok(None) };
        let range = match &chunk.place {
            Place::Shard(shard) => range(piece.span(), shard.size).ok_or_else(|| {
                let what = format!("its index points behind its end: it has {} bytes", shard.size);
                Error::sample(format!("{key}: damaged Zarr data: {what}"))
            })?,
            Place::Packed(packed) => packed.range(piece.span())?,
        };
        let (len, most) = (range.end - range.start, Limits::default().max_chunk);
        if len > most {
            let what = format!("a stored chunk of {len} bytes is more than the limit of {most}");
            return Err(Error::sample(format!("{key}: {what}")));
        }
        Ok(Some(Located { chunk, range }))
    }
}

/// Where the bytes of a piece are.
struct Located<'a> {
    chunk: &'a Chunk,
    range: Range<u64>,
}

/// Reads the indices of all shards, on several threads: reading rows must know which bytes it needs.
fn learn(listing: &Listing, reader: &Reader, threads: usize) -> Result<()> {
    let failed = |e| at_opening(&listing.name, e);
    let all = infeed_zarr::Slab::all(&reader.array().shape);
    let needs = reader.needs(&all).map_err(failed)?;
    let one = |at: usize| {
        let need = &needs[at];
        let stored = listing.read(&need.key, &need.span).map_err(|e| failed(infeed_zarr::Error::Read(e)))?;
        reader.learn(need, stored.as_deref()).map_err(failed)
    };
    parallel::map(needs.len(), threads, one).map(drop)
}

fn element(datatype: &Datatype) -> Option<Element> {
    Some(match (&datatype.class, datatype.scalar()) {
        (Class::Bytes | Class::Unicode(_), _) if datatype.size > 0 => Element::Text(datatype.size),
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

impl Array for ZarrArray {
    fn element(&self) -> Element {
        self.element
    }

    fn shape(&self) -> &[u64] {
        &self.shape
    }

    fn chunk(&self) -> Option<&[u64]> {
        Some(&self.chunk)
    }

    fn packed(&self) -> Option<&[u64]> {
        // Axes that lie in elements cannot be cut by the reader.
        (!self.reader.is_plain() || self.inner > 0).then_some(&*self.chunk)
    }

    fn filters(&self) -> Vec<String> {
        self.reader.array().codecs().into_iter().map(str::to_owned).collect()
    }

    fn plan<'a>(&'a self, slab: &'a Slab) -> Result<Box<dyn Pieces + 'a>> {
        let outer = self.shape.len() - self.inner;
        let whole = |at: usize| slab.start.get(at) == Some(&0) && slab.count.get(at) == Some(&self.shape[at]);
        let (true, Some(start), Some(count)) =
            ((outer..self.shape.len()).all(whole), slab.start.get(..outer), slab.count.get(..outer))
        else {
            return Err(Error::sample("rows along an axis that lies in the elements of an array"));
        };
        let wanted = infeed_zarr::Slab { start: start.to_vec(), count: count.to_vec() };
        let plan = self.reader.plan(&wanted).map_err(at_reading)?;
        let places = plan.pieces().iter().map(|piece| self.locate(piece)).collect::<Result<_>>()?;
        Ok(Box::new(Planned { reader: &self.reader, plan, places }))
    }

    fn texts(&self, elements: &[u8]) -> Result<Vec<String>> {
        fixed_texts(elements, self.element.size(), self.wide)
    }
}

struct Planned<'a> {
    reader: &'a Reader,
    plan: Plan,
    places: Vec<Option<Located<'a>>>,
}

impl Pieces for Planned<'_> {
    fn len(&self) -> usize {
        self.places.len()
    }

    fn object(&self, piece: usize) -> usize {
        self.places[piece].as_ref().map_or(0, |at| at.chunk.object)
    }

    fn range(&self, piece: usize) -> Option<Range<u64>> {
        self.places[piece].as_ref().map(|at| at.range.clone())
    }

    fn place(&self, piece: usize, stored: &[u8], out: &mut [u8], scratch: &mut Scratch) -> Result<()> {
        let at = self.places[piece].as_ref();
        let piece = &self.plan.pieces()[piece];
        let mut place = |stored: Option<&[u8]>, scratch: &mut Scratch| {
            self.reader.place(&self.plan, piece, stored, &mut scratch.zarr, out).map_err(at_reading)
        };
        match at.map(|at| &at.chunk.place) {
            None => place(None, scratch),
            Some(Place::Shard(_)) => place(Some(stored), scratch),
            Some(Place::Packed(packed)) => {
                packed.open(piece.span(), stored, scratch, |object, scratch| place(Some(object), scratch))
            }
        }
    }
}
