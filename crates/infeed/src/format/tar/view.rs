//! Lookups in the rows of one tar, whether its arrays are in a [`TarIndex`](super::TarIndex) of its own or part of a
//! [`TarSet`](super::TarSet).

use super::check::header_fits;
use crate::layout::tar::header::BLOCK;
use infeed_core::{Bytes, Error, FieldSpec, Index, Record, Result, Value};
use std::{ops::Range, sync::Arc};

/// Marks a length that does not fit into 32 bits; the real one is in [`View::huge`].
pub(super) const HUGE: u32 = u32::MAX;

/// The arrays of one tar.
#[derive(Debug, Clone, Copy)]
pub(super) struct View<'a> {
    /// Field names; the index in this list is the field's number.
    pub(super) names: &'a [Arc<str>],
    /// The end of each row's members.
    pub(super) ends: &'a [u32],
    /// Offset of each member's data, in blocks of 512 bytes.
    pub(super) blocks: &'a [u32],
    /// Length of each member's data.
    pub(super) lens: &'a [u32],
    /// Members of 4 GiB and more, with their lengths, in order.
    pub(super) huge: &'a [(u64, u64)],
    /// The number of the first member in `huge`.
    pub(super) first: u64,
    /// Each member's field.
    pub(super) ids: &'a [u16],
    /// All keys, one after the other.
    pub(super) keys: &'a [u8],
    /// The end of each row's key.
    pub(super) key_ends: &'a [u32],
    pub(super) damage: &'a [String],
}

impl View<'_> {
    /// Whether the arrays are consistent, which a checksum does not show.
    pub(super) fn holds_together(&self, size: u64) -> bool {
        let members = self.ids.len();
        self.ends.len() == self.key_ends.len()
            && self.ends.is_sorted()
            && self.ends.last().map_or(0, |n| *n as usize) == members
            && (self.blocks.len(), self.lens.len()) == (members, members)
            && self.key_ends.is_sorted()
            && self.key_ends.last().map_or(0, |n| *n as usize) == self.keys.len()
            && self.ids.iter().all(|id| usize::from(*id) < self.names.len())
            && self.huge.is_sorted()
            && (0..members).all(|m| self.range_of(m).start >= BLOCK && self.range_of(m).end <= size)
    }

    /// Returns the byte range of a member.
    pub(super) fn range_of(&self, member: usize) -> Range<u64> {
        let start = u64::from(self.blocks[member]) * BLOCK;
        start..start.saturating_add(self.len_of(member))
    }

    /// How many members there are.
    pub(super) fn members(&self) -> usize {
        self.ids.len()
    }

    fn len_of(&self, member: usize) -> u64 {
        match self.lens[member] {
            HUGE => self
                .huge
                .binary_search_by_key(&(self.first + member as u64), |(m, _)| *m)
                .map_or(u64::from(HUGE), |place| self.huge[place].1),
            len => u64::from(len),
        }
    }

    /// Returns the elements of a row, in a list where `ends` holds the end of each row.
    fn part(ends: &[u32], row: u64) -> Option<Range<usize>> {
        let row = usize::try_from(row).ok()?;
        let end = *ends.get(row)?;
        let start = row.checked_sub(1).map_or(0, |before| ends[before]);
        Some(start as usize..end as usize)
    }

    /// Returns the numbers of these fields; `None` for a field that no row has.
    fn numbers(&self, fields: &[Arc<str>]) -> Vec<Option<u16>> {
        fields.iter().map(|f| self.names.iter().position(|n| n == f).map(|place| place as u16)).collect()
    }

    /// Calls `each` with the member of each field of each row, in the requested order, and whether it is the first of its row.
    fn visit(
        &self,
        rows: &[u64],
        fields: &[Arc<str>],
        mut each: impl FnMut(Option<usize>, bool),
    ) -> Result<()> {
        let numbers = self.numbers(fields);
        for row in rows {
            let members = Self::part(self.ends, *row).ok_or_else(|| Error::Internal {
                what: format!("row {row} was asked of a shard that has {} rows", self.rows()),
            })?;
            let mut first = true;
            for number in &numbers {
                let find = |number: &u16| members.clone().find(|m| self.ids[*m] == *number);
                let member = number.as_ref().and_then(find);
                each(member, first && member.is_some());
                first &= member.is_none();
            }
        }
        Ok(())
    }
}

impl Index for View<'_> {
    fn damage(&self) -> &[String] {
        self.damage
    }

    fn rows(&self) -> u64 {
        self.key_ends.len() as u64
    }

    fn fields(&self) -> Vec<(Arc<str>, FieldSpec)> {
        self.names.iter().map(|name| (Arc::clone(name), FieldSpec::encoded())).collect()
    }

    fn key(&self, row: u64) -> String {
        let key = Self::part(self.key_ends, row).map(|part| &self.keys[part]).unwrap_or_default();
        String::from_utf8_lossy(key).into_owned()
    }

    fn row_bytes(&self, row: u64, fields: &[Arc<str>]) -> u64 {
        let mut sum = 0;
        // A row that does not exist counts zero bytes; fetching it fails.
        let _ = self.visit(&[row], fields, |member, _| sum += member.map_or(0, |m| self.len_of(m)));
        sum
    }

    /// The first member of each row is read with the header in front of it, which [`Index::cut`] compares: bytes of another
    /// file, or found with the index of another file, would be taken for the row otherwise.
    fn ranges(&self, rows: &[u64], fields: &[Arc<str>]) -> Result<Vec<Range<u64>>> {
        let mut ranges = Vec::with_capacity(rows.len() * fields.len());
        self.visit(rows, fields, |member, first| {
            ranges.extend(member.map(|m| {
                let range = self.range_of(m);
                range.start - if first { BLOCK } else { 0 }..range.end
            }));
        })?;
        Ok(ranges)
    }

    fn cut(&self, rows: &[u64], fields: &[Arc<str>], bytes: Vec<Bytes>) -> Result<Vec<Record>> {
        let mut values = Vec::with_capacity(rows.len() * fields.len());
        let (mut bytes, mut short, mut wrong) = (bytes.into_iter(), false, None);
        self.visit(rows, fields, |member, first| {
            values.push(match member.map(|m| (m, bytes.next())) {
                None => Value::Missing,
                Some((m, Some(mut piece))) => {
                    if first {
                        let header = piece.split_to(piece.len().min(BLOCK as usize));
                        if !header_fits(&header, self.len_of(m)) {
                            wrong.get_or_insert(m);
                        }
                    }
                    Value::Bytes(piece)
                }
                Some((_, None)) => {
                    short = true;
                    Value::Missing
                }
            });
        })?;
        if short || bytes.next().is_some() {
            return Err(Error::Internal {
                what: format!("the pieces for {} rows do not match the shard's ranges", rows.len()),
            });
        }
        if let Some(member) = wrong {
            let what = format!(
                "at byte {} there is no tar header of a member of {} bytes; the tar is not the one that was indexed. \
                 If it has a saved index (`.infeed-index`, `.infeed-set`), delete that",
                self.range_of(member).start.saturating_sub(BLOCK),
                self.len_of(member)
            );
            return Err(Error::Changed { path: String::new(), what });
        }
        let mut values = values.into_iter();
        Ok(rows.iter().map(|_| Record { fields: values.by_ref().take(fields.len()).collect() }).collect())
    }
}
