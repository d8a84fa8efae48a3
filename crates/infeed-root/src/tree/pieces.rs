//! Baskets of branches as pieces of columns.

use super::{
    Tree,
    branch::{Basket, Place},
    columns::Layout,
    decode,
};
use crate::{
    bytes::FileBytes,
    cells::{Cells, Memory},
    error::{Error, Result},
    table::{Cuts, Pieces},
};
use std::ops::Range;

impl Pieces for Tree {
    fn ranges(&self, columns: &[usize], rows: &Range<u64>) -> Vec<Range<u64>> {
        let branches = self.branches_of(columns).into_iter();
        branches.flat_map(|branch| decode::needs(self, branch, rows)).filter_map(Basket::range).collect()
    }

    fn cells(
        &self,
        file: &dyn FileBytes,
        column: usize,
        rows: &Range<u64>,
        memory: &mut Memory<'_>,
    ) -> Result<Cells> {
        decode::cells(self, file, column, rows, memory)
    }

    fn entry_bytes(&self, column: usize) -> u64 {
        let column = &self.columns[column];
        match column.layout {
            Layout::Flat { width, .. } => column.in_memory(width) as u64,
            _ => self.branches[column.branch].bytes.checked_div(self.entries).unwrap_or(0).clamp(1, 1 << 30),
        }
    }

    fn cuts(&self, columns: &[usize]) -> Cuts {
        let branches = self.branches_of(columns);
        let starts = |branch: &usize| self.branches[*branch].baskets.iter().map(|basket| basket.first);
        let Some(finest) = branches.iter().max_by_key(|branch| self.branches[**branch].baskets.len()) else {
            return Cuts { common: Vec::new(), fine: Some(Vec::new()) };
        };
        let fine: Vec<u64> = starts(finest).chain([self.entries]).collect();
        let mut common = fine.clone();
        for branch in &branches {
            let mut own = starts(branch).chain([self.entries]).peekable();
            common.retain(|place| {
                while own.next_if(|start| start < place).is_some() {}
                own.peek() == Some(place)
            });
        }
        Cuts { common, fine: Some(fine) }
    }

    fn check(&self, column: usize, size: u64) -> Result<()> {
        let column = &self.columns[column];
        for basket in &self.branches[column.branch].baskets {
            if let Place::File { seek, bytes } = basket.place
                && seek.checked_add(bytes).is_none_or(|end| end > size)
            {
                let what = format!(
                    "branch `{}`: a basket of {bytes} bytes ends behind the end of the file, which has {size}; copy it again",
                    column.name
                );
                return Err(Error::damaged(seek, what));
            }
        }
        Ok(())
    }
}

impl Tree {
    /// The branches of columns, each once.
    fn branches_of(&self, columns: &[usize]) -> Vec<usize> {
        let mut branches: Vec<usize> = columns.iter().map(|column| self.columns[*column].branch).collect();
        branches.sort_unstable();
        branches.dedup();
        branches
    }
}
