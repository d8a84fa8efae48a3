//! The file of the indices of many tars: their names, their [`TarSet`] in little-endian, a checksum.
//!
//! ```text
//! u64  magic, eight counts; size and age of each tar; members of 4 GiB and more with their lengths
//! u32  for each tar: length of its name, its list of fields, rows, members, bytes of keys
//!      for each list: fields; for each field: length of its name
//!      ends, key ends, blocks, lens
//! u16  ids
//! u8   names of fields, names of tars, keys
//! u64  checksum
//! ```
//!
//! Names of tars are relative to their common folder, so a data set that is moved keeps its file.

use super::{
    super::set::{Names, TarSet},
    pieces::{Reader, Writer},
};
use infeed_core::{Shards, Sums};
use std::{collections::HashMap, fs::File, io, sync::Arc};

/// Changes whenever the layout or the rules by which rows are found change.
const MAGIC: u64 = u64::from_le_bytes(*b"INFEEDS1");

/// What a file holds for the requested tars.
#[derive(Debug, Default)]
pub(in super::super) struct Saved {
    /// The rows of the tars in the file.
    pub(in super::super) set: TarSet,
    /// The index of each requested tar in the set, if it is there and has not changed since.
    places: Vec<Option<u32>>,
    /// Whether it comes from the file of exactly these tars.
    pub(in super::super) own: bool,
}

impl Saved {
    /// Marks it as coming from the file of exactly these tars.
    pub(super) fn own(self) -> Self {
        Saved { own: true, ..self }
    }

    /// Returns the rows of one of the requested tars.
    pub(in super::super) fn get(&self, tar: usize) -> Option<super::super::view::View<'_>> {
        self.set.get((*self.places.get(tar)?)? as usize)
    }

    /// Forgets tars that turned out to have changed.
    pub(super) fn forget(&mut self, tars: impl IntoIterator<Item = usize>) {
        for tar in tars {
            self.places[tar] = None;
        }
    }

    /// Whether the set is exactly what was requested.
    pub(in super::super) fn is_whole(&self, shards: &Shards) -> bool {
        let in_order = |(tar, place): (usize, &Option<u32>)| *place == Some(tar as u32);
        self.set.len() == shards.len() && self.places.iter().enumerate().all(in_order)
    }

    /// Whether it holds none of the requested tars.
    pub(super) fn is_useless(&self) -> bool {
        self.places.iter().all(Option::is_none)
    }
}

/// Returns the prefix of every name that [`write`] leaves out.
pub(super) fn folder(shards: &Shards) -> &str {
    let head = shards.head();
    &head[..head.rfind('/').map_or(0, |slash| slash + 1)]
}

/// Writes the set of these tars, without the first `skip` bytes of each name. All tars must have a modification time.
pub(super) fn write(file: &mut File, shards: &Shards, skip: usize, set: &TarSet) -> io::Result<()> {
    let mut out = Writer::new(file);
    let (mut names, mut name_lens, mut name) = (Vec::new(), Vec::new(), String::new());
    for tar in 0..shards.len() {
        shards.name_into(tar, &mut name);
        let name = &name.as_bytes()[skip..];
        name_lens.push((name.len() as u32).to_le_bytes());
        names.extend_from_slice(name);
    }
    let fields = || set.lists.iter().flat_map(|list| list.iter());
    let counts = [
        shards.len(),
        set.lists.len(),
        fields().count(),
        set.huge.len(),
        set.ends.len(),
        set.ids.len(),
        names.len(),
        set.keys.len(),
    ];
    out.numbers([MAGIC.to_le_bytes()])?;
    out.numbers(counts.map(|count| (count as u64).to_le_bytes()))?;
    out.numbers(shards.sizes().iter().map(|n| n.to_le_bytes()))?;
    out.numbers((0..shards.len()).map(|tar| shards.modified(tar).unwrap_or(0).to_le_bytes()))?;
    out.numbers(set.huge.iter().flat_map(|(member, len)| [member.to_le_bytes(), len.to_le_bytes()]))?;
    out.numbers(name_lens)?;
    out.numbers(set.list_of.iter().map(|n| n.to_le_bytes()))?;
    // Every row has a member, so there are fewer than 4 billion rows in a tar, too.
    out.numbers(set.rows.lens().iter().map(|n| (*n as u32).to_le_bytes()))?;
    for lens in [&set.members, &set.key_bytes] {
        out.numbers(lens.lens().iter().map(|n| n.to_le_bytes()))?;
    }
    out.numbers(set.lists.iter().map(|list| (list.len() as u32).to_le_bytes()))?;
    out.numbers(fields().map(|field| (field.len() as u32).to_le_bytes()))?;
    for array in [&set.ends, &set.key_ends, &set.blocks, &set.lens] {
        out.numbers(array.iter().map(|n| n.to_le_bytes()))?;
    }
    out.numbers(set.ids.iter().map(|n| n.to_le_bytes()))?;
    fields().try_for_each(|field| out.bytes(field.as_bytes()))?;
    out.bytes(&names)?;
    out.bytes(&set.keys)?;
    out.finish()
}

