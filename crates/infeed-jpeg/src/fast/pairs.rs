//! Two coefficients per lookup.
//!
//! Huffman decoding is a chain: the next code is only found once the length of this one is known, and each
//! link costs a table lookup. When two symbols together, extra bits included, fit into the index, one lookup
//! gives both with their values already decoded, and the chain is half as long.

use super::huffman::{END_OF_BLOCK, Entry, TABLE_BITS};

/// How many bits index the table.
pub(super) const PAIR_BITS: u32 = 11;

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
/// A single coefficient is its own second: it is written twice, which is cheaper than to ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pair(u64);

impl Pair {
    fn new(first: Symbol, second: Option<Symbol>) -> Self {
        let both = match second {
            Some(second) => Symbol {
                bits: first.bits + second.bits,
                advance: first.advance + second.advance,
                value: second.value,
            },
            None => first,
        };
        Pair(
            u64::from(both.bits)
                | u64::from(first.advance) << 8
                | u64::from(both.advance) << 16
                | u64::from(first.bits) << 24
                | u64::from(first.value as u16) << 32
                | u64::from(both.value as u16) << 48,
        )
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

/// A symbol with its extra bits.
#[derive(Clone, Copy)]
struct Symbol {
    bits: u32,
    advance: u32,
    value: i16,
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
    pub(super) fn build(&mut self, single: &[Entry; 1 << TABLE_BITS]) {
        // What starts at some bit of the index only depends on the bits from there on, with zeros behind.
        let symbol = |bits: u32, available: u32| {
            let entry = single[(bits >> (PAIR_BITS - TABLE_BITS)) as usize];
            let fits = entry.total() != 0 && entry.total() <= available;
            let value = entry.value(u64::from(bits) << (64 - PAIR_BITS)) as i16;
            fits.then_some(Symbol { bits: entry.total(), advance: entry.advance(), value })
        };
        for (index, out) in self.entries.iter_mut().enumerate() {
            *out = match symbol(index as u32, PAIR_BITS) {
                None => Pair(0),
                Some(first) if first.advance >= END_OF_BLOCK => Pair::new(first, None),
                Some(first) => {
                    let rest = (index << first.bits) & ((1 << PAIR_BITS) - 1);
                    Pair::new(first, symbol(rest as u32, PAIR_BITS - first.bits))
                }
            };
        }
    }

    #[inline(always)]
    pub(super) fn entry(&self, bits: u64) -> Pair {
        self.entries[(bits >> (64 - PAIR_BITS)) as usize]
    }
}
