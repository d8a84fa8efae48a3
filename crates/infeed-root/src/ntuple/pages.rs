//! Clusters, and where the pages of their columns lie.

use super::{
    envelope::{self, Kind, Link, SUM},
    little::Little,
};
use crate::{
    bytes::FileBytes,
    cells::Work,
    error::{Error, Result},
    key::LARGEST,
};
use std::ops::Range;

/// Some elements of a column.
#[derive(Debug, Clone, Copy)]
pub(super) struct Page {
    pub(super) seek: u64,
    /// Bytes, without the checksum.
    pub(super) bytes: u32,
    pub(super) elements: u32,
    /// Whether a checksum follows.
    pub(super) checked: bool,
}

impl Page {
    /// Its bytes in the file.
    pub(super) fn range(&self) -> Range<u64> {
        let sum = if self.checked { SUM as u64 } else { 0 };
        self.seek..self.seek.saturating_add(u64::from(self.bytes) + sum)
    }
}

/// The pages of a column in a cluster.
#[derive(Debug, Default)]
pub(super) struct Pages {
    /// Whether another representation of the field has the elements.
    pub(super) suppressed: bool,
    pub(super) pages: Vec<Page>,
}

impl Pages {
    pub(super) fn elements(&self) -> u64 {
        self.pages.iter().map(|page| u64::from(page.elements)).sum()
    }
}

/// Some entries, with all their columns.
#[derive(Debug)]
pub(super) struct Cluster {
    pub(super) first: u64,
    pub(super) entries: u64,
    /// By number; columns that were added later can be missing.
    pub(super) columns: Vec<Pages>,
}

/// Reads all lists of pages that the footer names.
pub(super) fn read(
    file: &dyn FileBytes,
    groups: &mut Little<'_>,
    (columns, sum): (usize, u64),
    work: &mut Work,
) -> Result<Vec<Cluster>> {
    let (count, mut list) = groups.list("cluster groups", 8)?;
    let mut clusters = Vec::new();
    for _ in 0..count {
        let mut record = list.record()?;
        record.u64()?;
        record.u64()?;
        let own = record.u32()? as usize;
        let link = envelope::link(&mut record)?;
        let before = clusters.len();
        group(file, link, (columns, sum), &mut clusters, work)?;
        if clusters.len() - before != own {
            let what = format!("{} clusters in a group of {own}", clusters.len() - before);
            return Err(Error::damaged(link.seek, what));
        }
    }
    clusters.sort_by_key(|cluster| cluster.first);
    let mut next = 0u64;
    for cluster in &clusters {
        if cluster.first != next {
            let what = format!("a cluster begins with entry {}, behind entry {next}", cluster.first);
            return Err(groups.wrong(what));
        }
        next = next.checked_add(cluster.entries).ok_or_else(|| groups.wrong("endless entries"))?;
    }
    clusters.retain(|cluster| cluster.entries > 0);
    Ok(clusters)
}

fn group(
    file: &dyn FileBytes,
    link: Link,
    (columns, sum): (usize, u64),
    out: &mut Vec<Cluster>,
    work: &mut Work,
) -> Result<()> {
    let (data, _) = envelope::read(file, link, Kind::Pages, work)?;
    let mut reader = Little::new(&data, link.seek);
    reader.u64()?;
    if reader.u64()? != sum {
        return Err(reader.wrong("a list of pages that belongs to another header"));
    }
    let (count, mut summaries) = reader.list("clusters", 8)?;
    let (listed, mut lists) = reader.list("clusters", 12)?;
    if listed != count {
        return Err(reader.wrong(format!("pages of {listed} clusters, where there are {count}")));
    }
    for _ in 0..count {
        let mut record = summaries.record()?;
        let (first, rest) = (record.u64()?, record.u64()?);
        if rest >> 56 & 1 != 0 {
            return Err(Error::Unsupported("sharded clusters of RNTuple are not known".to_owned()));
        }
        let (own, mut list) = lists.list("columns", 20)?;
        if own > columns {
            return Err(list.wrong(format!("pages of {own} columns, where there are {columns}")));
        }
        let own = (0..own).map(|_| pages(&mut list)).collect::<Result<_>>()?;
        out.push(Cluster { first, entries: rest & ((1 << 56) - 1), columns: own });
    }
    Ok(())
}

fn pages(reader: &mut Little<'_>) -> Result<Pages> {
    let (count, mut list) = reader.list("pages", 16)?;
    let mut pages = Vec::with_capacity(count);
    for _ in 0..count {
        let elements = list.i32()?;
        let (seek, bytes) = envelope::locator(&mut list)?;
        let Some(bytes) = u32::try_from(bytes).ok().filter(|bytes| *bytes as usize <= LARGEST) else {
            return Err(Error::Unsupported(format!("a page of {bytes} bytes; write smaller ones")));
        };
        pages.push(Page { seek, bytes, elements: elements.unsigned_abs(), checked: elements < 0 });
    }
    Ok(Pages { suppressed: list.i64()? < 0, pages })
}
