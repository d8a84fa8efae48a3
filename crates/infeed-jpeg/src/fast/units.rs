//! The entropy decoder's loop over the units of a scan: which are decoded and which are skipped.

use super::Irregular;
use super::bits::{Bits, Unstuffed};
use super::block::{self, Block};
use super::frame::{Frame, Tables};
use super::huffman::Table;
use super::planes::Planes;
use super::transform::{Place, transform};

/// One block of a unit.
#[derive(Clone, Copy)]
struct Slot<'a> {
    component: usize,
    dc: &'a Table,
    ac: &'a Table,
    /// Position of the block within the unit.
    column: usize,
    row: usize,
    part: Needed,
}

/// Which part of a block is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Needed {
    Nothing,
    /// Only the first coefficient: the block becomes a single sample.
    First,
    All,
}

/// Pairs of blocks in the largest batch: six blocks.
const MOST_PAIRS: usize = 3;

/// Reads units one after the other.
pub(super) struct Units<'a> {
    tables: &'a Tables,
    frame: &'a Frame,
    scan: &'a Unstuffed,
    slots: Vec<Slot<'a>>,
    /// Which blocks of a batch are transformed together.
    pairs: Vec<[usize; 2]>,
    /// Units per batch: two where a single unit has no partner for each of its blocks.
    pub(super) batch: usize,
    bits: Bits<'a>,
    segment: usize,
    /// Units left in the current restart interval.
    left: usize,
    predictions: [i32; 3],
}

impl<'a> Units<'a> {
    /// Starts at the restart interval that holds unit `first`; also returns the unit that it starts at.
    pub(super) fn new(
        frame: &'a Frame,
        tables: &'a Tables,
        scan: &'a Unstuffed,
        chroma: bool,
        first: usize,
    ) -> Result<(Self, usize), Irregular> {
        let mut slots = Vec::new();
        for (component, blocks) in frame.components.iter().enumerate() {
            let part = match blocks.size {
                _ if component != 0 && !chroma => Needed::Nothing,
                1 => Needed::First,
                _ => Needed::All,
            };
            for row in 0..blocks.down {
                for column in 0..blocks.across {
                    let (dc, ac) = (&tables.dc[blocks.dc], &tables.ac[blocks.ac]);
                    slots.push(Slot { component, dc, ac, column, row, part });
                }
            }
        }
        let (batch, pairs) = pair_up(&slots);
        let segment = first.checked_div(frame.interval).unwrap_or(0);
        let start = scan.segments.get(segment).ok_or(Irregular)?.start;
        let left = if frame.interval == 0 { usize::MAX } else { frame.interval };
        let bits = Bits::new(&scan.data, start);
        let units =
            Units { tables, frame, scan, slots, pairs, batch, bits, segment, left, predictions: [0; 3] };
        Ok((units, segment * frame.interval))
    }

    /// Whether the scan ends properly here: only padding bits are left, followed by the end marker.
    pub(super) fn ends_properly(&self) -> bool {
        let last = self.scan.segments.len() - 1;
        self.segment == last && self.in_last_byte() && self.scan.marker == Some(crate::markers::EOI)
    }

    fn in_last_byte(&self) -> bool {
        let end = self.scan.segments[self.segment].end * 8;
        let position = self.bits.position();
        position <= end && end - position < 8
    }

    /// Moves to the next restart interval if one is due.
    #[inline(always)]
    fn restart_if_due(&mut self) -> Result<(), Irregular> {
        if self.left == 0 {
            self.restart()?;
        }
        self.left -= 1;
        Ok(())
    }

    #[cold]
    fn restart(&mut self) -> Result<(), Irregular> {
        if !self.in_last_byte() {
            return Err(Irregular);
        }
        self.segment += 1;
        let start = self.scan.segments.get(self.segment).ok_or(Irregular)?.start;
        self.bits = Bits::new(&self.scan.data, start);
        self.left = self.frame.interval;
        self.predictions = [0; 3];
        Ok(())
    }

    /// Fails if more bits were taken than the interval has, or a prediction has left the range of a file.
    #[inline(always)]
    fn check(&self) -> Result<(), Irregular> {
        let within = self.predictions.iter().all(|&p| p == i32::from(p as i16));
        if within && self.bits.position() <= self.scan.segments[self.segment].end * 8 {
            Ok(())
        } else {
            Err(Irregular)
        }
    }

    #[inline(always)]
    fn skip_any<const SIMD: bool>(&mut self, count: usize) -> Result<(), Irregular> {
        for _ in 0..count {
            self.restart_if_due()?;
            for slot in &self.slots {
                skip_block::<SIMD>(&mut self.bits, slot.dc, slot.ac, &mut self.predictions[slot.component])?;
            }
            self.check()?;
        }
        Ok(())
    }

