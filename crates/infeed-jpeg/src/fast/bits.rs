//! Entropy-coded bytes: removing the byte stuffing, and reading bits.

use super::Irregular;
use memchr::memchr;

/// Zero bytes after the data, so that a refill near the end is still a plain eight-byte load.
const PADDING: usize = 16;

/// One restart interval (or the whole scan) inside [`Unstuffed::data`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Segment {
    pub(super) start: usize,
    pub(super) end: usize,
}

/// The entropy-coded data of a scan without byte stuffing and without markers.
#[derive(Default)]
pub(super) struct Unstuffed {
    pub(super) data: Vec<u8>,
    pub(super) segments: Vec<Segment>,
    /// The marker that ended the scan; `None` when the file ended first.
    pub(super) marker: Option<u8>,
}

impl Unstuffed {
    /// Copies the scan that starts at the first of `bytes`.
    ///
    /// A pass over the data costs about a percent of decoding it, and the bit reader then never has to check for
    /// 0xFF. Restart markers end a segment when they come in their proper order; anything else that is not a
    /// stuffed byte ends the scan.
    pub(super) fn fill(&mut self, bytes: &[u8], restarts: bool) -> Result<(), Irregular> {
        self.data.clear();
        self.data.try_reserve(bytes.len() + PADDING).map_err(|_| Irregular)?;
        self.segments.clear();
        self.marker = None;
        let mut start = 0;
        let mut rest = bytes;
        while let Some(at) = memchr(0xFF, rest) {
            match rest.get(at + 1) {
                Some(0x00) => self.data.extend_from_slice(&rest[..=at]),
                Some(&code) => {
                    self.data.extend_from_slice(&rest[..at]);
                    let expected = 0xD0 + (self.segments.len() % 8) as u8;
                    if !restarts || code != expected {
                        self.marker = Some(code);
                        rest = &[];
                        break;
                    }
                    self.segments.push(Segment { start, end: self.data.len() });
                    start = self.data.len();
                }
                None => {
                    self.data.extend_from_slice(&rest[..at]);
                    rest = &[];
                    break;
                }
            }
            rest = &rest[at + 2..];
        }
        self.data.extend_from_slice(rest);
        self.segments.push(Segment { start, end: self.data.len() });
        self.data.extend_from_slice(&[0; PADDING]);
        Ok(())
    }
}

/// A bit reader: the next bit is the top bit of `buffer`.
///
/// The fields are public to the block decoder, which keeps them in registers through a whole block.
#[derive(Clone, Copy)]
pub(super) struct Bits<'a> {
    data: &'a [u8],
    /// Index of the first byte that is not (fully) in `buffer`.
    next: usize,
    buffer: u64,
    /// Its low six bits are the number of valid bits in `buffer`; the bits of the buffer below those are a look-ahead
    /// at the same data. The upper bits are meaningless, see [`Bits::take`].
    count: u64,
}

impl<'a> Bits<'a> {
    pub(super) fn new(data: &'a [u8], start: usize) -> Self {
        Bits { data, next: start, buffer: 0, count: 0 }
    }

    /// Makes at least 56 bits available.
    ///
    /// Always loads eight bytes; only as many whole bytes as fit are counted. The partial byte below them is
    /// loaded again by the next refill, onto the same bits.
    #[inline(always)]
    pub(super) fn refill(&mut self) {
        let word = match self.data.get(self.next..self.next + 8) {
            Some(bytes) => u64::from_be_bytes(bytes.try_into().unwrap_or_default()),
            // Far past the end, which is detected at the end of the unit.
            None => 0,
        };
        self.buffer |= word >> (self.count & 63);
        self.next += ((!self.count & 63) >> 3) as usize;
        self.count = (self.count & 7) | 56;
    }

    /// The next bits, topmost first.
    #[inline(always)]
    pub(super) fn peek(&self) -> u64 {
        self.buffer
    }

    /// Takes as many bits as the low byte of a table entry says, which must be available.
    ///
    /// The whole entry is used: the shift reads only its low six bits, and the upper bits of the count are never
    /// read. Masking the byte first would cost two more instructions in the innermost loop.
    #[inline(always)]
    pub(super) fn take(&mut self, entry: u64) {
        self.buffer <<= entry & 63;
        self.count = self.count.wrapping_sub(entry);
    }

    /// Undoes taking `entry`; `top` is the value before it.
    #[inline(always)]
    pub(super) fn untake(&mut self, top: u64, entry: u64) {
        self.buffer = top;
        self.count = self.count.wrapping_add(entry);
    }

    /// How many bits of the data have been taken, counted from the start of the data.
    #[inline(always)]
    pub(super) fn position(&self) -> usize {
        self.next * 8 - (self.count & 63) as usize
    }
}
