//! The rows of one tar, in as little memory as they need: ten bytes for each field of each row, and the key.

use infeed_core::{Bytes, Error, FieldSpec, Index, Record, Result, Value};
use std::{ops::Range, sync::Arc};

/// Marks a length that does not fit; the real one is in [`TarIndex::huge`].
pub(super) const HUGE: u32 = u32::MAX;

/// Where the fields of every row lie. One array for each property, because a million rows of small structures with
/// their padding and their pointers would be several times as large.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TarIndex {
    pub(super) shard: Arc<str>,
    /// Field names; the place in this list is the field's number.
    pub(super) names: Vec<Arc<str>>,
    /// The first member of each row, and one more for the end.
    pub(super) starts: Vec<u32>,
    /// Where each member's data begins, in blocks of 512 bytes.
    pub(super) blocks: Vec<u32>,
    /// How long each member's data is.
    pub(super) lens: Vec<u32>,
    /// Members of 4 GiB and more, with their lengths, in order.
    pub(super) huge: Vec<(u32, u64)>,
    /// Each member's field.
    pub(super) ids: Vec<u16>,
    /// All keys, one after the other.
    pub(super) keys: Vec<u8>,
    /// Where each row's key ends.
    pub(super) key_ends: Vec<u32>,
    pub(super) damage: Vec<String>,
}

impl TarIndex {
    /// Bytes of memory it takes.
    pub fn memory(&self) -> usize {
        let numbers = self.starts.len() + self.blocks.len() + self.lens.len() + self.key_ends.len();
        numbers * 4 + self.ids.len() * 2 + self.huge.len() * 16 + self.keys.len()
    }

    /// The members of a row.
    fn members(&self, row: u64) -> Option<Range<usize>> {
        let row = usize::try_from(row).ok()?;
        let end = *self.starts.get(row.checked_add(1)?)?;
        Some(self.starts[row] as usize..end as usize)
    }

    fn len_of(&self, member: usize) -> u64 {
        match self.lens[member] {
            HUGE => self
                .huge
                .binary_search_by_key(&member, |(m, _)| *m as usize)
                .map_or(u64::from(HUGE), |place| self.huge[place].1),
            len => u64::from(len),
        }
    }

    /// The bytes of a member.
    pub(super) fn range_of(&self, member: usize) -> Range<u64> {
        let start = u64::from(self.blocks[member]) * super::header::BLOCK;
        start..start + self.len_of(member)
    }

    /// The numbers of these fields; a field that no row has is `None`.
    fn numbers(&self, fields: &[Arc<str>]) -> Vec<Option<u16>> {
        fields.iter().map(|f| self.names.iter().position(|n| n == f).map(|place| place as u16)).collect()
    }

    /// Calls `each` with the member that holds each field of each row, in the order in which they were asked for.
    fn visit(&self, rows: &[u64], fields: &[Arc<str>], mut each: impl FnMut(Option<usize>)) -> Result<()> {
        let numbers = self.numbers(fields);
        for row in rows {
            let members = self.members(*row).ok_or_else(|| Error::Internal {
                what: format!(
                    "row {row} was asked of shard `{}`, which has {} rows",
                    self.shard,
                    self.rows()
                ),
            })?;
            for number in &numbers {
                let find = |number: &u16| members.clone().find(|m| self.ids[*m] == *number);
                each(number.as_ref().and_then(find));
            }
        }
        Ok(())
    }
}

impl Index for TarIndex {
    fn damage(&self) -> &[String] {
        &self.damage
    }

    fn rows(&self) -> u64 {
        self.key_ends.len() as u64
    }

    fn fields(&self) -> Vec<(Arc<str>, FieldSpec)> {
        self.names.iter().map(|name| (Arc::clone(name), FieldSpec::encoded())).collect()
    }

    fn key(&self, row: u64) -> String {
        let Some(end) = usize::try_from(row).ok().and_then(|row| self.key_ends.get(row)) else {
            return String::new();
        };
        let start = if row == 0 { 0 } else { self.key_ends[row as usize - 1] };
        String::from_utf8_lossy(&self.keys[start as usize..*end as usize]).into_owned()
    }

    fn weight(&self, row: u64, fields: &[Arc<str>]) -> u64 {
        let mut sum = 0;
        // A row that is not there weighs nothing; fetching it is what fails.
        let _ = self.visit(&[row], fields, |member| sum += member.map_or(0, |m| self.len_of(m)));
        sum
    }

    fn ranges(&self, rows: &[u64], fields: &[Arc<str>]) -> Result<Vec<Range<u64>>> {
        let mut ranges = Vec::with_capacity(rows.len() * fields.len());
        self.visit(rows, fields, |member| ranges.extend(member.map(|m| self.range_of(m))))?;
        Ok(ranges)
    }

    fn cut(&self, rows: &[u64], fields: &[Arc<str>], bytes: Vec<Bytes>) -> Result<Vec<Record>> {
        let mut values = Vec::with_capacity(rows.len() * fields.len());
        let (mut bytes, mut short) = (bytes.into_iter(), false);
        self.visit(rows, fields, |member| {
            values.push(match member.map(|_| bytes.next()) {
                None => Value::Missing,
                Some(Some(piece)) => Value::Bytes(piece),
                Some(None) => {
                    short = true;
                    Value::Missing
                }
            });
        })?;
        if short || bytes.next().is_some() {
            return Err(Error::Internal {
                what: format!(
                    "the pieces for {} rows of `{}` do not match its ranges",
                    rows.len(),
                    self.shard
                ),
            });
        }
        let mut values = values.into_iter();
        Ok(rows.iter().map(|_| Record { fields: values.by_ref().take(fields.len()).collect() }).collect())
    }
}
