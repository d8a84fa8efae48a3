//! Whole columns, without a source: for tests and tools.

use crate::{
    bytes::FileBytes,
    cells::{Cells, Memory, Work},
    error::{Error, Result},
    table::Table,
    turn::turn_here,
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

impl Table {
    /// Reads all entries of a column. They are read a second time in two parts, which must be equal to the whole.
    pub fn read_column(&self, file: &dyn FileBytes, name: &str) -> Result<WholeColumn> {
        let column = self.fields.iter().position(|field| &*field.name == name);
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
        let spec = self.fields[column].spec.clone();
        Ok(match whole {
            Cells::Rows { mut data, unturned, .. } => {
                if let Some(dtype) = unturned {
                    turn_here(dtype, &mut data);
                }
                WholeColumn { spec, data, ends: Vec::new() }
            }
            Cells::Ragged { data, ends } => WholeColumn { spec, data, ends },
        })
    }

    /// Reads some entries of a column.
    pub(crate) fn read_cells(&self, file: &dyn FileBytes, column: usize, rows: Range<u64>) -> Result<Cells> {
        self.pieces.check(column, file.size())?;
        let mut memory = Memory { spares: &Spares::default(), work: &mut Work::default() };
        self.pieces.cells(file, column, &rows, &mut memory)
    }
}
