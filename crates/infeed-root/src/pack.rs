//! Compressed bytes: records of up to 16 MiB, each with the name of its algorithm and both lengths.

use crate::error::{Error, Result};
use infeed_codecs::Scratch;
use infeed_core::memory;
use std::ops::Range;

/// The head of a record: two letters, a method, and two lengths of 3 bytes.
const HEAD: usize = 9;

/// A record.
struct Record<'a> {
    /// Two letters.
    name: &'a [u8],
    body: &'a [u8],
    /// Its place in the file.
    at: u64,
}

/// Unpacks records into the first `len` bytes of `out`, which grows if it is shorter. Room is made record after record, so that a wrong
/// length cannot ask for more memory than the compressed bytes vouch for. `at` is their place in the file.
pub(crate) fn unpack<'o>(
    input: &[u8],
    len: usize,
    at: u64,
    out: &'o mut Vec<u8>,
    scratch: &mut Scratch,
) -> Result<&'o [u8]> {
    each(input, len, at, &mut |place, record| {
        if out.len() < place.end {
            memory::resize(out, place.end)?;
        }
        record.write(&mut out[place], scratch)
    })?;
    Ok(&out[..len])
}

/// Unpacks records into memory that is there, and of their length.
pub(crate) fn unpack_to(input: &[u8], at: u64, out: &mut [u8], scratch: &mut Scratch) -> Result<()> {
    each(input, out.len(), at, &mut |place, record| record.write(&mut out[place], scratch))
}

/// Calls `write` with each record and where its bytes belong.
fn each(
    mut input: &[u8],
    len: usize,
    at: u64,
    write: &mut dyn FnMut(Range<usize>, Record<'_>) -> Result<()>,
) -> Result<()> {
    let size = input.len();
    let mut begin = 0;
    while begin < len {
        let here = at + (size - input.len()) as u64;
        let wrong = |what: String| Error::damaged(here, what);
        let Some((head, rest)) = input.split_first_chunk::<HEAD>() else {
            return Err(wrong(format!("{begin} of {len} bytes were compressed here")));
        };
        let number = |bytes: [u8; 3]| u32::from_le_bytes([bytes[0], bytes[1], bytes[2], 0]) as usize;
        let (stored, made) = (number([head[3], head[4], head[5]]), number([head[6], head[7], head[8]]));
        let Some((body, rest)) = rest.split_at_checked(stored) else {
            return Err(wrong(format!(
                "{stored} compressed bytes should follow and {} are there",
                rest.len()
            )));
        };
        if made == 0 || made > len - begin {
            return Err(wrong(format!("a record of {made} bytes, where {} are left", len - begin)));
        }
        write(begin..begin + made, Record { name: &head[..2], body, at: here })?;
        begin += made;
        input = rest;
    }
    if !input.is_empty() {
        return Err(Error::damaged(at, format!("{} bytes follow what was compressed", input.len())));
    }
    Ok(())
}

impl Record<'_> {
    /// Unpacks it into memory of its length.
    fn write(&self, to: &mut [u8], scratch: &mut Scratch) -> Result<()> {
        let wrong = |what: String| Error::damaged(self.at, what);
        let made = to.len();
        let (name, done) = match self.name {
            b"ZL" => ("zlib", infeed_codecs::zlib(self.body, to, scratch)),
            b"ZS" => ("zstd", infeed_codecs::zstd(self.body, to, scratch)),
            b"XZ" => ("xz", infeed_codecs::xz(self.body, to)),
            b"L4" => ("lz4", lz4(self.body, to)),
            b"CS" => {
                let what = "compressed by a ROOT before 3.0 (CS); write the file again with a newer one";
                return Err(Error::Unsupported(what.to_owned()));
            }
            other => {
                let name = String::from_utf8_lossy(other);
                return Err(wrong(format!("{name:?} is no compression of ROOT (ZL, ZS, L4, XZ)")));
            }
        };
        match done {
            Ok(bytes) if bytes == made => Ok(()),
            Ok(bytes) => Err(wrong(format!("{name} gave {bytes} bytes and not {made}"))),
            Err(error) => Err(wrong(format!("{name}: {error}"))),
        }
    }
}

/// One block of lz4, with its checksum of 8 bytes before it.
fn lz4(body: &[u8], to: &mut [u8]) -> infeed_codecs::Result {
    let Some((sum, block)) = body.split_first_chunk::<8>() else {
        return Err("a block without its checksum".into());
    };
    if crate::hash::xxh64(block) != u64::from_be_bytes(*sum) && !cfg!(fuzzing) {
        return Err("the checksum of the block is wrong".into());
    }
    infeed_codecs::lz4(block, to)
}
