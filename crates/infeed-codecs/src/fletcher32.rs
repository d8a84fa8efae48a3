//! `fletcher32`: a checksum behind the bytes.

use crate::Result;

/// Checks it and gives the bytes before it.
pub fn undo(input: &[u8], out: &mut [u8]) -> Result {
    let Some((data, stored)) = input.split_last_chunk::<4>() else {
        return Err("too short for its checksum".into());
    };
    let (stored, sum) = (u32::from_le_bytes(*stored), checksum(data));
    // Libraries before 1.6.3 wrote the halves of it with their bytes turned around.
    let old = (sum & 0x00ff_00ff) << 8 | (sum & 0xff00_ff00) >> 8;
    if stored != sum && stored != old {
        return Err("the checksum does not agree: the chunk is damaged".into());
    }
    let Some(out) = out.get_mut(..data.len()) else {
        return Err("more bytes than a chunk has".into());
    };
    out.copy_from_slice(data);
    Ok(data.len())
}

/// Words after which the sums are folded: they fit into 32 bits until then.
const FOLD: usize = 360;

fn checksum(data: &[u8]) -> u32 {
    let (mut one, mut two) = (0u32, 0u32);
    let fold = |sum: u32| (sum & 0xffff) + (sum >> 16);
    let (words, rest) = data.as_chunks::<2>();
    for part in words.chunks(FOLD) {
        for word in part {
            one += u32::from(u16::from_be_bytes(*word));
            two += one;
        }
        (one, two) = (fold(one), fold(two));
    }
    if let [last] = rest {
        one += u32::from(*last) << 8;
        two += one;
        (one, two) = (fold(one), fold(two));
    }
    fold(two) << 16 | fold(one)
}
