//! Compressed bytes: records of up to 16 MiB, each with the name of its algorithm and both lengths.

use crate::error::{Error, Result};
use infeed_codecs::Scratch;
use infeed_core::memory;

/// The head of a record: two letters, a method, and two lengths of 3 bytes.
const HEAD: usize = 9;

/// Unpacks records into `out`, which becomes exactly `len` bytes long. Room is made record after record, so that a wrong
/// length cannot ask for more memory than the compressed bytes vouch for. `at` is their place in the file.
pub(crate) fn unpack(
    mut input: &[u8],
    len: usize,
    at: u64,
    out: &mut Vec<u8>,
    scratch: &mut Scratch,
) -> Result<()> {
    let size = input.len();
    out.clear();
    while out.len() < len {
        let here = at + (size - input.len()) as u64;
        let wrong = |what: String| Error::damaged(here, what);
        let Some((head, rest)) = input.split_first_chunk::<HEAD>() else {
            return Err(wrong(format!("{} of {len} bytes were compressed here", out.len())));
        };
        let number = |bytes: [u8; 3]| u32::from_le_bytes([bytes[0], bytes[1], bytes[2], 0]) as usize;
        let (stored, made) = (number([head[3], head[4], head[5]]), number([head[6], head[7], head[8]]));
        let Some((body, rest)) = rest.split_at_checked(stored) else {
            return Err(wrong(format!(
                "{stored} compressed bytes should follow and {} are there",
                rest.len()
            )));
        };
        let begin = out.len();
        if made == 0 || made > len - begin {
            return Err(wrong(format!("a record of {made} bytes, where {} are left", len - begin)));
        }
        memory::resize(out, begin + made)?;
        let to = &mut out[begin..];
        let (name, done) = match &head[..2] {
            b"ZL" => ("zlib", infeed_codecs::zlib(body, to, scratch)),
            b"ZS" => ("zstd", infeed_codecs::zstd(body, to, scratch)),
            b"XZ" => ("xz", infeed_codecs::xz(body, to)),
            b"L4" => ("lz4", lz4(body, to)),
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
            Ok(bytes) if bytes == made => {}
            Ok(bytes) => return Err(wrong(format!("{name} gave {bytes} bytes and not {made}"))),
            Err(error) => return Err(wrong(format!("{name}: {error}"))),
        }
        input = rest;
    }
    if !input.is_empty() {
        return Err(Error::damaged(at, format!("{} bytes follow what was compressed", input.len())));
    }
    Ok(())
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
