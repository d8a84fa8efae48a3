//! Inflating in portable code.

use super::Fault;
use miniz_oxide::inflate::{
    TINFLStatus,
    core::{
        DecompressorOxide, decompress,
        inflate_flags::{
            TINFL_FLAG_COMPUTE_ADLER32, TINFL_FLAG_PARSE_ZLIB_HEADER,
            TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF,
        },
    },
};

/// A decompressor with its tables.
pub(crate) struct Inflater(Box<DecompressorOxide>);

impl Inflater {
    pub(crate) fn new() -> Self {
        Inflater(Box::default())
    }

    /// Inflates a whole zlib stream; returns the number of bytes.
    pub(crate) fn zlib(&mut self, stream: &[u8], out: &mut [u8]) -> Result<usize, Fault> {
        self.0.init();
        let flags = TINFL_FLAG_PARSE_ZLIB_HEADER
            | TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF
            | TINFL_FLAG_COMPUTE_ADLER32;
        match decompress(&mut self.0, stream, out, 0, flags) {
            (TINFLStatus::Done, _, len) => Ok(len),
            (TINFLStatus::HasMoreOutput, ..) => Err(Fault::NoRoom),
            _ => Err(Fault::BadData),
        }
    }
}

/// The CRC table for the polynomial of PNG, lowest bit first.
const TABLE: [u32; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let (mut rest, mut bit) = (byte as u32, 0);
        while bit < 8 {
            rest = if rest & 1 == 1 { rest >> 1 ^ 0xedb8_8320 } else { rest >> 1 };
            bit += 1;
        }
        table[byte] = rest;
        byte += 1;
    }
    table
};

pub(crate) fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc, byte| TABLE[usize::from(crc as u8 ^ byte)] ^ crc >> 8)
}
