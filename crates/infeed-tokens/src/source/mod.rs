//! Rows of tokens for the engine.

mod open;
mod rows;
#[cfg(test)]
mod tests;

use crate::{
    Options, TokenFile, element,
    fields::{self, Field},
    file::Run,
    gpt::Samples,
    sys,
};
use bytes::Bytes;
use infeed_core::{Dtype, Error, Record, Result, Source, Spec, Tensor, Value};
use std::{cell::RefCell, ops::Range, sync::Arc};

/// Windows or GPT samples over token files laid end to end.
#[derive(Debug)]
pub struct TokenSource {
    files: Vec<TokenFile>,
    /// The tokens of each file that belong to the part of the split.
    parts: Vec<Range<u64>>,
    /// Where each file's tokens begin when all parts are laid end to end, and where the last one's end.
    begins: Vec<u64>,
    options: Options,
    rows: Rows,
    /// Tokens of a row, and how many are read for it.
    len: usize,
    need: usize,
    /// The largest number of each file that is a token, as bits; `None` where all are.
    limits: Vec<Option<u64>>,
    /// Whether every file is in memory, or mapped.
    held: bool,
    spec: Spec,
    shard_rows: Vec<u64>,
    total: u64,
}

/// Which tokens are a row.
#[derive(Debug)]
enum Rows {
    Windows { stride: u64 },
    Gpt(Samples),
}

/// Memory that a thread uses for row after row.
#[derive(Debug, Default)]
struct Scratch {
    /// The bytes of all runs that are not held, in order, and how many of them were used.
    ahead: Vec<Bytes>,
    used: usize,
    runs: Vec<Run>,
    next: Vec<Run>,
    starts: Vec<usize>,
}

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

impl TokenSource {
    /// The files, in order.
    pub fn files(&self) -> &[TokenFile] {
        &self.files
    }

    /// The GPT samples, where rows are such.
    pub fn samples(&self) -> Option<&Samples> {
        match &self.rows {
            Rows::Gpt(samples) => Some(samples),
            Rows::Windows { .. } => None,
        }
    }

    /// Bytes that a field has in every row.
    fn row_bytes(&self, field: Field) -> usize {
        match field {
            Field::Tokens | Field::Labels => self.len * self.options.dtype.size(),
            Field::Positions => self.len * position_type(self.options.dtype).size(),
            Field::LossMask | Field::Documents => self.len * 4,
            Field::AttentionMask => self.len * self.len,
        }
    }

    fn field(&self, name: &str) -> Result<Field> {
        Field::parse(name)
            .filter(|_| self.spec.position(name).is_some())
            .ok_or_else(|| Error::Internal { what: format!("tokens have no field `{name}`") })
    }

    fn value(&self, field: Field, bytes: Bytes) -> Result<Value> {
        let shape = if field == Field::AttentionMask { vec![self.len; 2] } else { vec![self.len] };
        let dtype = match field {
            Field::Tokens | Field::Labels => self.options.dtype,
            Field::Positions => position_type(self.options.dtype),
            Field::LossMask => Dtype::F32,
            Field::Documents => Dtype::I32,
            Field::AttentionMask => Dtype::Bool,
        };
        Tensor::new(dtype, shape, bytes).map(Value::Tensor)
    }

    fn prefetch(&self, runs: &[Run]) {
        for run in runs.iter().take(4) {
            let file = &self.files[run.file as usize];
            sys::prefetch(file.data().peek(run.byte, run.tokens as usize * file.dtype().size()));
        }
    }

    /// Does something with the bytes of these rows at hand.
    fn with_scratch<T>(&self, rows: &[u64], work: impl FnOnce(&mut Scratch) -> Result<T>) -> Result<T> {
        SCRATCH.with_borrow_mut(|scratch| {
            let done = self.read_ahead(rows, scratch).and_then(|()| work(scratch));
            // The store's buffers go back to it.
            scratch.ahead.clear();
            done
        })
    }

