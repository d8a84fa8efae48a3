//! Pages of clusters as pieces of columns.

use super::{
    Ntuple,
    fields::{Choice, Shape},
    pages::Cluster,
    stretch::before,
};
use crate::{
    bytes::FileBytes,
    cells::{Cells, Memory},
    error::{Error, Result},
    table::{Cuts, Pieces},
};
use std::ops::Range;

impl Pieces for Ntuple {
    /// Which elements lists of a part of a cluster have is known when their ends are read: until then, it is taken from how many entries
    /// there are before them.
    fn ranges(&self, columns: &[usize], rows: &Range<u64>) -> Vec<Range<u64>> {
        let mut out = Vec::new();
        for column in columns {
            for (cluster, part) in self.parts(rows) {
                let mut add = |choice: &Choice, elements: Option<u64>, wanted: Range<u64>| {
                    if let Ok(stretch) = self.stretch(cluster, choice, elements) {
                        out.extend(stretch.needs(wanted).map(|(page, _)| page.range()));
                    }
                };
                match &self.columns[*column].shape {
                    Shape::Flat(data, item) => {
                        let item = *item as u64;
                        let wanted = part.start.saturating_mul(item)..part.end.saturating_mul(item);
                        add(data, cluster.entries.checked_mul(item), wanted);
                    }
                    Shape::Sizes(ends) => add(ends, Some(cluster.entries), before(&part)),
                    Shape::Ragged { ends, data, .. } => {
                        add(ends, Some(cluster.entries), before(&part));
                        let wanted = self.about(cluster, data, &part);
                        add(data, None, wanted);
                    }
                }
            }
        }
        // Fields of a collection share its ends.
        out.sort_unstable_by_key(|range| (range.start, range.end));
        out.dedup();
        out
    }

    fn cells(
        &self,
        file: &dyn FileBytes,
        column: usize,
        rows: &Range<u64>,
        memory: &mut Memory<'_>,
    ) -> Result<Cells> {
        let column = &self.columns[column];
        let place = |error: Error| error.inside(&format!("field `{}`", column.name));
        self.decode(file, column, rows, memory).map_err(place)
    }

    fn entry_bytes(&self, column: usize) -> u64 {
        self.weights[column]
    }

    fn cuts(&self, _: &[usize]) -> Cuts {
        let starts = self.clusters.iter().map(|cluster| cluster.first);
        Cuts { common: starts.chain([self.entries]).collect(), fine: None }
    }

    fn check(&self, column: usize, size: u64) -> Result<()> {
        let column = &self.columns[column];
        let choices = match &column.shape {
            Shape::Flat(data, _) => vec![data],
            Shape::Sizes(ends) => vec![ends],
            Shape::Ragged { ends, data, .. } => vec![ends, data],
        };
        for choice in choices {
            for cluster in &self.clusters {
                let pages = choice.iter().filter_map(|at| cluster.columns.get(*at));
                if let Some(page) = pages.flat_map(|own| &own.pages).find(|page| page.range().end > size) {
                    let what = format!(
                        "field `{}`: a page of {} bytes ends behind the end of the file, which has {size}; copy it again",
                        column.name, page.bytes
                    );
                    return Err(Error::damaged(page.seek, what));
                }
            }
        }
        Ok(())
    }
}

impl Ntuple {
    /// About which elements the lists of some entries of a cluster have.
    fn about(&self, cluster: &Cluster, data: &Choice, part: &Range<u64>) -> Range<u64> {
        let total = self.stretch(cluster, data, None).map_or(0, |stretch| stretch.total());
        let at = |entry: u64| {
            (u128::from(total) * u128::from(entry)).checked_div(u128::from(cluster.entries)).unwrap_or(0)
                as u64
        };
        at(part.start)..at(part.end)
    }
}
