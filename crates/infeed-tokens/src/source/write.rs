//! Finds the bytes of a row and writes its fields.

use super::{TokenSource, position_type};
use crate::{
    element,
    fields::{self, Field},
    file::Run,
    sys,
};
use bytes::Bytes;
use infeed_core::{Dtype, Error, Result};
use std::cell::RefCell;

/// Per-thread memory, reused for all rows.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    /// The bytes of all runs that are not mapped, in order, and how many of them were used.
    pub(super) ahead: Vec<Bytes>,
    pub(super) used: usize,
    pub(super) runs: Vec<Run>,
    pub(super) next: Vec<Run>,
    pub(super) starts: Vec<usize>,
}

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

impl TokenSource {
    pub(super) fn prefetch(&self, runs: &[Run]) {
        for run in runs.iter().take(4) {
            let file = &self.files[run.file as usize];
            sys::prefetch(file.data().peek(run.byte, run.tokens as usize * file.dtype().size()));
        }
    }

    /// Calls `work` with the bytes of these rows in the scratch memory.
    pub(super) fn with_scratch<T>(
        &self,
        rows: &[u64],
        work: impl FnOnce(&mut Scratch) -> Result<T>,
    ) -> Result<T> {
        SCRATCH.with_borrow_mut(|scratch| {
            let done = self.read_ahead(rows, scratch).and_then(|()| work(scratch));
            // Release the store's buffers.
            scratch.ahead.clear();
            done
        })
    }

    /// Writes the fields of one row, whose runs are in the scratch memory. `out` gives access to
    /// the destination of a field.
    pub(super) fn write(
        &self,
        row: u64,
        fields: &[Field],
        scratch: &mut Scratch,
        mut out: impl FnMut(usize, &dyn Fn(&mut [u8])),
    ) -> Result<()> {
        let size = self.options.dtype.size();
        scratch.starts.clear();
        let marks = fields.iter().any(|f| !matches!(f, Field::Tokens | Field::Labels));
        let mut done = 0;
        for run in &scratch.runs {
            let file = &self.files[run.file as usize];
            let (from, count) = (file.dtype(), run.tokens as usize);
            let bytes = if file.data().is_held() {
                file.data().peek(run.byte, count * from.size())
            } else {
                scratch.used += 1;
                scratch.ahead.get(scratch.used - 1).map_or(&[][..], |bytes| bytes)
            };
            if bytes.len() != count * from.size() {
                return Err(Error::Internal {
                    what: format!("{} bytes of {count} tokens of row {row}", bytes.len()),
                });
            }
            if let Some(limit) = self.limits[run.file as usize]
                && sys::largest(from, bytes) > limit
            {
                return Err(self.too_large(run, bytes, limit));
            }
            for (i, field) in fields.iter().enumerate() {
                // Labels are shifted by one: the first token of a row is not a label.
                let skip = usize::from(*field == Field::Labels);
                if !matches!(field, Field::Tokens | Field::Labels) || done + count <= skip {
                    continue;
                }
                let (first, to) =
                    (skip.saturating_sub(done), (done + count).saturating_sub(skip).min(self.len));
                let at = done.saturating_sub(skip);
                if at < to {
                    let src = &bytes[first * from.size()..];
                    out(i, &|dst| sys::convert(from, size, src, &mut dst[at * size..to * size]));
                }
            }
            if let Some(eod) = self.options.eod.filter(|_| marks)
                && let Some(bits) = element::bits_of(from, eod)
            {
                element::places(from, bytes, bits, |place| scratch.starts.push(done + place + 1));
            }
            done += count;
        }
        if done != self.need {
            return Err(Error::Internal {
                what: format!("row {row} has {done} tokens instead of {}", self.need),
            });
        }
        if marks {
            if self.options.eod.is_none() {
                self.starts(row, scratch);
            }
            self.write_marks(fields, &mut scratch.starts, &mut out);
        }
        Ok(())
    }

    fn write_marks(
        &self,
        fields: &[Field],
        starts: &mut Vec<usize>,
        out: &mut impl FnMut(usize, &dyn Fn(&mut [u8])),
    ) {
        // Tokens read beyond the row do not count.
        starts.retain(|start| *start <= self.len);
        starts.dedup();
        let (reset, wide) = (self.options.reset, position_type(self.options.dtype) == Dtype::I64);
        for (i, field) in fields.iter().enumerate() {
            match field {
                Field::Tokens | Field::Labels => {}
                Field::Positions => out(i, &|dst| fields::positions(starts, reset, wide, dst)),
                Field::LossMask => out(i, &|dst| fields::loss_mask(starts, dst)),
                Field::Documents => out(i, &|dst| fields::document_ids(starts, dst)),
                Field::AttentionMask => {
                    out(i, &|dst| fields::attention_mask(starts, reset, self.len, dst));
                }
            }
        }
    }

    fn too_large(&self, run: &Run, bytes: &[u8], limit: u64) -> Error {
        let file = &self.files[run.file as usize];
        let size = file.dtype().size();
        let place = bytes.chunks_exact(size).position(|b| sys::largest(file.dtype(), b) > limit).unwrap_or(0);
        let id = element::read(file.dtype(), &bytes[place * size..]);
        let token = file.token_at(run.byte) + place as u64;
        let beyond = match self.options.vocab {
            Some(vocab) => format!("is not in a vocabulary of {vocab}"),
            None => format!("does not fit {}", self.options.dtype),
        };
        Error::sample(format!("token {token} of `{}` has the id {id}, which {beyond}", file.path()))
    }
}
