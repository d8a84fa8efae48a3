//! Huffman tables that give everything a coefficient needs in one lookup.

use super::pairs::PairTable;
use super::skips::SkipTable;

/// How many bits index a table. Longer codes are rare and are found by a slower search.
pub(super) const TABLE_BITS: u32 = 10;
/// What the end-of-block symbol adds to the coefficient index: far beyond any run.
pub(super) const END_OF_BLOCK: u32 = 128;

/// What one code means, packed so that the bits to take come first.
///
/// | bits  | meaning                                                        |
/// |-------|----------------------------------------------------------------|
/// | 0-7   | bits to take: code and extra bits; 0 if the code is not here   |
/// | 8-15  | how far the coefficient index moves                            |
/// | 16-23 | length of the code alone                                       |
/// | 24-31 | 63 minus the number of extra bits                              |
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Entry(u32);

impl Entry {
    fn new(length: u32, advance: u32, extra: u32) -> Self {
        Entry((length + extra) | (advance << 8) | (length << 16) | ((63 - extra) << 24))
    }

    /// Bits to take in total; 0 when the code is longer than the table or does not exist.
    #[inline(always)]
    pub(super) fn total(self) -> u32 {
        self.0 & 0xFF
    }

    /// The entry as a number whose low byte is the total.
    #[inline(always)]
    pub(super) fn raw(self) -> u64 {
        u64::from(self.0)
    }

    /// How far the coefficient index moves: the run of zeros, plus one for the coefficient itself.
    #[inline(always)]
    pub(super) fn advance(self) -> u32 {
        (self.0 >> 8) & 0xFF
    }

    #[inline(always)]
    pub(super) fn length(self) -> u32 {
        (self.0 >> 16) & 0xFF
    }

    /// The signed value of the extra bits that follow the code at the top of `bits`.
    ///
    /// A leading 1 means the value as it is, a leading 0 the value minus (2^n - 1), which is the negated
    /// complement of the bits: complement, shift, negate, without a branch. No extra bits give 0.
    #[inline(always)]
    pub(super) fn value(self, bits: u64) -> i32 {
        let extra = bits << (self.length() & 63);
        let negative = !((extra as i64) >> 63) as u64;
        // Two shifts because a single one cannot shift all 64 bits out.
        let magnitude = ((extra ^ negative) >> ((self.0 >> 24) & 63)) >> 1;
        (magnitude ^ negative).wrapping_sub(negative) as i32
    }
}

/// The kind of symbols in a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    Dc,
    Ac,
}

impl Class {
    /// The table entry of a symbol; `None` for symbols that no 8-bit file needs.
    fn entry(self, length: u32, symbol: u8) -> Option<Entry> {
        let (run, extra) = (u32::from(symbol >> 4), u32::from(symbol & 15));
        match self {
            Class::Dc if symbol <= 11 => Some(Entry::new(length, 0, u32::from(symbol))),
            Class::Ac if symbol == 0 => Some(Entry::new(length, END_OF_BLOCK, 0)),
            // Sixteen zeros: a zero coefficient after a run of fifteen. The other sizes of zero are invalid.
            Class::Ac if symbol == 0xF0 => Some(Entry::new(length, 16, 0)),
            Class::Ac if (1..=10).contains(&extra) => Some(Entry::new(length, run + 1, extra)),
            _ => None,
        }
    }
}

/// A Huffman table ready for decoding.
pub(super) struct Table {
    /// Counts and symbols as the file states them, to recognise the same table in the next file.
    definition: Vec<u8>,
    /// The last definition that was not built because its file was small.
    passed: Vec<u8>,
    class: Class,
    entries: Box<[Entry; 1 << TABLE_BITS]>,
    /// For every length above [`TABLE_BITS`]: one past the last code, aligned to 16 bits, and what to add to
    /// a code to get its index among the long entries.
    limits: [u32; 17],
    offsets: [i32; 17],
    long: Vec<Entry>,
    /// Two symbols at a time, for AC tables.
    pub(super) pairs: Box<PairTable>,
    /// Even more symbols at a time, for blocks that are skipped. Built when first used.
    pub(super) skips: Option<Box<SkipTable>>,
}

impl Table {
    pub(super) fn new(class: Class) -> Self {
        Table {
            definition: Vec::new(),
            passed: Vec::new(),
            class,
            entries: Box::new([Entry::default(); 1 << TABLE_BITS]),
            limits: [0; 17],
            offsets: [0; 17],
            long: Vec::new(),
            pairs: PairTable::new(),
            skips: None,
        }
    }

    /// Takes a definition (sixteen counts, then the symbols). `None` if it is not one for 8-bit files, or if
    /// it is new and the file is so small that libjpeg-turbo, with its smaller tables, is faster. The table is
    /// built for the second small file in a row with the same definition, because more are likely to follow.
    pub(super) fn define(&mut self, definition: &[u8], small: bool) -> Option<()> {
        if self.definition == definition {
            return Some(());
        }
        if small && !cfg!(infeed_portable) && self.passed != definition {
            self.passed.clear();
            self.passed.extend_from_slice(definition);
            return None;
        }
        self.definition.clear();
        self.skips = None;
        self.build(definition)?;
        if self.class == Class::Ac {
            self.pairs.build(&self.entries);
        }
        self.definition.extend_from_slice(definition);
        Some(())
    }

    fn build(&mut self, definition: &[u8]) -> Option<()> {
        let (counts, mut symbols) = definition.split_at_checked(16)?;
        self.entries.fill(Entry::default());
        self.long.clear();
        self.limits = [0; 17];
        let mut code = 0_u32;
        for length in 1..=16_u32 {
            let (these, rest) = symbols.split_at_checked(usize::from(counts[length as usize - 1]))?;
            symbols = rest;
            self.offsets[length as usize] = self.long.len() as i32 - code as i32;
            for &symbol in these {
                let entry = self.class.entry(length, symbol)?;
                if code >= 1 << length {
                    return None;
                }
                if length <= TABLE_BITS {
                    let spare = TABLE_BITS - length;
                    let first = (code << spare) as usize;
                    self.entries[first..first + (1 << spare)].fill(entry);
                } else {
                    self.long.push(entry);
                }
                code += 1;
            }
            self.limits[length as usize] = code << (16 - length);
            code <<= 1;
        }
        symbols.is_empty().then_some(())
    }

    /// The entry of the code at the top of `bits`; its total is 0 if the code is long or invalid.
    #[inline(always)]
    pub(super) fn entry(&self, bits: u64) -> Entry {
        self.entries[(bits >> (64 - TABLE_BITS)) as usize]
    }

    /// The entry of a code that is longer than the table.
    #[cold]
    #[inline(never)]
    pub(super) fn long_entry(&self, bits: u64) -> Option<Entry> {
        let top = (bits >> 48) as u32;
        for length in TABLE_BITS + 1..=16 {
            if top < self.limits[length as usize] {
                let code = (top >> (16 - length)) as i32;
                return self.long.get(usize::try_from(code + self.offsets[length as usize]).ok()?).copied();
            }
        }
        None
    }

    /// Builds [`Table::skips`] if necessary.
    pub(super) fn prepare_skipping(&mut self) {
        if self.skips.is_none() {
            self.skips = Some(SkipTable::new(&self.entries));
        }
    }
}