    /// Writes the fields of one row, whose runs are in the scratch memory. `out` gives the place of a field.
    fn write(
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
                // Labels are tokens one place on: the first token of a row is none.
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
        // What is read beyond the row's own tokens says nothing of them.
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

/// Places are as wide as tokens where these have eight bytes, and have four otherwise.
fn position_type(dtype: Dtype) -> Dtype {
    if dtype.size() == 8 { Dtype::I64 } else { Dtype::I32 }
}

impl Source for TokenSource {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn shard_rows(&self) -> &[u64] {
        &self.shard_rows
    }

    fn shard_of(&self, row: u64) -> String {
        self.files[self.place(row).0].name().to_owned()
    }

    fn key(&self, row: u64) -> String {
        let (file, token) = self.place(row);
        format!("{}:{token}", self.files[file].name())
    }

    fn weight(&self, row: u64, _fields: &[Arc<str>]) -> u64 {
        let (file, _) = self.place(row);
        (self.need * self.files[file].dtype().size()) as u64
    }

    fn fetch(&self, rows: &[u64], fields: &[Arc<str>]) -> Result<Vec<Record>> {
        let wanted: Vec<Field> = fields.iter().map(|f| self.field(f)).collect::<Result<_>>()?;
        self.with_scratch(rows, |scratch| {
            let mut records = Vec::with_capacity(rows.len());
            for row in rows {
                let mut parts: Vec<Vec<u8>> = wanted.iter().map(|f| vec![0; self.row_bytes(*f)]).collect();
                self.runs(*row, &mut scratch.runs)?;
                self.write(*row, &wanted, scratch, |i, write| write(&mut parts[i]))?;
                let fields = wanted.iter().zip(parts).map(|(field, bytes)| self.value(*field, bytes.into()));
                records.push(Record { fields: fields.collect::<Result<_>>()? });
            }
            Ok(records)
        })
    }

    fn fills(&self, field: &str) -> bool {
        self.spec.position(field).is_some()
    }

    fn fill(&self, rows: &[u64], fields: &[Arc<str>], out: &mut [&mut [u8]]) -> Result<()> {
        let wanted: Vec<Field> = fields.iter().map(|f| self.field(f)).collect::<Result<_>>()?;
        let sizes: Vec<usize> = wanted.iter().map(|f| self.row_bytes(*f)).collect();
        let fits =
            out.len() == sizes.len() && out.iter().zip(&sizes).all(|(o, size)| o.len() == size * rows.len());
        if !fits {
            return Err(Error::Internal {
                what: format!("{} rows of tokens do not fill their place", rows.len()),
            });
        }
        let Some(first) = rows.first() else { return Ok(()) };
        self.with_scratch(rows, |scratch| {
            self.runs(*first, &mut scratch.next)?;
            for (k, row) in rows.iter().enumerate() {
                std::mem::swap(&mut scratch.runs, &mut scratch.next);
                // The next row lies somewhere else altogether: its bytes are on their way while this one is written.
                if let Some(next) = rows.get(k + 1) {
                    self.runs(*next, &mut scratch.next)?;
                    self.prefetch(&scratch.next);
                }
                self.write(*row, &wanted, scratch, |i, write| {
                    write(&mut out[i][k * sizes[i]..(k + 1) * sizes[i]]);
                })?;
            }
            Ok(())
        })
    }

    fn describe(&self) -> String {
        let tokens: u64 = self.begins.last().copied().unwrap_or(0);
        let length = self.options.length;
        let how = match &self.rows {
            Rows::Windows { stride } if *stride == length as u64 => format!("windows of {length}"),
            Rows::Windows { stride } => format!("windows of {length}, {stride} tokens apart"),
            Rows::Gpt(_) => format!("GPT samples of {length} with seed {}", self.options.seed),
        };
        let files =
            if self.files.len() == 1 { "1 file".to_owned() } else { format!("{} files", self.files.len()) };
        format!("tokens: {files}, {tokens} tokens, {how}")
    }

    fn damage(&self) -> Vec<String> {
        let drifting = |file: &TokenFile| {
            let index = file.index()?;
            let surplus = index.surplus()?;
            let done = if index.is_repaired() { "counted in" } else { "ignored" };
            Some(format!("{}: {} bytes that the index does not count are {done}", file.path(), surplus.bytes))
        };
        self.files.iter().filter_map(drifting).collect()
    }
}
