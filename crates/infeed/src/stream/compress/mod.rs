//! Compressed data, detected by its first bytes.
//!
//! Data of every kind may have several members one after the other (`cat a.gz b.gz`, `bgzip`, `pbzip2`, `zstd` of
//! several files), and zeros after the last, as tapes leave them. One loop serves all decompressors. Data that ends
//! inside a member, or a decompressor that neither reads nor writes, is an error with the offset of the compressed
//! byte.

mod engine;
mod lz4;

use super::input::Input;
use crate::layout::tar::header;
use engine::Engine;
use infeed_core::{Error, Packing, Result};
use std::{
    io::{self, Read},
    sync::Arc,
};

/// Returns the compression of data with this start, unless it is `plain`.
fn packing(start: &[u8], plain: impl Fn(&[u8]) -> bool) -> Option<Packing> {
    if plain(start) { None } else { Packing::of_head(start) }
}

/// Returns the compression of data with this start; `None` for an uncompressed tar.
#[cfg(test)]
pub(super) fn packing_of(start: &[u8]) -> Option<Packing> {
    packing(start, is_tar)
}

/// Whether the data starts with a tar header. A member may be named `BZh1`, but its block then has a tar's checksum.
fn is_tar(start: &[u8]) -> bool {
    start.get(..header::BLOCK as usize).is_some_and(header::checksum_holds)
}

/// The bytes of a part, and how they were compressed.
type Reading = (Box<dyn Read + Send>, Option<Packing>);

/// Returns the tar in `input`, decompressed if needed, and its compression.
pub(super) fn unpack(shard: &Arc<str>, input: Input) -> Result<Reading> {
    unpack_unless(shard, input, is_tar)
}

/// Returns the data in `input`, decompressed if it is compressed and its start is not `plain`.
pub(super) fn unpack_unless(
    shard: &Arc<str>,
    mut input: Input,
    plain: impl Fn(&[u8]) -> bool,
) -> Result<Reading> {
    let start = input.peek(header::BLOCK as usize).map_err(|e| lift(shard, e))?;
    let found = match packing(start, plain) {
        // Behind a long skippable frame may be either.
        Some(Packing::Zstd) if Packing::skippable(start).is_some() => {
            Packing::of_name(shard).filter(|named| *named == Packing::Lz4).or(Some(Packing::Zstd))
        }
        found => found,
    };
    let Some(packing) = found else {
        return match Packing::of_name(shard) {
            // An empty tar has no rows; an empty compressed file is incomplete.
            Some(packing) if start.is_empty() => {
                Err(fault(shard, 0, format!("there is no {} data: the file is empty", packing.name())))
            }
            _ => Ok((Box::new(input), None)),
        };
    };
    let reader: Box<dyn Read + Send> = match Engine::new(packing).map_err(|what| fault(shard, 0, what))? {
        Some(engine) => {
            Box::new(Unpacked { shard: Arc::clone(shard), packing, engine, input, between: false })
        }
        None => Box::new(lz4::Lz4::new(shard, input)),
    };
    Ok((reader, Some(packing)))
}

/// Converts an error that passed through a reader back into an [`Error`].
pub(super) fn lift(shard: &str, error: io::Error) -> Error {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<Error>()) {
        Some(ours) => ours.clone(),
        None => Error::io("read", shard, error),
    }
}

fn fault(shard: &str, offset: u64, what: String) -> Error {
    Error::Format { shard: shard.to_owned(), offset, what }
}

/// The error for truncated data.
fn cut_off(shard: &str, packing: Packing, offset: u64) -> io::Error {
    let what = format!("the {} data is cut off here", packing.name());
    io::Error::other(fault(shard, offset, what))
}

/// The error for damaged data.
fn damaged(shard: &str, packing: Packing, offset: u64, what: &str) -> io::Error {
    let what = format!("the {} data cannot be read beyond here: {what}", packing.name());
    io::Error::other(fault(shard, offset, what))
}

/// Skips the zeros after a member. Returns whether another member follows.
fn another(input: &mut Input) -> io::Result<bool> {
    loop {
        let bytes = input.fill()?;
        match bytes.iter().position(|b| *b != 0) {
            Some(zeros) => {
                input.consume(zeros);
                return Ok(true);
            }
            None if bytes.is_empty() => return Ok(false),
            None => {
                let zeros = bytes.len();
                input.consume(zeros);
            }
        }
    }
}

/// How often in a row a decompressor may do nothing before it counts as stuck.
const IDLE: u32 = 8;

/// Decompressed data.
struct Unpacked {
    shard: Arc<str>,
    packing: Packing,
    engine: Engine,
    input: Input,
    /// Whether a member has ended and the next one has not started.
    between: bool,
}

impl Read for Unpacked {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if out.is_empty() {
            return Ok(0);
        }
        let mut idle = 0;
        loop {
            if self.between {
                if !another(&mut self.input)? {
                    return Ok(0);
                }
                self.between = false;
                let at = self.input.offset();
                self.engine.again().map_err(|what| damaged(&self.shard, self.packing, at, &what))?;
            }
            let bytes = self.input.fill()?;
            let last = bytes.is_empty();
            let step = self.engine.step(bytes, out);
            self.input.consume(step.taken);
            if let Some(what) = step.wrong {
                return Err(damaged(&self.shard, self.packing, self.input.offset(), &what));
            }
            self.between = step.ended;
            if step.made > 0 {
                return Ok(step.made);
            }
            if step.ended || step.taken > 0 {
                continue;
            }
            idle += 1;
            if last {
                return Err(cut_off(&self.shard, self.packing, self.input.offset()));
            }
            if idle > IDLE {
                let at = self.input.offset();
                return Err(damaged(&self.shard, self.packing, at, "the decompressor makes no progress"));
            }
        }
    }
}
