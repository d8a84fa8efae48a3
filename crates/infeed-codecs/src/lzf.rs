//! `lzf`: h5py's fast compressor.

use crate::Result;

/// Unpacks it.
pub fn undo(input: &[u8], out: &mut [u8]) -> Result {
    unpack(input, out).ok_or_else(|| "the compressed bytes are damaged".into())
}

fn unpack(input: &[u8], out: &mut [u8]) -> Option<usize> {
    let (mut from, mut to) = (0, 0);
    while let Some(&control) = input.get(from) {
        let control = usize::from(control);
        from += 1;
        if control < 32 {
            let len = control + 1;
            out.get_mut(to..to + len)?.copy_from_slice(input.get(from..from + len)?);
            (from, to) = (from + len, to + len);
            continue;
        }
        let mut len = control >> 5;
        if len == 7 {
            len += usize::from(*input.get(from)?);
            from += 1;
        }
        let distance = ((control & 31) << 8 | usize::from(*input.get(from)?)) + 1;
        from += 1;
        copy_match(out, to, distance, len + 2)?;
        to += len + 2;
    }
    Some(to)
}

/// Repeats `len` bytes that stand `distance` before `to`. The bytes may overlap with what they make.
pub(crate) fn copy_match(out: &mut [u8], to: usize, distance: usize, len: usize) -> Option<()> {
    let from = to.checked_sub(distance).filter(|_| distance > 0)?;
    if to.checked_add(len)? > out.len() {
        return None;
    }
    if distance >= len {
        out.copy_within(from..from + len, to);
        return Some(());
    }
    // What is there is doubled until it is enough.
    let mut done = 0;
    while done < len {
        let part = (distance + done).min(len - done);
        out.copy_within(from..from + part, to + done);
        done += part;
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_and_matches() {
        let mut out = [0; 32];
        // Three letters, then 2 + 7 bytes from 3 before, then one that repeats the last byte.
        let input = [2, b'a', b'b', b'c', 7 << 5, 0, 2, 1 << 5, 0];
        assert_eq!(undo(&input, &mut out), Ok(15));
        assert_eq!(&out[..15], b"abcabcabcabcccc");
        assert!(undo(&[1 << 5, 0], &mut out).is_err());
        assert!(undo(&[5, 1, 2], &mut out).is_err());
        assert!(undo(&input, &mut out[..8]).is_err());
    }
}
