//! Two coefficients per lookup.
//!
//! Huffman decoding is a dependency chain: the next code is only found once the length of this one is known, and
//! each step costs a table lookup. When two symbols together, extra bits included, fit into the index, one lookup
//! gives both with their values already decoded, and the chain is half as long.

use super::huffman::{END_OF_BLOCK, Entry, TABLE_BITS};

/// How many bits index the table.
pub(super) const PAIR_BITS: u32 = 10;

/// One or two decoded coefficients.
///
/// | bits  | meaning                                                                   |
/// |-------|---------------------------------------------------------------------------|
/// | 0-7   | bits to take; 0 if not even one symbol fits                               |
/// | 8-15  | how far the coefficient index moves to the first coefficient              |
/// | 16-23 | how far it moves to the second                                            |
/// | 24-31 | bits of the first symbol alone                                            |
/// | 32-47 | value of the first coefficient                                            |
/// | 48-63 | value of the second                                                       |
///
/// A single coefficient is stored as both: it is written twice, which is cheaper than a branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pair(u64);

impl Pair {
    /// A coefficient on its own; nothing if its value is not wholly inside the index.
    fn single(entry: Entry, index: usize) -> Self {
        if entry.total() == 0 || entry.total() > PAIR_BITS {
            return Pair(0);
        }
        let (bits, advance) = (u64::from(entry.total()), u64::from(entry.advance()));
        let value = u64::from(entry.value((index as u64) << (64 - PAIR_BITS)) as u16);
        Pair(bits | advance << 8 | advance << 16 | bits << 24 | value << 32 | value << 48)
    }

    /// This coefficient followed by another one, if both are inside the index together.
    fn then(self, next: Pair) -> Self {
        let bits = self.total() + next.total();
        let ends = u32::from(self.advance()) >= END_OF_BLOCK;
        if next.total() == 0 || u32::from(bits) > PAIR_BITS || ends {
            return self;
        }
        let advance = u64::from(self.advance()) + u64::from(next.advance());
        const FIRST: u64 = 0x0000_FFFF_FF00_FF00;
        Pair((self.0 & FIRST) | u64::from(bits) | advance << 16 | (next.0 & 0xFFFF << 48))
    }

    /// The entry as a number whose low byte is the bits to take.
    #[inline(always)]
    pub(super) fn raw(self) -> u64 {
        self.0
    }

    #[inline(always)]
    pub(super) fn total(self) -> u8 {
        self.0 as u8
    }

    #[inline(always)]
    pub(super) fn first_advance(self) -> u8 {
        (self.0 >> 8) as u8
    }

    #[inline(always)]
    pub(super) fn advance(self) -> u8 {
        (self.0 >> 16) as u8
    }

    #[inline(always)]
    pub(super) fn first_total(self) -> u8 {
        (self.0 >> 24) as u8
    }

    #[inline(always)]
    pub(super) fn first_value(self) -> i16 {
        (self.0 >> 32) as i16
    }

    #[inline(always)]
    pub(super) fn value(self) -> i16 {
        (self.0 >> 48) as i16
    }
}

/// The lookup table.
pub(super) struct PairTable {
    entries: [Pair; 1 << PAIR_BITS],
}

impl PairTable {
    pub(super) fn new() -> Box<Self> {
        Box::new(PairTable { entries: [Pair(0); 1 << PAIR_BITS] })
    }

    /// Fills the table from that of single symbols.
    ///
    /// Many files have their own tables, and small files are decoded in the time that it takes to fill a few
    /// tables, so this has to be fast: all single coefficients first, then each with the next one.
    pub(super) fn build(&mut self, symbols: &[Entry; 1 << TABLE_BITS]) {
        let mut singles = [Pair(0); 1 << PAIR_BITS];
        for (index, single) in singles.iter_mut().enumerate() {
            *single = Pair::single(symbols[index >> (PAIR_BITS - TABLE_BITS)], index);
        }
        for (index, out) in self.entries.iter_mut().enumerate() {
            let first = singles[index];
            // The bits after the index are read as zeros: the next coefficient may be wrong, but then it does not fit.
            let rest = (index << first.total()) & ((1 << PAIR_BITS) - 1);
            *out = first.then(singles[rest]);
        }
    }

    #[inline(always)]
    pub(super) fn entry(&self, bits: u64) -> Pair {
        self.entries[(bits >> (64 - PAIR_BITS)) as usize]
    }
}
