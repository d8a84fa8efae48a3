//! One of several sources that are read side by side.

use infeed_core::{Error, Result, Source};
use std::sync::Arc;

/// One of the sources.
#[derive(Debug)]
pub struct ZipPart {
    /// Where its rows come from.
    pub source: Arc<dyn Source>,
    /// Its row in each row of all; those of the same number if there is no list.
    pub rows: Option<Vec<u64>>,
    /// Its fields, and what they are called here. Others are left out.
    pub fields: Vec<(Arc<str>, Arc<str>)>,
}

impl ZipPart {
    pub(super) fn row(&self, row: u64) -> Option<u64> {
        match &self.rows {
            None => Some(row),
            Some(rows) => rows.get(usize::try_from(row).ok()?).copied(),
        }
    }

    /// The rows of this part, in the same order.
    pub(super) fn local(&self, rows: &[u64]) -> Result<Vec<u64>> {
        let lost = |row: &u64| Error::argument(format!("there is no row {row}"));
        rows.iter().map(|row| self.row(*row).ok_or_else(|| lost(row))).collect()
    }

    /// Lengths of the runs of rows that lie in the same one of `units`.
    pub(super) fn runs(&self, units: &[u64], total: u64) -> Vec<u64> {
        if self.rows.is_none() {
            return units.to_vec();
        }
        let ends: Vec<u64> =
            units.iter().scan(0, |end, len| Some(*end + len).inspect(|now| *end = *now)).collect();
        let (mut out, mut last) = (Vec::new(), None);
        for row in (0..total).filter_map(|row| self.row(row)) {
            let unit = ends.partition_point(|end| *end <= row);
            match out.last_mut() {
                Some(len) if last == Some(unit) => *len += 1,
                _ => out.push(1),
            }
            last = Some(unit);
        }
        out
    }
}
