//! Finds the block of a row, in a few nanoseconds.

/// The row ranges of consecutive blocks.
#[derive(Debug, Clone)]
pub(crate) struct Lookup {
    /// First row of each block, followed by the end of the last.
    starts: Vec<u64>,
    /// For every `1 << shift` rows, the block that holds the first of them.
    hints: Vec<u32>,
    shift: u32,
}

impl Lookup {
    pub(crate) fn new(lens: &[u64]) -> Self {
        let mut starts = Vec::with_capacity(lens.len() + 1);
        let mut total = 0;
        for len in lens {
            starts.push(total);
            total += len;
        }
        starts.push(total);
        // About one or two hints per block, which keeps the search from a hint short.
        let mut shift = 0;
        while (total >> shift) > 2 * lens.len() as u64 + 16 {
            shift += 1;
        }
        let mut hints = Vec::with_capacity((total >> shift) as usize + 1);
        let mut block = 0;
        let mut row = 0;
        while row < total {
            while starts[block + 1] <= row {
                block += 1;
            }
            hints.push(block as u32);
            row += 1 << shift;
        }
        Lookup { starts, hints, shift }
    }

    /// Returns the number of rows.
    pub(crate) fn rows(&self) -> u64 {
        self.starts.last().copied().unwrap_or(0)
    }

    /// Returns the block of a row and the row within it.
    #[inline]
    pub(crate) fn find(&self, row: u64) -> Option<(usize, usize)> {
        if row >= self.rows() {
            return None;
        }
        let mut block = self.hints[(row >> self.shift) as usize] as usize;
        let mut steps = 0;
        while self.starts[block + 1] <= row {
            block += 1;
            steps += 1;
            if steps == 16 {
                // Very uneven blocks: use binary search instead of stepping.
                block = self.starts.partition_point(|start| *start <= row) - 1;
            }
        }
        Some((block, (row - self.starts[block]) as usize))
    }

    /// Returns the first row of a block.
    pub(crate) fn start(&self, block: usize) -> u64 {
        self.starts[block]
    }
}
