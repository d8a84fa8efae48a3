//! Parts one after the other.

use super::{
    input::Stop,
    part::{Opening, PartRows},
    tar::{Keep, Row},
};
use crate::store::Pool;
use infeed_core::{Error, Hold, Result};
use std::{
    collections::{BTreeSet, HashMap, VecDeque},
    fmt,
    sync::{Arc, Mutex},
};

/// A part that can be opened, perhaps only once.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) opening: Opening,
    pub(super) name: Arc<str>,
    /// For a part that can be read only once: what has been read of it so far, until somebody takes it.
    once: Option<Mutex<Option<Begun>>>,
}

/// A part that has been opened. Rows that were looked at beforehand come first.
#[derive(Default)]
pub(super) struct Begun {
    looked_at: VecDeque<Row>,
    rows: Option<PartRows>,
    stop: Stop,
}

impl fmt::Debug for Begun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Begun").field("looked_at", &self.looked_at.len()).finish_non_exhaustive()
    }
}

impl Part {
    /// Checks that a part is there.
    pub(super) fn new(opening: Opening) -> Result<Self> {
        let once = opening.once()?.then(|| Mutex::new(Some(Begun::default())));
        Ok(Part { name: opening.name().into(), opening, once })
    }

    /// The fields of the first rows, up to a number of rows and a size. They are not lost for a later reading.
    pub(super) fn look(&self, pool: &Arc<Pool>, rows: usize, bytes: u64) -> Result<BTreeSet<Arc<str>>> {
        let mut names = BTreeSet::new();
        let mut taken = self.once.as_ref().map(|o| o.hold());
        let mut fresh = Begun::default();
        let (begun, keep) = match taken.as_deref_mut() {
            Some(Some(begun)) => (begun, Keep::Data),
            _ => (&mut fresh, Keep::Names),
        };
        let mut source = self.opening.rows(&self.name, pool, &begun.stop)?;
        let (mut count, mut size) = (0, 0);
        while count < rows && size < bytes {
            let Some(row) = source.next(keep)? else { break };
            names.extend(row.fields.iter().map(|(name, _)| Arc::clone(name)));
            count += 1;
            size += row.size;
            if keep == Keep::Data {
                begun.looked_at.push_back(row);
            }
        }
        begun.rows = Some(source);
        Ok(names)
    }

    /// Takes a part that can be read only once; nothing for one that can be opened at any time.
    fn claim(&self) -> Result<Option<Begun>> {
        let Some(once) = &self.once else { return Ok(None) };
        let begun = once.hold().take();
        let what = if &*self.name == "-" { "standard input" } else { "a pipe" };
        begun.map(Some).ok_or_else(|| {
            Error::argument(format!(
                "`{}` is {what}, which can be read only once, and that has been started already; \
                 save it to a file to read it again",
                self.name
            ))
        })
    }
}

/// The rows of some parts, in order.
#[derive(Debug)]
pub(super) struct Sequence {
    parts: Arc<[Part]>,
    order: VecDeque<usize>,
    claimed: HashMap<usize, Begun>,
    current: Option<(usize, Begun)>,
    pool: Arc<Pool>,
    stop: Stop,
}

impl Sequence {
    pub(super) fn new(parts: &Arc<[Part]>, order: &[u64], pool: &Arc<Pool>) -> Result<Self> {
        let mut sequence = Sequence {
            parts: Arc::clone(parts),
            order: VecDeque::with_capacity(order.len()),
            claimed: HashMap::new(),
            current: None,
            pool: Arc::clone(pool),
            stop: Stop::default(),
        };
        let place = |wanted: &u64| {
            let place = usize::try_from(*wanted).ok().filter(|place| *place < parts.len());
            place.ok_or_else(|| {
                Error::argument(format!("there is no part {wanted}: the stream has {}", parts.len()))
            })
        };
        // All are checked before any is taken: what is taken cannot be given back.
        let places = order.iter().map(place).collect::<Result<Vec<usize>>>()?;
        for place in places {
            if let Some(begun) = parts[place].claim()? {
                sequence.claimed.insert(place, begun);
            }
            sequence.order.push_back(place);
        }
        Ok(sequence)
    }

    /// What ends the reading from outside, whatever it waits for.
    pub(super) fn stops(&self) -> Vec<Stop> {
        let begun = self.claimed.values().chain(self.current.as_ref().map(|(_, begun)| begun));
        begun.map(|begun| begun.stop.clone()).chain([self.stop.clone()]).collect()
    }

    /// The next row and its part.
    pub(super) fn next(&mut self, keep: Keep) -> Result<Option<(Arc<str>, Row)>> {
        loop {
            if self.current.is_none() {
                let Some(place) = self.order.pop_front() else { return Ok(None) };
                let begun = self.claimed.remove(&place);
                let begun = begun.unwrap_or_else(|| Begun { stop: self.stop.clone(), ..Begun::default() });
                self.current = Some((place, begun));
            }
            let Some((place, begun)) = &mut self.current else { continue };
            let part = &self.parts[*place];
            if let Some(row) = begun.looked_at.pop_front() {
                return Ok(Some((Arc::clone(&part.name), row)));
            }
            let rows = match &mut begun.rows {
                Some(rows) => rows,
                None => begun.rows.insert(part.opening.rows(&part.name, &self.pool, &begun.stop)?),
            };
            match rows.next(keep)? {
                Some(row) => return Ok(Some((Arc::clone(&part.name), row))),
                None => self.current = None,
            }
        }
    }
}
