//! Whole columns, without a source: for tests and tools.

use crate::{
    basket::Scratch,
    bytes::FileBytes,
    cells::Cells,
    decode::{decode, needs},
    error::{Error, Result},
    tree::Tree,
};
use infeed_core::{FieldSpec, blocks::Spares};
use std::ops::Range;

/// All entries of a column.
#[derive(Debug)]
pub struct WholeColumn {
    /// What an entry is.
    pub spec: FieldSpec,
    /// The elements of all entries, in this machine's byte order.
    pub data: Vec<u8>,
    ends: Vec<u32>,
}

impl WholeColumn {
    /// Where each entry ends in the elements, as little-endian numbers of 4 bytes; none if all have the same length.
    pub fn ends(&self) -> Vec<u8> {
        self.ends.iter().flat_map(|end| end.to_le_bytes()).collect()
    }
}

impl Tree {
    /// Reads all entries of a column. They are read a second time in two parts, which must be equal to the whole.
    pub fn read_column(&self, file: &dyn FileBytes, name: &str) -> Result<WholeColumn> {
        let column = self.columns.iter().position(|column| &*column.name == name);
        let column = column.ok_or_else(|| Error::Request(format!("there is no branch `{name}`")))?;
        let whole = self.read_cells(file, column, 0..self.entries)?;
        let half = self.entries / 3;
        let first = self.read_cells(file, column, 0..half)?;
        let second = self.read_cells(file, column, half..self.entries)?;
        let half = half as usize;
        for row in 0..self.entries as usize {
            let part = if row < half { first.get(row) } else { second.get(row - half) };
            if whole.get(row).is_none() || whole.get(row) != part {
                return Err(Error::Request(format!(
                    "`{name}`: entry {row} of a part differs from the whole"
                )));
            }
        }
        let spec = self.columns[column].spec.clone();
        Ok(match whole {
            Cells::Rows { data, .. } => WholeColumn { spec, data, ends: Vec::new() },
            Cells::Ragged { data, ends } => WholeColumn { spec, data, ends },
        })
    }

    /// The branches that cannot be read, and why.
    pub fn refused(&self) -> impl Iterator<Item = (&str, &str)> {
        self.refused.iter().map(|refused| (refused.name.as_str(), refused.why.as_str()))
    }

    /// Reads some entries of a column.
    pub(crate) fn read_cells(&self, file: &dyn FileBytes, column: usize, rows: Range<u64>) -> Result<Cells> {
        let needs = needs(self, &[column], &rows);
        let ranges: Vec<Range<u64>> = needs.iter().filter_map(|need| need.range(self)).collect();
        if let Some(range) = ranges.iter().find(|range| range.end > file.size()) {
            return Err(Error::damaged(range.start, "a basket ends behind the end of the file"));
        }
        let stored = file.read(&ranges)?;
        let (spares, mut scratch) = (Spares::default(), Scratch::default());
        let mut cells = decode(self, &[column], &rows, (&needs, &stored), (&spares, &mut scratch))?;
        cells.pop().ok_or_else(|| Error::damaged(0, "no column was decoded"))
    }
}
