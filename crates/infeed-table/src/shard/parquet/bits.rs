//! Parquet's hybrid of run-length encoding and bit-packing, used for levels and dictionary indices.

/// A run of numbers.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Run<'a> {
    /// One number, repeated.
    Same(u32, usize),
    /// Bit-packed numbers, with their count.
    Packed(&'a [u8], usize),
}

/// Iterates over the runs of numbers with `width` bits.
#[derive(Debug)]
pub(super) struct Runs<'a> {
    bytes: &'a [u8],
    width: usize,
}

impl<'a> Runs<'a> {
    /// Returns `None` if numbers have more than 32 bits.
    pub(super) fn new(bytes: &'a [u8], width: usize) -> Option<Self> {
        (width <= 32).then_some(Runs { bytes, width })
    }

    /// Returns the next run, with at most `left` numbers; `None` if the bytes end too early.
    pub(super) fn next(&mut self, left: usize) -> Option<Run<'a>> {
        let head = self.varint()?;
        let count = usize::try_from(head >> 1).ok()?;
        if head & 1 == 0 {
            let (value, rest) = self.bytes.split_at_checked(self.width.div_ceil(8))?;
            self.bytes = rest;
            let value = value.iter().rev().fold(0, |sum, byte| sum << 8 | u32::from(*byte));
            return (count > 0).then_some(Run::Same(value, count.min(left)));
        }
        let count = count.checked_mul(8)?.min(left);
        // The last run may end after the bytes that are needed.
        let need = count.checked_mul(self.width)?.div_ceil(8);
        let whole = (usize::try_from(head >> 1).ok()?).checked_mul(self.width)?.min(self.bytes.len());
        if need > whole || count == 0 {
            return None;
        }
        let (packed, rest) = self.bytes.split_at(whole);
        self.bytes = rest;
        Some(Run::Packed(packed, count))
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0u64;
        for shift in (0..35).step_by(7) {
            let (byte, rest) = self.bytes.split_first()?;
            self.bytes = rest;
            value |= u64::from(byte & 127) << shift;
            if byte & 128 == 0 {
                return Some(value);
            }
        }
        None
    }
}

/// Passes packed numbers to `each` in groups of eight; the last group may be partial. Stops if `each` returns false.
pub(super) fn unpack(width: usize, bytes: &[u8], count: usize, each: impl FnMut(&[u32; 8]) -> bool) -> bool {
    macro_rules! widths {
        ($($w:literal)*) => {
            match width {
                $($w => eights::<$w>(bytes, count, each),)*
                _ => false,
            }
        };
    }
    widths!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32)
}

fn eights<const W: usize>(bytes: &[u8], count: usize, mut each: impl FnMut(&[u32; 8]) -> bool) -> bool {
    let groups = count.div_ceil(8);
    // A number is extracted from the eight bytes at its start, so there must be bytes beyond the last one.
    let reach = 7 * W / 8 + 8;
    for group in 0..groups {
        let at = group * W;
        let numbers = match bytes.get(at..at + reach) {
            Some(bytes) => eight::<W>(bytes),
            None => {
                let mut padded = [0; 40];
                let rest = bytes.get(at..).unwrap_or_default();
                let len = rest.len().min(W);
                padded[..len].copy_from_slice(&rest[..len]);
                eight::<W>(&padded[..reach])
            }
        };
        if !each(&numbers) {
            return false;
        }
    }
    true
}

#[inline(always)]
fn eight<const W: usize>(bytes: &[u8]) -> [u32; 8] {
    let mask = ((1u64 << W) - 1) as u32;
    std::array::from_fn(|i| {
        let mut word = [0; 8];
        word.copy_from_slice(&bytes[i * W / 8..i * W / 8 + 8]);
        (u64::from_le_bytes(word) >> (i * W % 8)) as u32 & mask
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pack(numbers: &[u32], width: usize) -> Vec<u8> {
        let mut bits = vec![];
        for number in numbers {
            bits.extend((0..width).map(|bit| number >> bit & 1));
        }
        bits.chunks(8).map(|eight| eight.iter().rev().fold(0, |sum, bit| sum << 1 | *bit as u8)).collect()
    }

    proptest! {
        #[test]
        fn what_is_packed_is_unpacked(width in 0usize..=32, numbers in prop::collection::vec(any::<u32>(), 1..70)) {
            let mask = ((1u64 << width) - 1) as u32;
            let numbers: Vec<u32> = numbers.iter().map(|n| n & mask).collect();
            let bytes = pack(&numbers, width);
            let mut got = vec![];
            let done = unpack(width, &bytes, numbers.len(), |eight| {
                got.extend_from_slice(eight);
                true
            });
            prop_assert!(done);
            prop_assert_eq!(&got[..numbers.len()], &numbers[..]);
        }

        #[test]
        fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..60), width in 0usize..40) {
            let Some(mut runs) = Runs::new(&bytes, width) else { return Ok(()) };
            let mut left = 1000;
            while let Some(run) = runs.next(left) {
                let count = match run {
                    Run::Same(_, count) => count,
                    Run::Packed(packed, count) => {
                        unpack(width, packed, count, |_| true);
                        count
                    }
                };
                left -= count;
                if left == 0 {
                    break;
                }
            }
        }
    }

    #[test]
    fn runs_as_the_format_describes_them() {
        // The number 4, 100 times in 3 bits; then 0..8 packed.
        let bytes = [0b1100_1000, 1, 4, 0b11, 0b1000_1000, 0b1100_0110, 0b1111_1010];
        let mut runs = Runs::new(&bytes, 3).unwrap();
        assert_eq!(runs.next(108), Some(Run::Same(4, 100)));
        assert_eq!(runs.next(8), Some(Run::Packed(&bytes[4..], 8)));
        assert_eq!(runs.next(1), None);
    }
}
