//! Elements of token files: their types, and vectorisable loops over them.

use infeed_core::Dtype;

/// Returns the dtype of an index's type code.
pub(crate) fn of_code(code: u64) -> Option<Dtype> {
    CODES.iter().find(|(_, c)| *c == code).map(|(dtype, _)| *dtype)
}

/// Returns the type code of a dtype in an index, if it has one.
pub(crate) fn code_of(dtype: Dtype) -> Option<u8> {
    CODES.iter().find(|(d, _)| *d == dtype).map(|(_, code)| *code as u8)
}

const CODES: [(Dtype, u64); 8] = [
    (Dtype::U8, 1),
    (Dtype::I8, 2),
    (Dtype::I16, 3),
    (Dtype::I32, 4),
    (Dtype::I64, 5),
    (Dtype::F64, 6),
    (Dtype::F32, 7),
    (Dtype::U16, 8),
];

/// Returns the smallest and largest token of a dtype.
pub(crate) fn range(dtype: Dtype) -> (i128, i128) {
    dtype.range().unwrap_or((0, 0))
}

/// Returns the bits of a token id in elements of this dtype, if it fits.
pub(crate) fn bits_of(dtype: Dtype, token: u64) -> Option<u64> {
    (i128::from(token) <= range(dtype).1).then_some(token)
}

/// Reads an element as a number.
pub(crate) fn read(dtype: Dtype, bytes: &[u8]) -> i64 {
    let mut wide = [0; 8];
    convert_here(dtype, 8, bytes, &mut wide);
    i64::from_ne_bytes(wide)
}

#[inline(always)]
fn each<const S: usize, const D: usize>(src: &[u8], dst: &mut [u8], f: impl Fn([u8; S]) -> [u8; D]) {
    let (src, dst) = (src.as_chunks::<S>().0, dst.as_chunks_mut::<D>().0);
    for (to, from) in dst.iter_mut().zip(src) {
        *to = f(*from);
    }
}

macro_rules! into_width {
    ($source:ty, $size:literal, $wide:ty, $to:expr, $src:expr, $dst:expr) => {
        match $to {
            1 => each::<$size, 1>($src, $dst, |b| (<$source>::from_le_bytes(b) as u8).to_ne_bytes()),
            2 => {
                each::<$size, 2>($src, $dst, |b| (<$source>::from_le_bytes(b) as $wide as u16).to_ne_bytes())
            }
            4 => {
                each::<$size, 4>($src, $dst, |b| (<$source>::from_le_bytes(b) as $wide as u32).to_ne_bytes())
            }
            _ => {
                each::<$size, 8>($src, $dst, |b| (<$source>::from_le_bytes(b) as $wide as u64).to_ne_bytes())
            }
        }
    };
}

/// Converts little-endian elements to native ones of `to` bytes. Numbers must fit: larger ones lose their upper bits.
#[inline(always)]
pub(crate) fn convert_here(from: Dtype, to: usize, src: &[u8], dst: &mut [u8]) {
    match from {
        Dtype::U8 => into_width!(u8, 1, u64, to, src, dst),
        Dtype::I8 => into_width!(i8, 1, i64, to, src, dst),
        Dtype::U16 => into_width!(u16, 2, u64, to, src, dst),
        Dtype::I16 => into_width!(i16, 2, i64, to, src, dst),
        Dtype::U32 => into_width!(u32, 4, u64, to, src, dst),
        Dtype::I32 => into_width!(i32, 4, i64, to, src, dst),
        _ => into_width!(u64, 8, u64, to, src, dst),
    }
}

macro_rules! over_bits {
    ($from:expr, $name:ident ( $src:expr $(, $arg:expr)* )) => {
        match $from.size() {
            1 => $name::<1>($src, |b| u64::from(b[0]) $(, $arg)*),
            2 => $name::<2>($src, |b| u64::from(u16::from_le_bytes(b)) $(, $arg)*),
            4 => $name::<4>($src, |b| u64::from(u32::from_le_bytes(b)) $(, $arg)*),
            _ => $name::<8>($src, u64::from_le_bytes $(, $arg)*),
        }
    };
}

/// Returns the largest element as an unsigned number: negative ones are larger than all others.
#[inline(always)]
pub(crate) fn largest_here(from: Dtype, src: &[u8]) -> u64 {
    // In the elements' own width: two to four times as many fit into a register.
    match from.size() {
        1 => u64::from(src.iter().copied().max().unwrap_or(0)),
        2 => u64::from(src.as_chunks().0.iter().fold(0, |max, b| u16::from_le_bytes(*b).max(max))),
        4 => u64::from(src.as_chunks().0.iter().fold(0, |max, b| u32::from_le_bytes(*b).max(max))),
        _ => src.as_chunks().0.iter().fold(0, |max, b| u64::from_le_bytes(*b).max(max)),
    }
}

