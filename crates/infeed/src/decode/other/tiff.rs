//! What the tags of a TIFF say that the crate `image` does not look at.

use infeed_core::{Channels, Error, Result};

/// The tags that matter here.
const FILL_ORDER: u64 = 266;
const PLANES: u64 = 284;
const TILE_WIDTH: u64 = 322;
const EXTRA_SAMPLES: u64 = 338;

/// What was found in the first directory.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Facts {
    /// The lowest bit of a byte is the first.
    reversed: bool,
    /// Every channel has tiles of its own.
    planar_tiles: bool,
    /// Colours were multiplied by alpha.
    pub(super) premultiplied: bool,
}

impl Facts {
    /// Reads the tags. A file that makes no sense has none: the decoder says what is wrong with it.
    pub(super) fn read(bytes: &[u8]) -> Facts {
        let value = |tag: u64| find(bytes, tag);
        Facts {
            reversed: value(FILL_ORDER) == Some(2),
            planar_tiles: value(PLANES) == Some(2) && value(TILE_WIDTH).is_some(),
            premultiplied: value(EXTRA_SAMPLES) == Some(1),
        }
    }

    /// Refuses what would be read wrongly.
    pub(super) fn check(&self) -> Result<()> {
        let what = if self.reversed {
            "fill order 2 (the lowest bit of a byte first)"
        } else if self.planar_tiles {
            "tiles that hold one channel each"
        } else {
            return Ok(());
        };
        Err(Error::sample(format!("unsupported TIFF: {what}; convert it to 8- or 16-bit RGB")))
    }
}

/// The first value of a tag in the first directory, if it is a number.
fn find(bytes: &[u8], tag: u64) -> Option<u64> {
    let little = bytes.first() == Some(&b'I');
    let number = |at: u64, size: u64| -> Option<u64> {
        let start = usize::try_from(at).ok()?;
        let digits = bytes.get(start..start.checked_add(size as usize)?)?.iter();
        let add = |sum: u64, byte: &u8| (sum << 8) | u64::from(*byte);
        Some(if little { digits.rev().fold(0, add) } else { digits.fold(0, add) })
    };
    // A file for offsets of 64 bits has wider numbers everywhere.
    let big = number(2, 2)? == 43;
    let (word, count_size, entry) = if big { (8, 8, 20) } else { (4, 2, 12) };
    let directory = number(if big { 8 } else { 4 }, word)?;
    let count = number(directory, count_size)?.min(bytes.len() as u64 / entry);
    let first = directory.checked_add(count_size)?;
    for i in 0..count {
        let at = first.checked_add(i * entry)?;
        if number(at, 2)? != tag {
            continue;
        }
        let size = match number(at + 2, 2)? {
            1 => 1,
            3 => 2,
            4 => 4,
            16 => 8,
            _ => return None,
        };
        let (values, place) = (number(at + 4, word)?, at + 4 + word);
        // What does not fit into the entry lies elsewhere.
        let inside = values.checked_mul(size)? <= word;
        return number(if inside { place } else { number(place, word)? }, size);
    }
    None
}

/// Divides colours by alpha, with Pillow's integer arithmetic. Samples of 16 bits that are asked for with 8 are divided
/// as Pillow does it: their high bytes alone.
pub(super) fn unmultiply(data: &mut [u8], channels: u8, wide: bool, wanted: Channels) {
    match (channels, wide) {
        (4, false) => data.as_chunks_mut::<4>().0.iter_mut().for_each(|[colours @ .., alpha]| {
            colours.iter_mut().for_each(|colour| *colour = divided(*colour, *alpha));
        }),
        // Gray keeps its value where nothing shows.
        (2, false) => data.as_chunks_mut::<2>().0.iter_mut().for_each(|[gray, alpha]| {
            if *alpha != 0 {
                *gray = divided(*gray, *alpha);
            }
        }),
        (2 | 4, true) => {
            for pixel in data.chunks_exact_mut(usize::from(channels) * 2) {
                let (samples, _) = pixel.as_chunks_mut::<2>();
                let Some((alpha, colours)) = samples.split_last_mut() else { continue };
                let alpha = u16::from_ne_bytes(*alpha);
                for sample in colours {
                    let colour = u16::from_ne_bytes(*sample);
                    let whole = match wanted {
                        Channels::Stored if alpha == 0 => 0,
                        Channels::Stored => (u32::from(colour) * 65535 / u32::from(alpha)).min(65535) as u16,
                        _ => u16::from(divided((colour >> 8) as u8, (alpha >> 8) as u8)) << 8,
                    };
                    *sample = whole.to_ne_bytes();
                }
            }
        }
        _ => {}
    }
}

fn divided(colour: u8, alpha: u8) -> u8 {
    if alpha == 0 {
        return 0;
    }
    (u32::from(colour) * 255 / u32::from(alpha)).min(255) as u8
}
