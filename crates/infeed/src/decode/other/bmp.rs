//! What Pillow reads of a bitmap in another way than the crate `image`: colours of 5 and 6 bits, and run lengths that
//! leave pixels out.

use infeed_core::{Error, Result};

/// The size of the file's own header.
const FILE_HEADER: usize = 14;

/// What the headers say.
pub(super) struct Facts<'a> {
    bytes: &'a [u8],
    header: usize,
    bits: u16,
    compression: u32,
    /// The last row comes first.
    bottom_up: bool,
}

impl<'a> Facts<'a> {
    /// Reads the headers; nothing where they are of the oldest kind, which has neither 16 bits nor run lengths.
    pub(super) fn read(bytes: &'a [u8]) -> Option<Facts<'a>> {
        let header = u32_at(bytes, FILE_HEADER)? as usize;
        if header < 40 {
            return None;
        }
        Some(Facts {
            bytes,
            header,
            bits: u16::from_le_bytes(*bytes.get(28..30)?.first_chunk()?),
            compression: u32_at(bytes, 30)?,
            bottom_up: u32_at(bytes, 22)? as i32 >= 0,
        })
    }

    /// Whether the pixels are run lengths of places in a palette: RLE8 or RLE4.
    pub(super) fn is_run_length(&self) -> bool {
        matches!((self.compression, self.bits), (1, 8) | (2, 4))
    }

    /// Decodes run lengths into RGB. Pixels that are left out have the first colour.
    pub(super) fn read_runs(&self, width: usize, height: usize, out: &mut [u8]) -> Result<()> {
        let corrupt = || Error::sample("corrupt BMP: a run length leaves the picture");
        let palette = self.palette();
        let start = u32_at(self.bytes, 10).unwrap_or(u32::MAX) as usize;
        let mut data = self.bytes.get(start..).unwrap_or_default();
        out.as_chunks_mut::<3>().0.fill(palette[0]);
        let (mut x, mut y) = (0, 0);
        let mut put = |x: usize, y: usize, place: u8| {
            let row = if self.bottom_up { height - 1 - y } else { y };
            out[(row * width + x) * 3..][..3].copy_from_slice(&palette[usize::from(place)]);
        };
        // Of two pixels in a byte the first is the upper half.
        let half = |byte: u8, i: usize| if i.is_multiple_of(2) { byte >> 4 } else { byte & 15 };
        while y < height {
            let Some((&[count, value], rest)) = data.split_first_chunk() else {
                // Some programs leave out the mark of the end.
                if y + 1 == height && x >= width {
                    break;
                }
                return Err(Error::sample("BMP ends early: the file is truncated"));
            };
            data = rest;
            match (count, value) {
                (0, 0) => (x, y) = (0, y + 1),
                (0, 1) => break,
                (0, 2) => {
                    let Some((&[right, up], rest)) = data.split_first_chunk() else { continue };
                    data = rest;
                    (x, y) = (x + usize::from(right), y + usize::from(up));
                    if x > width || y >= height {
                        return Err(corrupt());
                    }
                }
                (0, count) => {
                    let count = usize::from(count);
                    let stored = if self.bits == 4 { count.div_ceil(2) } else { count };
                    let Some(values) = data.get(..stored) else {
                        return Err(Error::sample("BMP ends early: the file is truncated"));
                    };
                    // Padded to whole words, which the last ones of a file may lack.
                    data = data.get(stored.next_multiple_of(2)..).unwrap_or_default();
                    if x + count > width {
                        return Err(corrupt());
                    }
                    for i in 0..count {
                        put(x + i, y, if self.bits == 4 { half(values[i / 2], i) } else { values[i] });
                    }
                    x += count;
                }
                (count, value) => {
                    // Runs past the end of a row are cut: some programs write them.
                    let count = usize::from(count).min(width.saturating_sub(x));
                    for i in 0..count {
                        put(x + i, y, if self.bits == 4 { half(value, i) } else { value });
                    }
                    x += count;
                }
            }
        }
        Ok(())
    }

    /// RGB of every place. Places that the file does not have are black.
    fn palette(&self) -> [[u8; 3]; 256] {
        let stated = u32_at(self.bytes, 46).unwrap_or(0) as usize;
        let count = if stated == 0 { 1 << self.bits.min(8) } else { stated.min(256) };
        let stored = self.bytes.get(FILE_HEADER.saturating_add(self.header)..).unwrap_or_default();
        let mut palette = [[0; 3]; 256];
        for (colour, &[b, g, r, _]) in palette.iter_mut().zip(stored.as_chunks::<4>().0.iter().take(count)) {
            *colour = [r, g, b];
        }
        palette
    }

    /// Rescales colours of 5 and 6 bits in files of 16 bits: Pillow rounds down, the crate to the nearest.
    pub(super) fn round_down(&self, channels: u8, data: &mut [u8]) {
        if self.bits != 16 || channels < 3 {
            return;
        }
        let masks = match self.compression {
            0 => [0x7c00, 0x3e0, 0x1f],
            _ => [54, 58, 62].map(|at| u32_at(self.bytes, at).unwrap_or(0)),
        };
        let tables = masks.map(|mask| {
            let most = (1u32 << mask.count_ones().min(8)) - 1;
            let narrow = matches!(mask.count_ones(), 5 | 6);
            // From the eight bits that the crate made back to what the file has, and on to Pillow's eight.
            let down = |value: u32| (value * most + 127) / 255 * 255 / most;
            let table: [u8; 256] =
                std::array::from_fn(|i| if narrow { down(i as u32) as u8 } else { i as u8 });
            table
        });
        for pixel in data.chunks_exact_mut(channels.into()) {
            for (value, table) in pixel.iter_mut().zip(&tables) {
                *value = table[usize::from(*value)];
            }
        }
    }
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}
