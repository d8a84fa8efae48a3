//! The rows of many tars together: one array per property for all of them, and about twenty bytes per tar.
//!
//! A separate [`TarIndex`](super::TarIndex) costs a tar about five hundred bytes before its first row: nine arrays with
//! their pointers, and a list of field names that is the same for all.

use super::view::View;
use infeed_core::{Index, Indices, Sums, format::Fields};
use std::{collections::HashMap, ops::Range, sync::Arc};

/// A list of field names that tars share.
pub(super) type Names = Arc<[Arc<str>]>;

/// The rows of many tars. `View` describes each array; the elements of a tar follow those of the one before it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TarSet {
    /// The distinct lists of field names, and which of them each tar has.
    pub(super) lists: Vec<Names>,
    pub(super) list_of: Vec<u32>,
    /// How many elements of the arrays belong to each tar.
    pub(super) rows: Sums<u64>,
    pub(super) members: Sums<u32>,
    pub(super) key_bytes: Sums<u32>,
    pub(super) ends: Vec<u32>,
    pub(super) key_ends: Vec<u32>,
    pub(super) blocks: Vec<u32>,
    pub(super) lens: Vec<u32>,
    /// Members are numbered across all tars here.
    pub(super) huge: Vec<(u64, u64)>,
    pub(super) ids: Vec<u16>,
    pub(super) keys: Vec<u8>,
    /// Tars with damage, in order.
    pub(super) damage: Vec<(usize, Vec<String>)>,
}

impl TarSet {
    /// How many tars there are.
    pub fn len(&self) -> usize {
        self.list_of.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.list_of.is_empty()
    }

    /// Returns the arrays of one tar.
    pub(super) fn get(&self, tar: usize) -> Option<View<'_>> {
        let rows = here(self.rows.range(tar)?);
        let members = self.members.range(tar)?;
        let huge = |end: u64| self.huge.partition_point(|(member, _)| *member < end);
        let damage = self.damage.binary_search_by_key(&tar, |(at, _)| *at);
        Some(View {
            names: self.lists.get(*self.list_of.get(tar)? as usize)?,
            ends: self.ends.get(rows.clone())?,
            key_ends: self.key_ends.get(rows)?,
            blocks: self.blocks.get(here(members.clone()))?,
            lens: self.lens.get(here(members.clone()))?,
            ids: self.ids.get(here(members.clone()))?,
            huge: self.huge.get(huge(members.start)..huge(members.end))?,
            first: members.start,
            keys: self.keys.get(here(self.key_bytes.range(tar)?))?,
            damage: damage.map_or(&[], |place| &self.damage[place].1),
        })
    }
}

/// Converts a range to indices in memory.
fn here(range: Range<u64>) -> Range<usize> {
    range.start as usize..range.end as usize
}

impl Indices for TarSet {
    fn rows(&self) -> &Sums<u64> {
        &self.rows
    }

    fn lend(&self, shard: usize, with: &mut dyn FnMut(&dyn Index)) {
        if let Some(view) = self.get(shard) {
            with(&view);
        }
    }

    fn fields(&self) -> Vec<(usize, Fields)> {
        let mut seen = vec![false; self.lists.len()];
        let mut first = Vec::new();
        for (tar, list) in self.list_of.iter().enumerate() {
            if !std::mem::replace(&mut seen[*list as usize], true) {
                first.extend(self.get(tar).map(|view| (tar, view.fields())));
            }
        }
        first
    }

    fn damage(&self) -> Vec<(usize, String)> {
        let all = self.damage.iter().flat_map(|(tar, notes)| notes.iter().map(|note| (*tar, note.clone())));
        all.collect()
    }
}

/// Merges tars into a [`TarSet`].
#[derive(Debug)]
pub(super) struct Collector {
    set: TarSet,
    /// The index of each list of names in [`TarSet::lists`].
    known: HashMap<Names, u32>,
}

impl Collector {
    /// Creates a collector for about `tars` tars.
    pub(super) fn new(tars: usize) -> Self {
        let set = TarSet {
            list_of: Vec::with_capacity(tars),
            rows: Sums::with_capacity(tars),
            members: Sums::with_capacity(tars),
            key_bytes: Sums::with_capacity(tars),
            ..TarSet::default()
        };
        Collector { set, known: HashMap::new() }
    }

    /// Appends a tar.
    pub(super) fn push(&mut self, tar: &View<'_>) {
        let list = match self.known.get(tar.names) {
            Some(list) => *list,
            None => {
                let (names, place): (Names, _) = (tar.names.into(), self.set.lists.len() as u32);
                self.set.lists.push(Arc::clone(&names));
                self.known.insert(names, place);
                place
            }
        };
        let set = &mut self.set;
        if !tar.damage.is_empty() {
            set.damage.push((set.list_of.len(), tar.damage.to_vec()));
        }
        let first = set.members.total();
        set.huge.extend(tar.huge.iter().map(|(member, len)| (member - tar.first + first, *len)));
        set.list_of.push(list);
        set.rows.push(tar.ends.len() as u64);
        // A tar has fewer than 4 billion members and less than 4 GiB of keys: `Builder` ensures it.
        set.members.push(tar.ids.len() as u32);
        set.key_bytes.push(tar.keys.len() as u32);
        set.ends.extend_from_slice(tar.ends);
        set.key_ends.extend_from_slice(tar.key_ends);
        set.blocks.extend_from_slice(tar.blocks);
        set.lens.extend_from_slice(tar.lens);
        set.ids.extend_from_slice(tar.ids);
        set.keys.extend_from_slice(tar.keys);
    }

    /// Returns the set of all tars so far.
    pub(super) fn finish(mut self) -> TarSet {
        let set = &mut self.set;
        set.lists.shrink_to_fit();
        set.list_of.shrink_to_fit();
        set.rows.shrink();
        set.members.shrink();
        set.key_bytes.shrink();
        for array in [&mut set.ends, &mut set.key_ends, &mut set.blocks, &mut set.lens] {
            array.shrink_to_fit();
        }
        set.huge.shrink_to_fit();
        set.ids.shrink_to_fit();
        set.keys.shrink_to_fit();
        set.damage.shrink_to_fit();
        self.set
    }
}
