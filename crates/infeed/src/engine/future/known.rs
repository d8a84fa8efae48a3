//! The answers that caches get.

use infeed_core::{Foresight, Shard};
use std::{
    hash::{DefaultHasher, Hash, Hasher},
    ops::Range,
    sync::{
        PoisonError, RwLock,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

/// The most cells of a table. Larger sets get larger cells.
const CELLS: u64 = 1 << 22;

/// Which objects a job reads, and how many of their bytes an epoch needs.
#[derive(Debug)]
pub(super) struct Known {
    /// Hashes of all objects, sorted, and their numbers: 10^5 names would take ten times as much.
    objects: Vec<(u64, u32)>,
    /// Hashes of their names, sorted. Whatever else has such a name was replaced by what the job reads.
    names: Vec<u64>,
    answers: RwLock<Answers>,
    version: AtomicU64,
}

/// How many bytes an epoch needs.
#[derive(Debug)]
pub(super) enum Answers {
    /// All of them, once.
    Once,
    /// It is being counted.
    Unknown,
    Counted(Table),
}

/// Bytes that an epoch needs, for cells of every object.
#[derive(Debug, Clone)]
pub(super) struct Table {
    /// Bytes of a cell.
    cell: u64,
    /// The first cell of each object.
    starts: Vec<u64>,
    sizes: Vec<u64>,
    bytes: Vec<u32>,
}

fn hash(what: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    what.hash(&mut hasher);
    hasher.finish()
}

impl Known {
    pub(super) fn new(objects: &[Shard], answers: Answers) -> Self {
        let mut numbered: Vec<(u64, u32)> = objects.iter().map(hash).zip(0..).collect();
        let mut names: Vec<u64> = objects.iter().map(|object| hash(&object.name)).collect();
        numbered.sort_unstable();
        names.sort_unstable();
        Known { objects: numbered, names, answers: RwLock::new(answers), version: AtomicU64::new(0) }
    }

    /// An epoch was counted.
    pub(super) fn tell(&self, table: Table) {
        *self.answers.write().unwrap_or_else(PoisonError::into_inner) = Answers::Counted(table);
        self.version.fetch_add(1, Relaxed);
    }
}

impl Foresight for Known {
    fn version(&self) -> u64 {
        self.version.load(Relaxed)
    }

    fn needed(&self, object: &Shard, bytes: &Range<u64>) -> Option<u64> {
        // More than one if parts of a pipeline read the same object.
        let own = hash(object);
        let first = self.objects.partition_point(|(hash, _)| *hash < own);
        let found = self.objects[first..].iter().take_while(|(hash, _)| *hash == own);
        if found.clone().next().is_none() {
            return self.names.binary_search(&hash(&object.name)).ok().map(|_| 0);
        }
        match &*self.answers.read().unwrap_or_else(PoisonError::into_inner) {
            Answers::Once => Some(bytes.end.saturating_sub(bytes.start)),
            Answers::Unknown => None,
            Answers::Counted(table) => {
                Some(found.map(|(_, number)| table.sum(*number as usize, bytes)).sum())
            }
        }
    }
}

impl Table {
    pub(super) fn new(objects: &[Shard], chunk: u64) -> Self {
        let mut cell = chunk.max(1);
        let cells = |cell: u64| objects.iter().map(move |object| object.size.div_ceil(cell));
        while cells(cell).sum::<u64>() > CELLS.max(objects.len() as u64) && cell < 1 << 60 {
            cell *= 2;
        }
        let mut starts = Vec::with_capacity(objects.len());
        let mut end = 0;
        for cells in cells(cell) {
            starts.push(end);
            end += cells;
        }
        let sizes = objects.iter().map(|object| object.size).collect();
        Table { cell, starts, sizes, bytes: vec![0; end as usize] }
    }

    pub(super) fn clear(&mut self) {
        self.bytes.fill(0);
    }

    /// The cells of an object that hold some bytes, how many of the bytes each, and its size.
    fn cells(&self, object: usize, bytes: &Range<u64>) -> impl Iterator<Item = (usize, u64, u64)> + use<> {
        let first = self.starts.get(object).copied().unwrap_or(0);
        let (cell, size) = (self.cell, self.sizes.get(object).copied().unwrap_or(0));
        let (start, end) = (bytes.start.min(size), bytes.end.min(size));
        (start / cell..end.div_ceil(cell)).map(move |number| {
            let own = number * cell..size.min((number + 1) * cell);
            let within = end.min(own.end).saturating_sub(start.max(own.start));
            ((first + number) as usize, within, own.end - own.start)
        })
    }

    /// Adds bytes that are needed.
    pub(super) fn add(&mut self, object: usize, bytes: &Range<u64>) {
        for (at, within, _) in self.cells(object, bytes) {
            self.bytes[at] = self.bytes[at].saturating_add(u32::try_from(within).unwrap_or(u32::MAX));
        }
    }

    /// How many of these bytes are needed. Those of part of a cell are taken for as many as those of the rest.
    fn sum(&self, object: usize, bytes: &Range<u64>) -> u64 {
        let share = |(at, within, size): (usize, u64, u64)| {
            (u128::from(self.bytes[at]) * u128::from(within) / u128::from(size.max(1))) as u64
        };
        self.cells(object, bytes).map(share).sum()
    }
}
