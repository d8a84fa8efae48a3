//! Decoding or skipping the 64 coefficients of one block.

use super::Irregular;
use super::bits::Bits;
use super::huffman::{END_OF_BLOCK, Table};
use super::pairs::PAIR_BITS;
use super::skips::SKIPS;

/// Lookups per refill.
const LOOKUPS: u32 = 56 / PAIR_BITS;
/// Where writes beyond the block go: one slot after it.
const NOWHERE: u8 = 64;

/// Position in the block of every index in coding order. The end-of-block symbol moves the index past the end of
/// the block; those positions map to the spare slot.
static ORDER: [u8; 256] = {
    let mut order = [NOWHERE; 256];
    let (mut row, mut column, mut index) = (0_u8, 0_u8, 0);
    while index < 64 {
        order[index] = row * 8 + column;
        // The zigzag path runs along the diagonals: up where row + column is even, down where it is odd. It turns
        // at the edges.
        let up = (row + column).is_multiple_of(2);
        if up {
            if column == 7 {
                row += 1;
            } else if row == 0 {
                column += 1;
            } else {
                row -= 1;
                column += 1;
            }
        } else if row == 7 {
            column += 1;
        } else if column == 0 {
            row += 1;
        } else {
            row += 1;
            column -= 1;
        }
        index += 1;
    }
    order
};

/// The coding order of the first 64 indices.
pub(super) fn order(index: usize) -> usize {
    usize::from(ORDER[index & 63])
}

/// The coefficients of a block in row order, all zero between blocks, and room for stray writes: enough that a
/// byte cannot index beyond it.
#[repr(C, align(64))]
pub(super) struct Block {
    pub(super) coefficients: [i16; 256],
    /// Whether anything but the first coefficient was written.
    pub(super) has_ac: bool,
}

impl Default for Block {
    fn default() -> Self {
        Block { coefficients: [0; 256], has_ac: false }
    }
}

impl Block {
    pub(super) fn clear(&mut self) {
        self.coefficients[..64].fill(0);
        self.has_ac = false;
    }
}

/// Decodes one difference of first coefficients. The caller has refilled.
#[inline(always)]
fn difference(bits: &mut Bits<'_>, table: &Table) -> Result<i32, Irregular> {
    let top = bits.peek();
    let mut entry = table.entry(top);
    if entry.total() == 0 {
        entry = table.long_entry(top).ok_or(Irregular)?;
    }
    bits.take(entry.raw());
    Ok(entry.value(top))
}

/// Decodes a block whose coefficients are all zero on entry. `prediction` carries the first coefficient over.
#[inline(always)]
pub(super) fn decode(
    bits: &mut Bits<'_>,
    dc: &Table,
    ac: &Table,
    prediction: &mut i32,
    block: &mut Block,
) -> Result<(), Irregular> {
    let mut reader = *bits;
    reader.refill();
    *prediction = prediction.wrapping_add(difference(&mut reader, dc)?);
    let coefficients = &mut block.coefficients;
    coefficients[0] = *prediction as i16;
    let pairs = &*ac.pairs;

    let mut index = 0_u8;
    'block: loop {
        reader.refill();
        // Lookups in the pair table take at most 11 bits each, so one refill of 56 is enough for all.
        for _ in 0..LOOKUPS {
            let top = reader.peek();
            let pair = pairs.entry(top);
            if pair.total() == 0 {
                index = single(&mut reader, ac, index, coefficients)?;
                if index >= 63 {
                    break 'block;
                }
                continue 'block;
            }
            reader.take(pair.raw());
            // Indices stay below 63 + 128, so a byte is enough.
            let first = index.wrapping_add(pair.first_advance());
            index = index.wrapping_add(pair.advance());
            coefficients[position(first)] = pair.first_value();
            coefficients[position(index)] = pair.value();
            if index >= 63 {
                // The first of two coefficients ended the block: the second symbol belongs to the next block. (It
                // was written to the spare slot.)
                if first >= 63 && pair.first_total() != pair.total() {
                    reader.untake(top, pair.raw());
                    reader.take(pair.first_total().into());
                    index = first;
                }
                break 'block;
            }
        }
    }
    *bits = reader;
    block.has_ac = u32::from(index) != END_OF_BLOCK;
    if (64..END_OF_BLOCK).contains(&index.into()) { Err(Irregular) } else { Ok(()) }
}

/// Where the coefficient of an index belongs.
#[inline(always)]
fn position(index: u8) -> usize {
    usize::from(ORDER[usize::from(index)])
}

/// Decodes a single coefficient of any length; returns its index.
#[inline(always)]
fn single(
    reader: &mut Bits<'_>,
    ac: &Table,
    index: u8,
    coefficients: &mut [i16; 256],
) -> Result<u8, Irregular> {
    reader.refill();
    let top = reader.peek();
    let mut entry = ac.entry(top);
    if entry.total() == 0 {
        entry = ac.long_entry(top).ok_or(Irregular)?;
    }
    reader.take(entry.raw());
    let index = index.wrapping_add(entry.advance() as u8);
    coefficients[position(index)] = entry.value(top) as i16;
    Ok(index)
}

/// Skips a block: only the first coefficient and the length matter.
#[inline(always)]
pub(super) fn skip(
    bits: &mut Bits<'_>,
    dc: &Table,
    ac: &Table,
    prediction: &mut i32,
) -> Result<(), Irregular> {
    let mut reader = *bits;
    reader.refill();
    *prediction = prediction.wrapping_add(difference(&mut reader, dc)?);
    let skips = ac.skips.as_deref().ok_or(Irregular)?;

    let mut index = 0_u32;
    'block: loop {
        reader.refill();
        for _ in 0..SKIPS {
            let top = reader.peek();
            let (entry, advance) = skips.entry(top);
            let after = index + advance;
            if after < 63 {
                reader.take(entry);
                index = after;
                continue;
            }
            // The block may end within a lookup, by its last coefficient; the symbols after that belong to the next
            // block. So a lookup that reaches the end is only used if it stops exactly there.
            if after == 63 || (END_OF_BLOCK..END_OF_BLOCK + 63).contains(&after) {
                reader.take(entry);
                break 'block;
            }
            reader.refill();
            let top = reader.peek();
            let mut entry = ac.entry(top);
            if entry.total() == 0 {
                entry = ac.long_entry(top).ok_or(Irregular)?;
            }
            reader.take(entry.raw());
            index += entry.advance();
            if index >= 63 {
                if (64..END_OF_BLOCK).contains(&index) {
                    return Err(Irregular);
                }
                break 'block;
            }
            continue 'block;
        }
    }
    *bits = reader;
    Ok(())
}

/// The two loops over a block compiled for newer instructions, as separate functions so that the loops can use
/// all registers.
#[cfg(all(target_arch = "x86_64", not(infeed_portable)))]
pub(super) mod avx2 {
    use super::{Bits, Block, Irregular, Table};

    #[inline(never)]
    #[target_feature(enable = "avx2,bmi1,bmi2,movbe")]
    pub(in super::super) fn decode(
        bits: &mut Bits<'_>,
        dc: &Table,
        ac: &Table,
        prediction: &mut i32,
        block: &mut Block,
    ) -> Result<(), Irregular> {
        super::decode(bits, dc, ac, prediction, block)
    }

    #[inline(never)]
    #[target_feature(enable = "avx2,bmi1,bmi2,movbe")]
    pub(in super::super) fn skip(
        bits: &mut Bits<'_>,
        dc: &Table,
        ac: &Table,
        prediction: &mut i32,
    ) -> Result<(), Irregular> {
        super::skip(bits, dc, ac, prediction)
    }
}
