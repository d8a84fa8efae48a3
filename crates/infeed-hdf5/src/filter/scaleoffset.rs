//! `scale-offset`: the least value is taken away, floats are made whole numbers of some digits, and what is left is packed
//! into as few bits as it needs.

use super::nbit::Bits;

/// The head of a packed chunk: bits, size of the least value, the least value, and room that is not used.
const HEAD: usize = 21;

/// Undoes the filter.
pub(super) fn undo(settings: &[u32], input: &[u8], out: &mut [u8]) -> Result<usize, String> {
    let wrong = || "its settings make no sense".to_owned();
    let [kind, scale, count, class, size, _, order, filled, fill @ ..] = settings else {
        return Err(wrong());
    };
    let (size, digits) = (*size as usize, *scale as i32);
    let float = *class == 1;
    if !matches!((float, size), (false, 1 | 2 | 4 | 8) | (true, 4 | 8)) {
        return Err(wrong());
    }
    if float && *kind != 0 {
        return Err("floats with a scale of powers of two are not known here".to_owned());
    }
    let total = (*count as usize).checked_mul(size).filter(|&total| total <= out.len());
    let out = &mut out[..total.ok_or_else(|| "more bytes than a chunk has".to_owned())?];
    let (head, packed) = input.split_at_checked(HEAD).ok_or_else(|| "the chunk is cut short".to_owned())?;
    let bits = u32::from_le_bytes([head[0], head[1], head[2], head[3]]);
    let least = head[5..13].iter().rev().fold(0u64, |wide, &byte| wide << 8 | u64::from(byte));
    let width = size as u32 * 8;
    if bits > width {
        return Err(format!("{bits} bits for a number of {width}"));
    }
    let big = *order == 1;
    // Nothing could be saved: the numbers are there as they were.
    if bits == width {
        let raw = packed.get(..out.len()).ok_or_else(|| "the chunk is cut short".to_owned())?;
        out.copy_from_slice(raw);
        return Ok(out.len());
    }
    let fill = (*filled == 1).then(|| {
        let low = u64::from(fill.first().copied().unwrap_or(0));
        low | u64::from(fill.get(1).copied().unwrap_or(0)) << 32
    });
    // The largest number of that many bits stands for the fill value.
    let marker = if bits == 0 { 0 } else { u64::MAX >> (64 - bits) };
    let mut stream = Bits { input: packed, at: 0 };
    for element in out.chunks_exact_mut(size) {
        let raw = stream.take(bits).ok_or_else(|| "the packed bits are cut short".to_owned())?;
        let value = match (fill, float, size) {
            (Some(fill), ..) if raw == marker => fill,
            (_, false, _) => raw.wrapping_add(least),
            (_, true, 4) => {
                let value = raw as i32 as f32 / 10f32.powi(digits) + f32::from_bits(least as u32);
                u64::from(value.to_bits())
            }
            _ => (raw as i64 as f64 / 10f64.powi(digits) + f64::from_bits(least)).to_bits(),
        };
        if big {
            element.copy_from_slice(&value.to_be_bytes()[8 - size..]);
        } else {
            element.copy_from_slice(&value.to_le_bytes()[..size]);
        }
    }
    Ok(out.len())
}
