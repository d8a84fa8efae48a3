//! Avro object container files: a block of rows is a block of the file.

use crate::{
    open::{TableFormat, open, params},
    shard::{Blocks, bytes::ShardBytes},
};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_avro::reader::ReaderBuilder;
use arrow_schema::SchemaRef;
use infeed_core::{Bytes, Can, Error, FormatEntry, Magic, Result};
use std::{
    io::Cursor,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

/// The format.
pub(crate) const FORMAT: TableFormat = TableFormat {
    entry: FormatEntry {
        name: "avro",
        about: "Avro object container files",
        details: "A field per column, as in `parquet`. The blocks of a file are what is decoded as a whole and shuffled.",
        params: &[params::COLUMNS, params::WHERE, params::NULLS, params::FILL, params::READ, params::MATRIX],
        endings: &[".avro"],
        magic: &[Magic { at: 0, bytes: b"Obj\x01" }],
        can: Can { blocks: true, ..Can::ROWS },
        recognise: None,
        recognise_folder: None,
        open,
    },
    shards: |files| files.each(|bytes| Ok(Arc::new(AvroShard::open(bytes)?))),
    data_sets: false,
};

const SYNC: u64 = 16;

/// Bytes read to parse the two numbers before a block.
const PEEK: u64 = 20;

/// One file.
#[derive(Debug)]
pub(crate) struct AvroShard {
    input: ShardBytes,
    /// Everything before the first block: magic, metadata, sync marker.
    header: Bytes,
    schema: SchemaRef,
    rows: Vec<u64>,
    /// Start and length of each block, including its numbers and its sync marker.
    places: Vec<(u64, u64)>,
}

impl AvroShard {
    fn open(input: ShardBytes) -> Result<Self> {
        let header = header(&input)?;
        let sync = header.slice(header.len() - SYNC as usize..);
        let (mut rows, mut places) = (vec![], vec![]);
        let mut at = header.len() as u64;
        while at < input.len {
            let peek = input.get(at, PEEK.min(input.len - at))?;
            let mut numbers = &peek[..];
            let (Some(count), Some(size)) = (zigzag(&mut numbers), zigzag(&mut numbers)) else {
                return Err(
                    input.damaged(at, format!("block {} has no length: the file was cut off", rows.len()))
                );
            };
            let lead = (peek.len() - numbers.len()) as u64;
            let (Ok(count), Ok(size)) = (u64::try_from(count), u64::try_from(size)) else {
                return Err(input.damaged(at, format!("block {} has a negative length", rows.len())));
            };
            let len = lead.checked_add(size).and_then(|len| len.checked_add(SYNC));
            let end = len.and_then(|len| at.checked_add(len)).filter(|end| *end <= input.len);
            let (Some(len), Some(end)) = (len, end) else {
                let what =
                    format!("block {} has {size} bytes and the file ends before: it was cut off", rows.len());
                return Err(input.damaged(at, what));
            };
            if input.get(end - SYNC, SYNC)? != sync {
                let what =
                    format!("the sync marker after block {} is wrong: the block is damaged", rows.len());
                return Err(input.damaged(end - SYNC, what));
            }
            if count > u64::from(u32::MAX) {
                return Err(input.damaged(at, format!("block {} claims {count} rows", rows.len())));
            }
            if count > 0 {
                rows.push(count);
                places.push((at, len));
            }
            at = end;
        }
        let schema = catch_unwind(AssertUnwindSafe(|| {
            ReaderBuilder::new().build(Cursor::new(&header)).map(|reader| reader.schema())
        }));
        let schema = match schema {
            Ok(Ok(schema)) => schema,
            Ok(Err(e)) => return Err(input.damaged(4, format!("its schema cannot be used: {e}"))),
            Err(_) => return Err(input.damaged(4, "its schema cannot be used")),
        };
        Ok(AvroShard { input, header, schema, rows, places })
    }
}

/// Returns the bytes before the first block.
fn header(input: &ShardBytes) -> Result<Bytes> {
    let none = || input.damaged(0, "this is no Avro file: it does not begin with `Obj`");
    if input.len < 4 || &input.get(0, 4)?[..] != b"Obj\x01" {
        return Err(none());
    }
    let cut = || input.damaged(4, "its header is cut off or damaged");
    let mut most = input.len.min(1 << 16);
    loop {
        let bytes = input.get(0, most)?;
        if let Some(len) = metadata(&bytes[4..]) {
            return Ok(bytes.slice(..4 + len));
        }
        if most == input.len || most >= 1 << 28 {
            return Err(cut());
        }
        most = (most * 16).min(input.len);
    }
}

/// Returns the length of the metadata and the sync marker; `None` if there are too few bytes.
fn metadata(all: &[u8]) -> Option<usize> {
    let mut rest = all;
    loop {
        let mut count = zigzag(&mut rest)?;
        if count == 0 {
            break;
        }
        if count < 0 {
            // The size of the pairs in bytes precedes them.
            zigzag(&mut rest)?;
            count = count.checked_neg()?;
        }
        for _ in 0..count.checked_mul(2)? {
            let len = usize::try_from(zigzag(&mut rest)?).ok()?;
            rest = rest.get(len..)?;
        }
    }
    rest.get(SYNC as usize..).map(|after| all.len() - after.len())
}

/// Parses a zigzag-encoded variable-length integer.
fn zigzag(bytes: &mut &[u8]) -> Option<i64> {
    let mut value = 0u64;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 127) << shift;
        if byte & 128 == 0 {
            return Some((value >> 1) as i64 ^ -((value & 1) as i64));
        }
    }
    None
}

impl Blocks for AvroShard {
    fn name(&self) -> &str {
        &self.input.name
    }

    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn block_rows(&self) -> &[u64] {
        &self.rows
    }

    fn noun(&self) -> &'static str {
        "block"
    }

    fn read(&self, block: usize, columns: &[usize]) -> Result<Vec<ArrayRef>> {
        let fail = |what: &dyn std::fmt::Display| {
            Error::sample(format!("it cannot be decoded ({what}); write the file again or leave it out"))
        };
        let (start, len) = self.places[block];
        // Build a file with only this block.
        let mut file = Vec::with_capacity(self.header.len() + len as usize);
        file.extend_from_slice(&self.header);
        file.extend_from_slice(&self.input.get(start, len)?);
        let reader = ReaderBuilder::new()
            .with_batch_size((self.rows[block] as usize).clamp(1, 1 << 16))
            .with_projection(columns.to_vec())
            .build(Cursor::new(file))
            .map_err(|e| fail(&e))?;
        let schema = reader.schema();
        let batches: Vec<RecordBatch> = reader.collect::<Result<_, _>>().map_err(|e| fail(&e))?;
        let whole = arrow_select::concat::concat_batches(&schema, &batches).map_err(|e| fail(&e))?;
        Ok(whole.columns().to_vec())
    }

    fn column_bytes(&self, _column: usize) -> u64 {
        self.input.len / self.schema.fields().len().max(1) as u64
    }
}