/// Returns whether one of the elements has these bits.
#[inline(always)]
pub(crate) fn holds_here(from: Dtype, src: &[u8], token: u64) -> bool {
    match from.size() {
        1 => src.iter().fold(false, |any, b| any | (*b == token as u8)),
        2 => src.as_chunks().0.iter().fold(false, |any, b| any | (u16::from_le_bytes(*b) == token as u16)),
        4 => src.as_chunks().0.iter().fold(false, |any, b| any | (u32::from_le_bytes(*b) == token as u32)),
        _ => src.as_chunks().0.iter().fold(false, |any, b| any | (u64::from_le_bytes(*b) == token)),
    }
}

/// Calls `found` with the index of every element that has these bits.
pub(crate) fn places(from: Dtype, src: &[u8], token: u64, mut found: impl FnMut(usize)) {
    // The tokens searched for are rare: most blocks are ruled out without examining each element.
    const BLOCK: usize = 128;
    let size = from.size();
    for (block, bytes) in src.chunks(BLOCK * size).enumerate() {
        if crate::sys::holds(from, bytes, token) {
            over_bits!(from, all_places(bytes, token, &mut |place| found(block * BLOCK + place)));
        }
    }
}

fn all_places<const S: usize>(
    src: &[u8],
    bits: impl Fn([u8; S]) -> u64,
    token: u64,
    found: &mut impl FnMut(usize),
) {
    for (place, element) in src.as_chunks::<S>().0.iter().enumerate() {
        if bits(*element) == token {
            found(place);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TYPES: [Dtype; 8] =
        [Dtype::U8, Dtype::I8, Dtype::U16, Dtype::I16, Dtype::U32, Dtype::I32, Dtype::U64, Dtype::I64];

    proptest! {
        /// Converts every type to every width and compares with 128-bit arithmetic, with and without SIMD.
        #[test]
        fn numbers_stay_what_they_are(
            from in prop::sample::select(&TYPES[..]),
            to in prop::sample::select(&TYPES[..]),
            raw in prop::collection::vec(any::<[u8; 8]>(), 0..70),
            token in any::<u8>(),
        ) {
            let size = from.size();
            let src: Vec<u8> = raw.iter().flat_map(|b| b[..size].to_vec()).collect();
            let value = |b: &[u8]| {
                let mut wide = [0; 16];
                wide[..size].copy_from_slice(b);
                let unsigned = i128::from_le_bytes(wide);
                if unsigned > range(from).1 { unsigned - (1 << (size * 8)) } else { unsigned }
            };
            let mut dst = vec![0; raw.len() * to.size()];
            let mut plain = dst.clone();
            crate::sys::convert(from, to.size(), &src, &mut dst);
            convert_here(from, to.size(), &src, &mut plain);
            prop_assert_eq!(&dst, &plain);
            for (b, d) in src.chunks(size).zip(dst.chunks(to.size())) {
                prop_assert_eq!(&value(b).to_le_bytes()[..to.size()], d);
                prop_assert_eq!(i128::from(read(from, b)) , i128::from(value(b) as i64));
            }
            let unsigned = |b: &[u8]| b.iter().rev().fold(0u64, |n, x| n << 8 | u64::from(*x));
            let all: Vec<u64> = src.chunks(size).map(unsigned).collect();
            prop_assert_eq!(crate::sys::largest(from, &src), all.iter().copied().max().unwrap_or(0));
            prop_assert_eq!(largest_here(from, &src), all.iter().copied().max().unwrap_or(0));
            for wanted in all.first().copied().into_iter().chain([u64::from(token)]) {
                let mut found = vec![];
                places(from, &src, wanted, |at| found.push(at));
                let here: Vec<usize> = (0..all.len()).filter(|i| all[*i] == wanted).collect();
                prop_assert_eq!(holds_here(from, &src, wanted), !here.is_empty());
                prop_assert_eq!(found, here);
            }
        }
    }

    #[test]
    fn codes_come_back() {
        for code in 1..=8 {
            assert_eq!(code_of(of_code(code).unwrap()), Some(code as u8));
        }
        assert_eq!((of_code(0), of_code(9), code_of(Dtype::U32)), (None, None, None));
        assert_eq!((range(Dtype::I8), range(Dtype::U16)), ((-128, 127), (0, 65535)));
        assert_eq!((bits_of(Dtype::I8, 128), bits_of(Dtype::U8, 128)), (None, Some(128)));
    }
}
