//! Arbitrary bytes as the chunk of any codec.

use crate::{Result, Scratch};

/// A codec as the fuzzer sees it: input, output, scratch.
type Codec = fn(&[u8], &mut [u8], &mut Scratch) -> Result;

/// All of them; the first byte of the input chooses.
const CODECS: [Codec; 15] = [
    crate::zlib,
    crate::gzip,
    crate::inflate,
    crate::zstd,
    |input, out, _| crate::lz4(input, out),
    |input, out, _| crate::lz4_sized(input, out),
    |input, out, _| crate::lz4_blocks(input, out),
    |input, out, _| crate::bzip2(input, out),
    |input, out, _| crate::lzf::undo(input, out),
    |input, out, _| crate::fletcher32::undo(input, out),
    crate::blosc::undo,
    crate::blosc2::undo,
    |input, out, scratch| crate::bitshuffle::undo(&[0, 2, 4, 0, 2], input, out, scratch),
    |input, out, scratch| {
        let bits = crate::bitshuffle::undo(&[0, 2, 3, 0, 0], input, out, scratch);
        crate::shuffle::undo(3, input, out).and(bits)
    },
    |input, out, _| crate::xz(input, out),
];

/// Gives arbitrary bytes to one codec, with memory of several lengths: more bytes than there is room for cannot come out, and
/// how many come out does not depend on what was in the memory before.
pub fn fuzz_codecs(data: &[u8]) {
    let Some((&choice, input)) = data.split_first() else { return };
    let codec = CODECS[usize::from(choice) % CODECS.len()];
    for len in [0, 100, 4096] {
        let (mut one, mut two) = (vec![0; len], vec![0xa5; len]);
        let made = codec(input, &mut one, &mut Scratch::default());
        assert_eq!(made, codec(input, &mut two, &mut Scratch::default()), "two runs differ");
        assert!(!made.is_ok_and(|made| made > len), "more bytes than there is room for");
    }
}
