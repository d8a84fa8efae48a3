//! Tools for token corpora.

mod info;
mod merge;
mod split;
#[cfg(test)]
mod tests;
mod verify;

pub use info::{Info, info};
pub use merge::{Merged, merge};
pub use split::{Shares, split};
pub use verify::{Verified, verify};

use crate::{TokenFile, TokenWriter, data::Data, element, sys};
use bytes::Bytes;
use infeed_core::{Dtype, Result};
use std::ops::Range;

/// How many bytes are requested in advance.
const AHEAD: u64 = 8 << 20;

/// Has the store prefetch what comes next during a sequential read.
#[derive(Debug, Default)]
struct Ahead {
    /// The offset up to which bytes were requested.
    asked: u64,
}

impl Ahead {
    /// Reports that the reader has reached this offset.
    fn reach(&mut self, data: &Data, byte: u64) {
        // Requests overlap by half, so that a range is fetched before the previous one is used up.
        if byte + AHEAD / 2 >= self.asked {
            let from = self.asked.max(byte);
            self.asked = byte + AHEAD;
            data.will_read(from..self.asked);
        }
    }
}

/// Adds documents of a file to a writer, sequence by sequence, converting elements to the writer's type.
fn copy(file: &TokenFile, documents: Range<u64>, dtype: Dtype, out: &mut TokenWriter) -> Result<()> {
    let from = file.dtype();
    let (mut scratch, mut wide, mut ahead) = (Bytes::new(), Vec::new(), Ahead::default());
    let mut add = |byte: u64, tokens: u64, out: &mut TokenWriter| {
        ahead.reach(file.data(), byte);
        let bytes = file.data().get(byte, tokens as usize * from.size(), &mut scratch)?;
        if from == dtype {
            return out.add_bytes(bytes);
        }
        wide.resize(tokens as usize * dtype.size(), 0);
        sys::convert(from, dtype.size(), bytes, &mut wide);
        // `convert` writes native numbers, but files have little-endian ones.
        if cfg!(target_endian = "big") {
            wide.chunks_exact_mut(dtype.size()).for_each(<[u8]>::reverse);
        }
        out.add_bytes(&wide)
    };
    match file.index() {
        Some(index) => {
            for document in documents {
                for sequence in index.document(document) {
                    add(index.byte(sequence), index.size(sequence), out)?;
                }
                out.end_document();
            }
        }
        None => {
            let mut runs = Vec::new();
            file.runs(0, 0..file.tokens(), &mut runs);
            for run in runs {
                add(run.byte, run.tokens, out)?;
            }
            out.end_document();
        }
    }
    Ok(())
}

/// Returns the narrowest index type that can represent all numbers of both types.
fn wider(a: Dtype, b: Dtype) -> Option<Dtype> {
    let fits = |d: &Dtype| {
        let (least, most) = element::range(*d);
        [a, b].iter().all(|x| element::range(*x).0 >= least && element::range(*x).1 <= most)
    };
    [Dtype::U8, Dtype::I8, Dtype::U16, Dtype::I16, Dtype::I32, Dtype::I64].into_iter().find(fits)
}