/// Reads what a file holds for these tars, if it is intact.
pub(super) fn read(file: File, shards: &Shards) -> Option<Saved> {
    let mut from = Reader::new(file)?;
    if from.numbers(1, u64::from_le_bytes)? != [MAGIC] {
        return None;
    }
    let counts: [u64; 8] = from.numbers(8, u64::from_le_bytes)?.try_into().ok()?;
    let [tars, lists, fields, huge, rows, members, names, keys] = counts;
    let sizes = from.numbers(tars, u64::from_le_bytes)?;
    let ages = from.numbers(tars, u64::from_le_bytes)?;
    let mut set = TarSet::default();
    let flat = from.numbers(huge.checked_mul(2)?, u64::from_le_bytes)?;
    set.huge = flat.as_chunks().0.iter().map(|[member, len]| (*member, *len)).collect();
    let name_lens = sums(from.numbers(tars, u32::from_le_bytes)?, names)?;
    set.list_of = from.numbers(tars, u32::from_le_bytes)?;
    set.rows = sums(from.numbers(tars, |n| u64::from(u32::from_le_bytes(n)))?, rows)?;
    set.members = sums(from.numbers(tars, u32::from_le_bytes)?, members)?;
    set.key_bytes = sums(from.numbers(tars, u32::from_le_bytes)?, keys)?;
    let list_lens = sums(from.numbers(lists, u32::from_le_bytes)?, fields)?;
    let field_lens: Sums<u32> = from.numbers(fields, u32::from_le_bytes)?.into_iter().collect();
    set.ends = from.numbers(rows, u32::from_le_bytes)?;
    set.key_ends = from.numbers(rows, u32::from_le_bytes)?;
    set.blocks = from.numbers(members, u32::from_le_bytes)?;
    set.lens = from.numbers(members, u32::from_le_bytes)?;
    set.ids = from.numbers(members, u16::from_le_bytes)?;
    let field_names = from.numbers(field_lens.total(), |[byte]| byte)?;
    let names = from.numbers(names, |[byte]| byte)?;
    set.keys = from.numbers(keys, |[byte]| byte)?;
    from.finish()?;
    set.lists = field_lists(&list_lens, &field_lens, &field_names)?;
    // The checksum shows that the file is as it was written; this checks that its content is consistent.
    let sane = |tar: usize| set.get(tar).is_some_and(|view| view.holds_together(sizes[tar]));
    if !(set.huge.is_sorted() && (0..sizes.len()).all(sane)) {
        return None;
    }
    let known = (0..sizes.len()).map(|tar| part(&names, &name_lens, tar));
    let known: Vec<&[u8]> = known.collect::<Option<_>>()?;
    let fresh = |tar: usize, place: usize| {
        shards.sizes()[tar] == sizes[place] && shards.modified(tar) == Some(ages[place])
    };
    let places = places(shards, &known, fresh);
    Some(Saved { set, places, own: false })
}

/// Returns the index of each of `shards` among the `known` names, if it is `fresh` there.
fn places(shards: &Shards, known: &[&[u8]], fresh: impl Fn(usize, usize) -> bool) -> Vec<Option<u32>> {
    let (skip, mut name) = (folder(shards).len(), String::new());
    let mut by_name: Option<HashMap<&[u8], usize>> = None;
    let mut find = |tar: usize| {
        shards.name_into(tar, &mut name);
        let name = &name.as_bytes()[skip..];
        // The file of exactly these tars has them in the same order, and then no hash table is needed.
        if known.get(tar) == Some(&name) {
            return Some(tar);
        }
        let table = by_name.get_or_insert_with(|| known.iter().enumerate().map(|(i, n)| (*n, i)).collect());
        table.get(name).copied()
    };
    let place =
        |tar| find(tar).filter(|place| fresh(tar, *place)).and_then(|place| u32::try_from(place).ok());
    (0..shards.len()).map(place).collect()
}

/// Splits the names into lists of field names.
fn field_lists(list_lens: &Sums<u32>, field_lens: &Sums<u32>, names: &[u8]) -> Option<Vec<Names>> {
    let name = |field: u64| {
        let name = part(names, field_lens, usize::try_from(field).ok()?)?;
        Some(Arc::from(std::str::from_utf8(name).ok()?))
    };
    (0..list_lens.len()).map(|list| list_lens.range(list)?.map(name).collect()).collect()
}

/// Converts lengths, which must add up to the total in the header.
fn sums<T: Copy + Into<u64>>(lens: Vec<T>, total: u64) -> Option<Sums<T>> {
    let sums: Sums<T> = lens.into_iter().collect();
    (sums.total() == total).then_some(sums)
}

fn part<'a>(bytes: &'a [u8], lens: &Sums<u32>, place: usize) -> Option<&'a [u8]> {
    let range = lens.range(place)?;
    bytes.get(usize::try_from(range.start).ok()?..usize::try_from(range.end).ok()?)
}
