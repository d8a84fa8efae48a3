//! Which bytes a slab needs.

use super::{Reader, Slab, advance, linear, strides};
use crate::{
    error::{Error, Result},
    objects::Span,
};

/// The pieces of a slab.
#[derive(Debug, Clone)]
pub struct Plan {
    pub(super) slab: Slab,
    pub(super) pieces: Vec<Piece>,
}

/// A part of a slab that is read and placed at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// The object; none if the index of its shard says that the chunk was never written.
    pub(super) key: Option<String>,
    pub(super) span: Span,
    /// Its bytes are elements as they are.
    pub(super) plain: bool,
    /// The number of the chunk.
    pub(super) unit: u64,
    /// Where it begins in the slab, and how many elements it has along each axis.
    pub(super) start: Vec<u64>,
    pub(super) count: Vec<u64>,
    /// The element of its decoded bytes at which it begins.
    pub(super) from: u64,
}

impl Piece {
    /// The object that it needs; `None` if it needs nothing.
    pub fn key(&self) -> Option<&str> {
        self.key.as_deref()
    }

    /// Which bytes of the object it needs.
    pub fn span(&self) -> &Span {
        &self.span
    }

    /// The number of the chunk, if it must be decoded: pieces of the same number share a decoded chunk.
    pub fn chunk(&self) -> Option<u64> {
        (self.key.is_some() && !self.plain).then_some(self.unit)
    }
}

impl Plan {
    /// The pieces.
    pub fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// The slab.
    pub fn slab(&self) -> &Slab {
        &self.slab
    }
}

impl Reader {
    pub(super) fn check_slab(&self, slab: &Slab) -> Result<()> {
        let shape = &self.array.shape;
        let inside = |((&start, &count), &n): ((&u64, &u64), &u64)| {
            start.checked_add(count).is_some_and(|end| end <= n)
        };
        let same = slab.start.len() == shape.len() && slab.count.len() == shape.len();
        if same && slab.start.iter().zip(&slab.count).zip(shape).all(inside) {
            return Ok(());
        }
        Err(Error::Request(format!(
            "{}: a slab of {:?} at {:?} is not inside of the shape {shape:?}",
            self.array.path, slab.count, slab.start
        )))
    }

    /// Coordinates of the first box of a grid that a slab touches, and behind the last one.
    pub(super) fn touched(&self, slab: &Slab, chunk: &[u64]) -> Result<(Vec<u64>, Vec<u64>)> {
        let first: Vec<u64> = slab.start.iter().zip(chunk).map(|(&at, &n)| at / n).collect();
        let end =
            slab.start.iter().zip(&slab.count).zip(chunk).map(|((&at, &count), &n)| (at + count).div_ceil(n));
        let end: Vec<u64> = end.collect();
        let total = first.iter().zip(&end).try_fold(1u64, |all, (&from, &to)| all.checked_mul(to - from));
        let (size, limit) = (total.unwrap_or(u64::MAX), self.limits.max_pieces);
        if size > limit {
            return Err(Error::TooLarge { what: "a number of chunks in one slab", size, limit });
        }
        Ok((first, end))
    }

    /// Says which bytes a slab needs. Nothing is read. The indices of its shards must be known: see [`Reader::needs`].
    pub fn plan(&self, slab: &Slab) -> Result<Plan> {
        self.check_slab(slab)?;
        let mut pieces = Vec::new();
        if !slab.count.contains(&0) {
            let unit = self.array.unit();
            let (first, end) = self.touched(slab, unit)?;
            let numbers = strides(&self.units);
            let mut at = first.clone();
            loop {
                pieces.push(self.piece(slab, unit, &at, linear(&at, &numbers))?);
                if !advance(&mut at, &first, &end) {
                    break;
                }
            }
        }
        Ok(Plan { slab: slab.clone(), pieces })
    }

    fn piece(&self, slab: &Slab, unit: &[u64], at: &[u64], number: u64) -> Result<Piece> {
        let (mut start, mut count, mut from) = (Vec::new(), Vec::new(), 0);
        for axis in 0..unit.len() {
            let origin = at[axis] * unit[axis];
            let begin = origin.max(slab.start[axis]);
            let stop = (origin + unit[axis]).min(slab.start[axis] + slab.count[axis]);
            start.push(begin - slab.start[axis]);
            count.push(stop - begin);
            from += (begin - origin) * self.strides[axis];
        }
        let (mut key, mut span) = (None, Span::All);
        if let Some(shard) = self.shard() {
            let home: Vec<u64> = at.iter().zip(&shard.grid).map(|(at, n)| at / n).collect();
            let within: Vec<u64> = at.iter().zip(&shard.grid).map(|(at, n)| at % n).collect();
            let known = self.known.get(linear(&home, &strides(&self.array.grid())));
            let places = known.ok_or_else(|| {
                Error::Request(format!("the index of the shard {} is not known yet", self.array.key(&home)))
            })?;
            let place = places
                .and_then(|places| places.get(linear(&within, &strides(&shard.grid)) as usize).cloned()?);
            if let Some(range) = place {
                let (size, limit) = (range.end - range.start, self.limits.max_chunk);
                if size > limit {
                    return Err(Error::TooLarge { what: "a stored chunk", size, limit });
                }
                (key, span) = (Some(self.array.key(&home)), Span::Range(range));
            }
        } else {
            key = Some(self.array.key(at));
        }
        let plain = self.chain().is_plain();
        if plain {
            let (part, begin) = self.needed(&count, from, &span)?;
            (span, from) = (part, from - begin);
        }
        Ok(Piece { key, span, plain, unit: number, start, count, from })
    }

    /// Of chunks that are stored as they are, only the part that is needed; and the element at which that begins.
    fn needed(&self, count: &[u64], from: u64, span: &Span) -> Result<(Span, u64)> {
        let element = self.array.datatype.size as u64;
        let last = from + count.iter().zip(&self.strides).map(|(&n, &stride)| (n - 1) * stride).sum::<u64>();
        let (begin, end) = (from * element, (last + 1) * element);
        if let Span::Range(range) = span
            && range.end - range.start != self.unit_bytes as u64
        {
            return Err(Error::damaged(format!(
                "{}: a chunk without compression has {} bytes, not {}",
                self.array.path,
                range.end - range.start,
                self.unit_bytes
            )));
        }
        // A little more is not worth a range of its own, and whole objects are checked for their length.
        if (end - begin).saturating_mul(2) > self.unit_bytes as u64 {
            return Ok((span.clone(), 0));
        }
        let origin = match span {
            Span::Range(range) => range.start,
            _ => 0,
        };
        Ok((Span::Range(origin + begin..origin + end), from))
    }
}
