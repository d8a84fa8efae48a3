//! Rows of tokens for the engine.

mod far;
mod open;
mod rows;
#[cfg(test)]
mod tests;
mod write;

use crate::{Options, TokenFile, fields::Field, gpt::Samples};
use bytes::Bytes;
use infeed_core::{Dtype, Error, Record, Result, Source, Spec, Tensor, Value};
use std::{ops::Range, sync::Arc};

/// Windows or GPT samples over concatenated token files.
#[derive(Debug)]
pub struct TokenSource {
    files: Vec<TokenFile>,
    /// The tokens of each file that belong to the part of the split.
    parts: Vec<Range<u64>>,
    /// Where each file's tokens begin in the concatenation of all parts, followed by the end.
    begins: Vec<u64>,
    options: Options,
    rows: RowKind,
    /// Tokens per row, and how many are read for it.
    len: usize,
    need: usize,
    /// The largest value that is a valid token in each file, as bits; `None` if all are valid.
    limits: Vec<Option<u64>>,
    /// Whether every file is mapped.
    held: bool,
    spec: Spec,
    shard_rows: Vec<u64>,
    total: u64,
    /// Rows that are fetched together because the store is far away; none for files that are near.
    blocks: Vec<u64>,
}

/// Which tokens form a row.
#[derive(Debug)]
enum RowKind {
    Windows { stride: u64 },
    Gpt(Samples),
}

impl TokenSource {
    /// Returns the files, in order.
    pub fn files(&self) -> &[TokenFile] {
        &self.files
    }

    /// Returns the GPT samples, if the rows are GPT samples.
    pub fn samples(&self) -> Option<&Samples> {
        match &self.rows {
            RowKind::Gpt(samples) => Some(samples),
            RowKind::Windows { .. } => None,
        }
    }

    /// Returns the size in bytes of a field in every row.
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
}

/// Positions have eight bytes if tokens have, and four otherwise.
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

    fn row_bytes(&self, row: u64, _fields: &[Arc<str>]) -> u64 {
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

    fn will_fetch(&self, rows: &[u64], _fields: &[Arc<str>]) {
        // Only a hint: errors are reported when the rows are fetched. Mapped files are read by touching them.
        if !self.held {
            let _ = self.announce(rows);
        }
    }

    fn will_fetch_blocks(&self, rows: &[u64], _fields: &[Arc<str>]) {
        if !self.held {
            let _ = self.announce_blocks(rows);
        }
    }

    fn room_ahead(&self) -> Option<u64> {
        self.room()
    }

    fn ahead_for(&self, run: u64, step: u64, done: u64) {
        self.files.iter().for_each(|file| file.data().store().ahead_for(run, step, done));
    }

    fn forget_ahead(&self) {
        self.forget();
    }

    fn block_rows(&self) -> &[u64] {
        &self.blocks
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
                // The next row is elsewhere in memory: prefetch its bytes while this one is written.
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
            RowKind::Windows { stride } if *stride == length as u64 => format!("windows of {length}"),
            RowKind::Windows { stride } => format!("windows of {length}, {stride} tokens apart"),
            RowKind::Gpt(_) => format!("GPT samples of {length} with seed {}", self.options.seed),
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
