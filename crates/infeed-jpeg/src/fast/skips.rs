//! Several symbols per lookup, for blocks whose coefficients nobody needs.

use super::huffman::{END_OF_BLOCK, Entry, TABLE_BITS};

/// As many whole symbols as their codes fit into the index, for moving on without decoding values.
pub(super) struct SkipTable {
    entries: [u16; 1 << TABLE_BITS],
}

impl SkipTable {
    pub(super) fn new(single: &[Entry; 1 << TABLE_BITS]) -> Box<Self> {
        let mut table = Box::new(SkipTable { entries: [0; 1 << TABLE_BITS] });
        for (index, out) in table.entries.iter_mut().enumerate() {
            let (mut bits, mut advance) = (0, 0);
            while bits < TABLE_BITS {
                let entry = single[(index << bits) & ((1 << TABLE_BITS) - 1)];
                // A code only counts if all of it is inside the index; its extra bits may stick out.
                if entry.total() == 0 || bits + entry.length() > TABLE_BITS || advance + entry.advance() > 0xFF {
                    break;
                }
                bits += entry.total();
                advance += entry.advance();
                if advance >= END_OF_BLOCK {
                    break;
                }
            }
            *out = (bits | (advance << 8)) as u16;
        }
        table
    }

    /// Bits to take (0: ask the ordinary table) and how far the coefficient index moves.
    #[inline(always)]
    pub(super) fn entry(&self, bits: u64) -> (u32, u32) {
        let entry = u32::from(self.entries[(bits >> (64 - TABLE_BITS)) as usize]);
        (entry & 0xFF, entry >> 8)
    }
}
