//! Arrow IPC: a block is a record batch. Files (Feather v2) list their batches in a footer. Streams, the format of
//! Hugging Face data, are scanned once from header to header.

mod index;
mod own;

use crate::{
    field::even,
    open::{TableFormat, hugging_face, open, params},
    shard::{Blocks, bytes::ShardBytes},
};
use arrow_array::ArrayRef;
use arrow_buffer::Buffer;
use arrow_ipc::{Block, CompressionType, MetadataVersion, reader::FileDecoder, root_as_message};
use arrow_schema::SchemaRef;
use index::{IpcIndex, MessagePlace};
use infeed_core::{Can, Error, FormatEntry, Magic, Result, blocks::probe};
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

/// The format.
pub(crate) const FORMAT: TableFormat = TableFormat {
    entry: FormatEntry {
        name: "arrow",
        about: "Feather, Arrow IPC files and streams, data sets that Hugging Face saved",
        details: "A field per column, as in `parquet`. A folder that `save_to_disk` wrote, or one of the cache of Hugging \
                  Face's data sets, is read as the files that it lists; `split` chooses among its parts.",
        params: &[
            params::COLUMNS,
            params::WHERE,
            params::NULLS,
            params::FILL,
            params::LISTS,
            params::SPLIT,
            params::READ,
            params::FILES,
            params::MATRIX,
        ],
        endings: &[".arrow", ".feather", ".ipc", ".arrows"],
        // A stream begins with the continuation marker of its first message.
        magic: &[Magic { at: 0, bytes: b"ARROW1" }, Magic { at: 0, bytes: &[0xff; 4] }],
        can: Can { blocks: true, ..Can::ROWS },
        recognise: None,
        recognise_folder: Some(hugging_face::recognise),
        open,
    },
    shards: |files| files.each(|bytes| Ok(Arc::new(IpcShard::open(bytes)?))),
    data_sets: true,
};

/// One file.
#[derive(Debug)]
pub(crate) struct IpcShard {
    input: ShardBytes,
    schema: SchemaRef,
    version: MetadataVersion,
    index: IpcIndex,
    rows: Vec<u64>,
}

impl IpcShard {
    fn open(input: ShardBytes) -> Result<Self> {
        let opened = catch_unwind(AssertUnwindSafe(|| index::read(&input)));
        let index =
            opened.unwrap_or_else(|_| Err(input.damaged(0, "its headers are invalid; write it again")))?;
        let rows = index.batches.iter().map(|batch| batch.rows).collect();
        Ok(IpcShard { input, schema: index.schema.clone(), version: index.version, index, rows })
    }

    /// Returns header and body of a message, and Arrow's description of it.
    fn message(&self, part: &MessagePlace) -> Result<(Block, Buffer)> {
        let bytes = self.input.get(part.start, part.head + part.body)?;
        // The offset does not matter: the buffer begins with the message.
        Ok((Block::new(0, part.head as i32, part.body as i64), Buffer::from(bytes)))
    }

    /// Checks the sizes that a message claims, behind others with `before` bytes. How many there are with it.
    fn claimed(&self, message: &[u8], part: &MessagePlace, before: u64) -> Result<u64> {
        let own = claims(message, part).map_err(|what| self.failed(part, what))?;
        let bytes = before.saturating_add(own);
        self.input.limit.check(bytes)?;
        probe(own)?;
        Ok(bytes)
    }

    fn failed(&self, part: &MessagePlace, what: impl std::fmt::Display) -> Error {
        let start = part.start;
        Error::sample(format!(
            "it cannot be decoded ({what}, at byte {start}); write the file again or leave it out"
        ))
    }
}

impl Blocks for IpcShard {
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
        "record batch"
    }

    fn read(&self, block: usize, columns: &[usize]) -> Result<Vec<ArrayRef>> {
        let batch = &self.index.batches[block];
        let mut decoder =
            FileDecoder::new(self.schema.clone(), self.version).with_projection(columns.to_vec());
        let mut bytes = 0;
        for part in &self.index.dictionaries[..batch.dictionaries] {
            let (about, buffer) = self.message(part)?;
            bytes = self.claimed(&buffer, part, bytes)?;
            decoder.read_dictionary(&about, &buffer).map_err(|e| self.failed(part, e))?;
        }
        let (about, buffer) = self.message(&batch.part)?;
        self.claimed(&buffer, &batch.part, bytes)?;
        let read = decoder.read_record_batch(&about, &buffer).map_err(|e| self.failed(&batch.part, e))?;
        let read = read.ok_or_else(|| self.failed(&batch.part, "it is not there"))?;
        if !self.input.is_mapped() {
            return Ok(read.columns().to_vec());
        }
        read.columns().iter().map(|column| own::own(column, &self.input.limit)).collect()
    }

    fn will_read(&self, block: usize, _columns: &[usize]) {
        let part = &self.index.batches[block].part;
        self.input.will_read(&[(part.start, part.head + part.body)]);
    }

    /// The first and the last batch stand for all.
    fn list_len(&self, column: usize) -> Option<usize> {
        let filled = || (0..self.rows.len()).filter(|block| self.rows[*block] > 0);
        let (first, last) = (filled().next()?, filled().next_back()?);
        let len = |block| even::list_len(crate::shard::read(self, block, &[column]).ok()?.0.first()?);
        len(first).filter(|found| first == last || len(last) == Some(*found))
    }

    fn column_bytes(&self, _column: usize) -> u64 {
        self.input.len / self.schema.fields().len().max(1) as u64
    }
}

/// The largest plausible expansion of a compressed buffer: larger claims are rejected before allocating memory.
const GROWTH: u64 = 1 << 17;

/// Checks the sizes that compressed buffers claim, and returns their sum. Uncompressed buffers are used in place and count
/// as 0.
fn claims(message: &[u8], part: &MessagePlace) -> Result<u64, String> {
    let (head, body) = message.split_at_checked(part.head as usize).ok_or("it is cut off")?;
    // The length and its marker precede the header.
    let head = head.get(part.skip as usize..).ok_or("its header is cut off")?;
    let message = root_as_message(head).map_err(|e| e.to_string())?;
    let batch = match message.header_as_dictionary_batch() {
        Some(dictionary) => dictionary.data(),
        None => message.header_as_record_batch(),
    };
    let Some(batch) = batch else { return Err("it is no record batch".to_owned()) };
    let compressed = batch
        .compression()
        .is_some_and(|c| c.codec() == CompressionType::LZ4_FRAME || c.codec() == CompressionType::ZSTD);
    let mut total = 0u64;
    for buffer in batch.buffers().into_iter().flatten() {
        let (offset, len) = (buffer.offset(), buffer.length());
        let end = offset.checked_add(len).filter(|end| offset >= 0 && len >= 0 && *end <= body.len() as i64);
        let Some(end) = end else { return Err("a buffer lies outside of it".to_owned()) };
        if compressed && len > 0 {
            let Some(claim) = body[offset as usize..end as usize].first_chunk::<8>() else {
                return Err("a compressed buffer is too short".to_owned());
            };
            let claim = i64::from_le_bytes(*claim);
            let most = (len as u64).saturating_mul(GROWTH).saturating_add(1 << 26);
            if claim > 0 && claim as u64 > most {
                return Err(format!("a buffer of {len} bytes claims to hold {claim}"));
            }
            total = total.saturating_add(u64::try_from(claim).unwrap_or(0));
        }
    }
    Ok(total)
}
