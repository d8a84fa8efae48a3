//! Several symbols per lookup, for blocks that are skipped.

use super::huffman::{END_OF_BLOCK, Entry, TABLE_BITS};

/// The entry of codes that are longer than the index.
const NOT_HERE: u16 = 0xFF00;
/// The most bits that an entry takes: codes inside the index, and the extra bits of the last one.
const MOST_BITS: u32 = TABLE_BITS + 10;
/// Lookups per refill.
pub(super) const SKIPS: u32 = 56 / MOST_BITS;

/// As many symbols per entry as have their codes inside the index, for skipping without decoding values.
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
                // A code only counts if all of it is inside the index; its extra bits may extend beyond.
                if entry.total() == 0
                    || bits + entry.length() > TABLE_BITS
                    || advance + entry.advance() > END_OF_BLOCK + 62
                {
                    break;
                }
                bits += entry.total();
                advance += entry.advance();
                if advance >= END_OF_BLOCK {
                    break;
                }
            }
            *out = if bits == 0 { NOT_HERE } else { (bits | (advance << 8)) as u16 };
        }
        table
    }

    /// An entry whose low byte is the bits to take, and how far the coefficient index moves. For a code that
    /// is not in the table, the index moves to a value at which no block ends.
    #[inline(always)]
    pub(super) fn entry(&self, bits: u64) -> (u64, u32) {
        let entry = self.entries[(bits >> (64 - TABLE_BITS)) as usize];
        (entry.into(), u32::from(entry >> 8))
    }
}
