//! Tokens in stores that are far away: what is announced before it is read.

use super::{RowKind, TokenSource};
use crate::file::Run;
use infeed_core::Result;
use std::{collections::BTreeMap, ops::Range};

/// Bytes of a block: what one request brings.
const BLOCK: u64 = 2 << 20;

impl TokenSource {
    /// Cuts windows into blocks of one request each; none for files that are near, or whose rows have an order of their own.
    pub(super) fn find_blocks(&mut self) {
        let (RowKind::Windows { stride }, false) = (&self.rows, self.held) else { return };
        if self.room().is_none() {
            return;
        }
        let size = self.files.first().map_or(1, |file| file.dtype().size() as u64);
        let each = (BLOCK / (stride * size).max(1)).max(1);
        let mut left = self.total;
        while left > 0 {
            let block = left.min(each);
            self.blocks.push(block);
            left -= block;
        }
    }

    pub(super) fn room(&self) -> Option<u64> {
        self.files.iter().filter_map(|file| file.data().store().room_ahead()).min()
    }

    pub(super) fn forget(&self) {
        self.files.iter().for_each(|file| file.data().store().forget_ahead());
    }

    /// Announces these rows.
    pub(super) fn announce(&self, rows: &[u64]) -> Result<()> {
        let mut wanted: BTreeMap<u32, Vec<Range<u64>>> = BTreeMap::new();
        let mut runs: Vec<Run> = Vec::new();
        for row in rows {
            self.runs(*row, &mut runs)?;
            for run in &runs {
                let file = &self.files[run.file as usize];
                let range = run.byte..run.byte + run.tokens * file.dtype().size() as u64;
                wanted.entry(run.file).or_default().push(range);
            }
        }
        wanted.iter().for_each(|(file, ranges)| self.files[*file as usize].data().will_read_all(ranges));
        Ok(())
    }

    /// Announces the blocks of these rows.
    pub(super) fn announce_blocks(&self, rows: &[u64]) -> Result<()> {
        let (RowKind::Windows { stride }, Some(each)) = (&self.rows, self.blocks.first()) else {
            return self.announce(rows);
        };
        let mut seen = std::collections::HashSet::new();
        let end = self.begins.last().copied().unwrap_or(0);
        for block in rows.iter().map(|row| row / each).filter(|block| seen.insert(*block)) {
            let last = ((block + 1) * each).min(self.total) - 1;
            let tokens = block * each * stride..(last * stride + self.need as u64).min(end);
            let mut runs: Vec<Run> = Vec::new();
            self.overlaps(tokens, |file, range| self.files[file].runs(file as u32, range, &mut runs));
            for run in runs {
                let file = &self.files[run.file as usize];
                file.data().will_read(run.byte..run.byte + run.tokens * file.dtype().size() as u64);
            }
        }
        Ok(())
    }
}
