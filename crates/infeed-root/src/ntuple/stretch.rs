//! Which pages some elements of a cluster need.

use super::{
    Ntuple,
    encoding::Encoding,
    fields::Choice,
    pages::{Cluster, Page},
};
use crate::error::{Error, Result};
use std::ops::Range;

/// A column of a cluster.
#[derive(Clone, Copy)]
pub(super) struct Stretch<'a> {
    pub(super) encoding: Encoding,
    /// Elements before the first page, which are zeros.
    zeros: u64,
    pages: &'a [Page],
}

impl<'a> Stretch<'a> {
    /// The pages that have some of these elements: each with its elements that are wanted.
    pub(super) fn needs(
        &self,
        wanted: Range<u64>,
    ) -> impl Iterator<Item = (&'a Page, Range<usize>)> + use<'a> {
        let mut end = self.zeros;
        self.pages.iter().filter_map(move |page| {
            let first = end;
            end += u64::from(page.elements);
            let (from, to) = (wanted.start.max(first), wanted.end.min(end));
            (from < to).then(|| (page, (from - first) as usize..(to - first) as usize))
        })
    }

    /// How many of these elements are zeros.
    pub(super) fn zeros(&self, wanted: &Range<u64>) -> u64 {
        self.zeros.min(wanted.end).saturating_sub(wanted.start)
    }

    /// All of its elements.
    pub(super) fn total(&self) -> u64 {
        self.zeros + self.pages.iter().map(|page| u64::from(page.elements)).sum::<u64>()
    }
}

/// A cluster, and which of its entries are wanted.
pub(super) type Part<'a> = (&'a Cluster, Range<u64>);

impl Ntuple {
    /// The clusters of some entries, with their entries counted in the cluster.
    pub(super) fn parts(&self, rows: &Range<u64>) -> impl Iterator<Item = Part<'_>> {
        let first = self.clusters.partition_point(|cluster| cluster.first + cluster.entries <= rows.start);
        let rows = rows.clone();
        let end = rows.end;
        let own = self.clusters[first..].iter().take_while(move |cluster| cluster.first < end);
        own.map(move |cluster| {
            let to = rows.end.min(cluster.first + cluster.entries) - cluster.first;
            (cluster, rows.start.saturating_sub(cluster.first)..to)
        })
    }

    /// The pages of a column in a cluster. It must have so many elements, if that is known; those that are missing are zeros where the
    /// column was added later.
    pub(super) fn stretch<'a>(
        &'a self,
        cluster: &'a Cluster,
        choice: &Choice,
        elements: Option<u64>,
    ) -> Result<Stretch<'a>> {
        let wrong = |what: String| Error::damaged(0, format!("entries from {} on: {what}", cluster.first));
        let listed = |column: &&usize| cluster.columns.get(**column).is_some_and(|pages| !pages.suppressed);
        let column = choice.iter().find(listed).or(choice.first()).copied();
        let Some(stored) = column.and_then(|column| self.stored.get(column)) else {
            return Err(wrong("it has no columns".to_owned()));
        };
        let pages = column.and_then(|column| cluster.columns.get(column));
        let found = pages.map_or(0, |pages| pages.elements());
        let zeros = match elements {
            Some(wanted) if found > wanted || (found < wanted && !stored.deferred) => {
                return Err(wrong(format!("its pages have {found} elements and not {wanted}")));
            }
            Some(wanted) => wanted - found,
            None => 0,
        };
        let encoding = stored.encoding.clone().map_err(Error::Unsupported)?;
        Ok(Stretch { encoding, zeros, pages: pages.map_or(&[], |pages| &pages.pages) })
    }
}

/// The ends that entries need: also that of the entry before them.
pub(super) fn before(part: &Range<u64>) -> Range<u64> {
    part.start.saturating_sub(1)..part.end
}
