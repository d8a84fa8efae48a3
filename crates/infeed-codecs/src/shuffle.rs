//! `shuffle`: the first bytes of all elements stand together, then the second ones, and so on.

use crate::{Result, bitshuffle::turn_bytes, wide};

/// Undoes it; bytes that are no whole element stay behind the others.
pub fn undo(size: usize, input: &[u8], out: &mut [u8]) -> Result {
    let Some(out) = out.get_mut(..input.len()) else {
        return Err("more bytes than a chunk has".into());
    };
    unshuffle(size, input, out);
    Ok(input.len())
}

/// Puts elements of `size` bytes together again. Both slices have the same length.
pub(crate) fn unshuffle(size: usize, input: &[u8], out: &mut [u8]) {
    if size <= 1 || input.len() < size {
        out.copy_from_slice(input);
        return;
    }
    let count = input.len() / size;
    let (streams, rest) = input.split_at(count * size);
    let (elements, end) = out.split_at_mut(count * size);
    end.copy_from_slice(rest);
    match size {
        2 => fixed::<2>(streams, elements, count),
        4 => fixed::<4>(streams, elements, count),
        8 => eights(streams, elements, count),
        16 => fixed::<16>(streams, elements, count),
        _ => {
            for (k, stream) in streams.chunks_exact(count).enumerate() {
                elements.iter_mut().skip(k).step_by(size).zip(stream).for_each(|(to, from)| *to = *from);
            }
        }
    }
}

/// Elements that are made at once: all streams advance by one vector.
const BLOCK: usize = 16;

/// A size that is known at compile time, in blocks that stay in registers.
fn fixed<const N: usize>(streams: &[u8], elements: &mut [u8], count: usize) {
    let whole = count / BLOCK * BLOCK;
    for start in (wide::elements::<N>(streams, elements, count)..whole).step_by(BLOCK) {
        let mut block = [[0u8; BLOCK]; N];
        for (k, part) in block.iter_mut().enumerate() {
            let from = k * count + start;
            part.copy_from_slice(&streams[from..from + BLOCK]);
        }
        let to = &mut elements[start * N..(start + BLOCK) * N];
        for (i, element) in to.as_chunks_mut::<N>().0.iter_mut().enumerate() {
            for k in 0..N {
                element[k] = block[k][i];
            }
        }
    }
    for i in whole..count {
        for k in 0..N {
            elements[i * N + k] = streams[k * count + i];
        }
    }
}

/// Elements of 8 bytes: eight of them are a square of bytes, which is turned in registers.
fn eights(streams: &[u8], elements: &mut [u8], count: usize) {
    let whole = count / 8 * 8;
    for start in (wide::elements::<8>(streams, elements, count)..whole).step_by(8) {
        let mut words = [0u64; 8];
        for (k, word) in words.iter_mut().enumerate() {
            let mut eight = [0; 8];
            eight.copy_from_slice(&streams[k * count + start..k * count + start + 8]);
            *word = u64::from_le_bytes(eight);
        }
        turn_bytes(&mut words);
        let to = elements[start * 8..start * 8 + 64].as_chunks_mut::<8>().0;
        to.iter_mut().zip(words).for_each(|(to, word)| *to = word.to_le_bytes());
    }
    for i in whole..count {
        for k in 0..8 {
            elements[i * 8 + k] = streams[k * count + i];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_size_and_every_rest() {
        for size in [1, 2, 3, 4, 5, 8, 12, 16, 17] {
            for len in [0, 1, size, size * 15, size * 16 + 1, size * 33 + size - 1, size * 200 + 1] {
                let data: Vec<u8> = (0..len).map(|n| (n * 7 + n / 251) as u8).collect();
                let count = len / size;
                let mut shuffled = data.clone();
                for i in 0..count {
                    for k in 0..size {
                        shuffled[k * count + i] = data[i * size + k];
                    }
                }
                let mut out = vec![0; len];
                assert_eq!(undo(size, &shuffled, &mut out), Ok(len));
                assert_eq!(out, data, "size {size}, {len} bytes");
            }
        }
        assert!(undo(4, &[0; 8], &mut [0; 4]).is_err());
    }
}
