//! Compares the fast filters with a plain implementation of the specification.

use super::{generic, unfilter};

/// Paeth as in the specification.
fn spec_paeth(a: u8, b: u8, c: u8) -> u8 {
    let p = i32::from(a) + i32::from(b) - i32::from(c);
    let (pa, pb, pc) = ((p - i32::from(a)).abs(), (p - i32::from(b)).abs(), (p - i32::from(c)).abs());
    if pa <= pb && pa <= pc {
        a
    } else if pb <= pc {
        b
    } else {
        c
    }
}

fn spec_unfilter(kind: u8, bpp: usize, row: &[u8], above: &[u8]) -> Vec<u8> {
    let mut out = vec![0u8; row.len()];
    for i in 0..row.len() {
        let left = if i >= bpp { out[i - bpp] } else { 0 };
        let corner = if i >= bpp { above[i - bpp] } else { 0 };
        let guess = match kind {
            0 => 0,
            1 => left,
            2 => above[i],
            3 => ((u16::from(left) + u16::from(above[i])) / 2) as u8,
            _ => spec_paeth(left, above[i], corner),
        };
        out[i] = row[i].wrapping_add(guess);
    }
    out
}

struct Random(u64);

impl Random {
    fn bytes(&mut self, n: usize) -> Vec<u8> {
        (0..n)
            .map(|_| {
                self.0 ^= self.0 << 13;
                self.0 ^= self.0 >> 7;
                self.0 ^= self.0 << 17;
                (self.0 >> 32) as u8
            })
            .collect()
    }
}

#[test]
fn every_filter_and_pixel_size_as_specified() {
    let mut random = Random(7);
    for bpp in [1, 2, 3, 4, 6, 8] {
        for pixels in (1..20).chain([64, 101]) {
            let (row, above) = (random.bytes(bpp * pixels), random.bytes(bpp * pixels));
            for kind in 0..5 {
                let mut out = vec![0xAA; bpp * pixels];
                unfilter(kind, bpp, &row, &above, &mut out).unwrap();
                assert_eq!(
                    out,
                    spec_unfilter(kind, bpp, &row, &above),
                    "filter {kind}, {pixels} of {bpp} bytes"
                );
            }
        }
    }
}

/// Rows in which every triple of neighbours occurs: left `a` (filtered so as to give it), up `b`, corner `c`.
#[test]
fn paeth_of_every_triple() {
    for a in 0..=255u8 {
        for b in 0..=255u8 {
            for c in (0..=255u8).step_by(3) {
                let [d, e] = [c.saturating_add(1), c.saturating_add(2)];
                // The first pixel has nothing to its left, so its guess is the pixel above it.
                let row = [a.wrapping_sub(c), a.wrapping_sub(d), a.wrapping_sub(e), 0, 0, 0];
                let above = [c, d, e, b, b, b];
                let mut out = [0; 6];
                unfilter(4, 3, &row, &above, &mut out).unwrap();
                let want = [a, a, a, spec_paeth(a, b, c), spec_paeth(a, b, d), spec_paeth(a, b, e)];
                assert_eq!(out, want, "{a} {b} {c}");
                assert_eq!(generic::paeth(a, b, c), want[3], "{a} {b} {c}");
            }
        }
    }
}

#[test]
fn pairs_are_two_single_rows() {
    let mut random = Random(9);
    for bpp in 1..=4 {
        for pixels in (1..30).chain([64, 101]) {
            let [above, row0, row1] = [(); 3].map(|()| random.bytes(bpp * pixels));
            let (mut out0, mut out1) = (vec![0xAA; bpp * pixels], vec![0xAA; bpp * pixels]);
            super::unfilter_pair(bpp, [&row0, &row1], &above, [&mut out0, &mut out1]);
            assert_eq!(out0, spec_unfilter(4, bpp, &row0, &above), "upper of {pixels} of {bpp} bytes");
            assert_eq!(out1, spec_unfilter(4, bpp, &row1, &out0), "lower of {pixels} of {bpp} bytes");
        }
    }
}

/// The code that other machines use for 3 and 4 bytes is otherwise not run on this one.
#[test]
fn generic_filters_of_common_pixels() {
    let mut random = Random(3);
    let (row, above) = (random.bytes(12 * 50), random.bytes(12 * 50));
    for kind in [1, 3, 4] {
        let mut out = vec![0; row.len()];
        generic::unfilter::<3>(kind, &row, &above, &mut out);
        assert_eq!(out, spec_unfilter(kind, 3, &row, &above), "filter {kind}");
        generic::unfilter::<4>(kind, &row, &above, &mut out);
        assert_eq!(out, spec_unfilter(kind, 4, &row, &above), "filter {kind}");
    }
}

#[test]
fn unknown_filter_is_corrupt() {
    assert!(unfilter(5, 3, &[0; 3], &[0; 3], &mut [0; 3]).is_err());
}
