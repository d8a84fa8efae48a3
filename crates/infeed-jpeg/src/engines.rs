//! Which files the JPEG engines of GPUs take.
//!
//! They decode sequential Huffman files of 8 bits with one scan. They do not say which image of a batch was damaged, and
//! draw garbage where a scan stops early. So whatever can be seen without decoding is checked here.

use crate::header::{Color, Subsampling, read_header};
use crate::markers::{DQT, DRI, EOI, SOS, Segments};

/// The frames that engines know: baseline and extended sequential, with Huffman codes.
const FRAMES: [u8; 2] = [0xC0, 0xC1];

/// Returns the length of a file up to its end marker, if engines take files of its kind and its markers are in order up
/// to there. The answer depends on the bytes alone.
///
/// Entropy-coded data is not decoded: a file can pass and still be damaged.
pub fn suits_engines(bytes: &[u8]) -> Option<usize> {
    let header = read_header(bytes).ok()?;
    let known = match header.color {
        Color::Gray => true,
        Color::Ycc => {
            use Subsampling::{S411, S420, S422, S440, S444};
            matches!(header.subsampling, S444 | S422 | S420 | S440 | S411)
        }
        Color::Rgb | Color::Cmyk | Color::Ycck => false,
    };
    if !known || header.progressive {
        return None;
    }
    let components = if header.color == Color::Gray { 1 } else { 3 };
    let mut segments = Segments::new(bytes).ok()?;
    let (mut frame, mut restarts) = (false, false);
    let scan = loop {
        let segment = segments.next_segment().ok()??;
        match segment.code {
            code if FRAMES.contains(&code) => {
                // One component alone is not interleaved, whatever its sampling factors say.
                let [.., sampling, _] = segment.payload else { return None };
                if components == 1 && *sampling != 0x11 {
                    return None;
                }
                frame = true;
            }
            0xC9 | 0xCC => return None,
            DQT => eight_bits(segment.payload)?,
            DRI => restarts = segment.payload != [0, 0],
            SOS => {
                whole_scan(segment.payload, components)?;
                break segment.end;
            }
            // A second image begins, or a restart stands where none can.
            0x01 | 0xD0..=0xD8 => return None,
            _ => {}
        }
    };
    if !frame || segments.garbage {
        return None;
    }
    scan_end(bytes, scan, restarts)
}

/// Tables of 16 bits belong to files of 12.
fn eight_bits(mut tables: &[u8]) -> Option<()> {
    while let [kind, rest @ ..] = tables {
        if *kind > 3 {
            return None;
        }
        tables = rest.get(64..)?;
    }
    Some(())
}

/// Whether a scan has all components, at full precision.
fn whole_scan(payload: &[u8], components: usize) -> Option<()> {
    let [count, rest @ ..] = payload else { return None };
    let whole = usize::from(*count) == components && rest.len() == components * 2 + 3;
    (whole && rest.ends_with(&[0, 63, 0])).then_some(())
}

/// Returns where the file ends, if the scan that begins at `at` has no other markers than restarts in their order.
fn scan_end(bytes: &[u8], at: usize, restarts: bool) -> Option<usize> {
    let mut next = 0;
    let mut found = memchr::memchr_iter(0xFF, bytes.get(at..)?);
    let mut last = None;
    loop {
        let place = at + found.next()?;
        // The second byte of a pair was looked at already.
        if last == Some(place) {
            last = None;
            continue;
        }
        match *bytes.get(place + 1)? {
            0 => {}
            // Fill bytes are rare enough to be left to decoders that are careful.
            EOI => return (place > at).then_some(place + 2),
            code @ 0xD0..=0xD7 if restarts && code - 0xD0 == next => next = (next + 1) % 8,
            _ => return None,
        }
        last = Some(place + 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doc_sample;

    /// Where the frame header begins.
    fn frame(bytes: &[u8]) -> usize {
        bytes.windows(2).position(|pair| pair[0] == 0xFF && FRAMES.contains(&pair[1])).unwrap()
    }

    #[test]
    fn a_plain_file_suits_whatever_follows_it() {
        let file = doc_sample();
        assert_eq!(suits_engines(file), Some(file.len()));
        let longer = [file, b"trailing"].concat();
        assert_eq!(suits_engines(&longer), Some(file.len()));
    }

    #[test]
    fn no_prefix_suits() {
        let file = doc_sample();
        for end in 0..file.len() {
            assert_eq!(suits_engines(&file[..end]), None, "{end} of {} bytes", file.len());
        }
    }

    #[test]
    fn other_kinds_do_not() {
        let file = doc_sample();
        let at = frame(file);
        for (place, value, what) in [
            (at + 1, 0xC2, "progressive"),
            (at + 1, 0xC9, "arithmetic"),
            (at + 4, 12, "12 bits"),
            (file.len() - 1, 0xD8, "no end"),
        ] {
            let mut other = file.to_vec();
            other[place] = value;
            assert_eq!(suits_engines(&other), None, "{what}");
        }
    }

    #[test]
    fn markers_inside_the_scan_do_not() {
        let file = doc_sample();
        let scan = file.windows(2).position(|pair| pair == [0xFF, SOS]).unwrap();
        let at = scan + 2 + usize::from(file[scan + 3]) + 1;
        for code in [0xC4, 0xD0, 0xDA, 0xE0] {
            let mut other = file.to_vec();
            other.splice(at..at, [0xFF, code]);
            assert_eq!(suits_engines(&other), None, "{code:#x}");
        }
        let mut stuffed = file.to_vec();
        stuffed.splice(at..at, [0xFF, 0]);
        assert_eq!(suits_engines(&stuffed), Some(stuffed.len()));
    }
}
