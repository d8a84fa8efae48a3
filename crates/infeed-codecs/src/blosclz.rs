//! `blosclz`: the compressor of Blosc's own, a child of FastLZ.

use crate::lzf::copy_match;

/// Distances above this are told in two more bytes.
const FAR: usize = 8191;

/// Unpacks it and says how many bytes came out.
pub(crate) fn unpack(input: &[u8], out: &mut [u8]) -> Option<usize> {
    let (mut from, mut to) = (1, 0);
    let next = |from: &mut usize| -> Option<usize> {
        let byte = *input.get(*from)?;
        *from += 1;
        Some(usize::from(byte))
    };
    // The first byte always begins with literals.
    let mut control = usize::from(*input.first()?) & 31;
    loop {
        if control >= 32 {
            let mut len = (control >> 5) - 1;
            let high = (control & 31) << 8;
            if len == 6 {
                loop {
                    let more = next(&mut from)?;
                    len += more;
                    if more != 255 {
                        break;
                    }
                }
            }
            let low = next(&mut from)?;
            let distance = if low == 255 && high == 31 << 8 {
                (next(&mut from)? << 8) + next(&mut from)? + FAR + 1
            } else {
                high + low + 1
            };
            copy_match(out, to, distance, len + 3)?;
            to += len + 3;
        } else {
            let len = control + 1;
            out.get_mut(to..to + len)?.copy_from_slice(input.get(from..from + len)?);
            (from, to) = (from + len, to + len);
        }
        match input.get(from) {
            None => return Some(to),
            Some(&byte) => control = usize::from(byte),
        }
        from += 1;
    }
}