    #[inline(always)]
    fn decode_any<const SIMD: bool>(
        &mut self,
        count: usize,
        row: usize,
        blocks: &mut [Block],
        planes: &mut Planes,
    ) -> Result<(), Irregular> {
        let mut sound = true;
        let mut places = [[Place::default(); 2]; MOST_PAIRS];
        for (places, pair) in places.iter_mut().zip(&self.pairs) {
            *places = [self.place(pair[0], row, planes), self.place(pair[1], row, planes)];
        }
        for start in (0..count).step_by(self.batch) {
            for unit in 0..self.batch.min(count - start) {
                self.restart_if_due()?;
                let blocks = &mut blocks[unit * self.slots.len()..];
                for (slot, block) in self.slots.iter().zip(blocks) {
                    let prediction = &mut self.predictions[slot.component];
                    if slot.part == Needed::All {
                        decode_block::<SIMD>(&mut self.bits, slot.dc, slot.ac, prediction, block)?;
                    } else {
                        skip_block::<SIMD>(&mut self.bits, slot.dc, slot.ac, prediction)?;
                        block.coefficients[0] = *prediction as i16;
                    }
                }
                self.check()?;
            }
            for (&pair, &places) in self.pairs.iter().zip(&places) {
                sound &= transform::<SIMD>(pair, places, start, blocks, planes);
            }
        }
        if sound { Ok(()) } else { Err(Irregular) }
    }

    /// Where a block of a batch goes in unit row `row`.
    fn place(&self, index: usize, row: usize, planes: &Planes) -> Place<'a> {
        let slot = &self.slots[index % self.slots.len()];
        let component = &self.frame.components[slot.component];
        let plane = &planes.planes[slot.component];
        let column = index / self.slots.len() * component.across + slot.column;
        Place {
            offset: plane.block(column, row * component.down + slot.row),
            step: component.across * plane.size,
            stride: plane.stride,
            size: plane.size,
            steps: &self.tables.steps[component.steps],
        }
    }

    /// Skips units.
    pub(super) fn skip(&mut self, count: usize) -> Result<(), Irregular> {
        self.skip_any::<false>(count)
    }

    /// Decodes units into consecutive places of the planes, from the left of the window in unit row `row`.
    pub(super) fn decode(
        &mut self,
        count: usize,
        row: usize,
        blocks: &mut [Block],
        planes: &mut Planes,
    ) -> Result<(), Irregular> {
        self.decode_any::<false>(count, row, blocks, planes)
    }

    /// [`Units::skip`] with newer instructions: the loop consists mostly of variable shifts.
    #[cfg(all(target_arch = "x86_64", not(infeed_portable)))]
    #[target_feature(enable = "avx2,bmi1,bmi2,movbe")]
    pub(super) fn skip_avx2(&mut self, count: usize) -> Result<(), Irregular> {
        self.skip_any::<true>(count)
    }

    /// [`Units::decode`] with newer instructions.
    #[cfg(all(target_arch = "x86_64", not(infeed_portable)))]
    #[target_feature(enable = "avx2,bmi1,bmi2,movbe")]
    pub(super) fn decode_avx2(
        &mut self,
        count: usize,
        row: usize,
        blocks: &mut [Block],
        planes: &mut Planes,
    ) -> Result<(), Irregular> {
        self.decode_any::<true>(count, row, blocks, planes)
    }
}

/// [`block::decode`], compiled for the instructions that may be used.
#[inline(always)]
fn decode_block<const SIMD: bool>(
    bits: &mut Bits<'_>,
    dc: &Table,
    ac: &Table,
    prediction: &mut i32,
    block: &mut Block,
) -> Result<(), Irregular> {
    #[cfg(all(target_arch = "x86_64", not(infeed_portable)))]
    if SIMD {
        // SAFETY: only functions that need the same instructions themselves set `SIMD`.
        return unsafe { block::avx2::decode(bits, dc, ac, prediction, block) };
    }
    block::decode(bits, dc, ac, prediction, block)
}

/// [`block::skip`], compiled for the instructions that may be used.
#[inline(always)]
fn skip_block<const SIMD: bool>(
    bits: &mut Bits<'_>,
    dc: &Table,
    ac: &Table,
    prediction: &mut i32,
) -> Result<(), Irregular> {
    #[cfg(all(target_arch = "x86_64", not(infeed_portable)))]
    if SIMD {
        // SAFETY: only functions that need the same instructions themselves set `SIMD`.
        return unsafe { block::avx2::skip(bits, dc, ac, prediction) };
    }
    block::skip(bits, dc, ac, prediction)
}

/// Pairs every wanted block with one of equal row length, across two units if one is not enough.
fn pair_up(slots: &[Slot<'_>]) -> (usize, Vec<[usize; 2]>) {
    let count = slots.len();
    let lumas = slots.iter().filter(|slot| slot.component == 0).count();
    let wanted = slots.iter().filter(|slot| slot.part != Needed::Nothing).count();
    if lumas == 1 {
        return (2, (0..wanted).map(|index| [index, index + count]).collect());
    }
    (1, (0..wanted).step_by(2).map(|index| [index, index + 1]).collect())
}

/// The number of blocks in a batch.
pub(super) fn blocks_per_batch(frame: &Frame) -> usize {
    let per_unit: usize = frame.components.iter().map(|component| component.across * component.down).sum();
    per_unit * 2
}
