//! Finds the record batches of a file from their headers alone.

use crate::shard::{bytes::ShardBytes, depth};
use arrow_ipc::{
    Endianness, MessageHeader, MetadataVersion, convert::try_fb_to_schema, root_as_footer_with_opts,
    root_as_message, root_as_message_with_opts,
};
use arrow_schema::SchemaRef;
use flatbuffers::VerifierOptions;
use infeed_core::{Error, Result};
use std::sync::Arc;

/// A message: a header followed by a body.
#[derive(Debug, Clone, Copy)]
pub(super) struct MessagePlace {
    /// Where it starts.
    pub(super) start: u64,
    /// Bytes before the body, including length and padding.
    pub(super) head: u64,
    /// Bytes of the body.
    pub(super) body: u64,
    /// Bytes before the header: its length, and in newer files a marker.
    pub(super) skip: u64,
}

/// A record batch.
#[derive(Debug, Clone, Copy)]
pub(super) struct BatchPlace {
    pub(super) part: MessagePlace,
    pub(super) rows: u64,
    /// How many dictionaries precede it.
    pub(super) dictionaries: usize,
}

/// The contents of a file.
#[derive(Debug)]
pub(super) struct IpcIndex {
    pub(super) schema: SchemaRef,
    pub(super) version: MetadataVersion,
    pub(super) dictionaries: Vec<MessagePlace>,
    pub(super) batches: Vec<BatchPlace>,
}

const MAGIC: &[u8] = b"ARROW1";

/// Larger headers are rejected.
const HEADER: u64 = 1 << 28;

pub(super) fn read(input: &ShardBytes) -> Result<IpcIndex> {
    let head = input.get(0, input.len.min(8))?;
    if head.starts_with(MAGIC) {
        return file(input);
    }
    if head.starts_with(b"FEA1") {
        return Err(input.damaged(0, "this is Feather version 1: write it again as version 2"));
    }
    if head.starts_with(b"PAR1") {
        return Err(input.damaged(0, "this is a Parquet file, not Arrow; open it with infeed.parquet"));
    }
    stream(input)
}

fn file(input: &ShardBytes) -> Result<IpcIndex> {
    let cut = || input.damaged(input.len.saturating_sub(10), "its end is missing: the file was cut off");
    let end = input.len.checked_sub(10).ok_or_else(cut)?;
    let tail = input.get(end, 10)?;
    if &tail[4..] != MAGIC {
        return Err(cut());
    }
    let len = u64::from(u32::from_le_bytes([tail[0], tail[1], tail[2], tail[3]]));
    let start = end.checked_sub(len).ok_or_else(cut)?;
    let bytes = input.get(start, len)?;
    let footer =
        root_as_footer_with_opts(&deep(), &bytes).map_err(|e| no_header(input, start, &e.to_string()))?;
    let schema = footer.schema().ok_or_else(|| input.damaged(start, "its footer has no schema"))?;
    let mut index = IpcIndex {
        schema: columns(input, start, schema)?,
        version: footer.version(),
        dictionaries: vec![],
        batches: vec![],
    };
    for block in footer.dictionaries().into_iter().flatten() {
        index.dictionaries.push(place(input, block)?);
    }
    for block in footer.recordBatches().into_iter().flatten() {
        let part = place(input, block)?;
        let rows = match rows(input, &part)? {
            Some((MessageHeader::RecordBatch, rows)) => rows,
            _ => return Err(input.damaged(part.start, "a record batch should be here")),
        };
        index.batches.push(BatchPlace { part, rows, dictionaries: index.dictionaries.len() });
    }
    Ok(index)
}

/// Options that let headers be as deep as the deepest columns, plus the levels of the headers themselves.
fn deep() -> VerifierOptions {
    VerifierOptions { max_depth: depth::DEEPEST + 16, ..VerifierOptions::default() }
}

/// Converts a schema that can be read.
fn columns(input: &ShardBytes, at: u64, schema: arrow_ipc::Schema<'_>) -> Result<SchemaRef> {
    if schema.endianness() == Endianness::Big {
        return Err(Error::argument(format!(
            "the numbers of `{}` are big-endian, and only little-endian Arrow files are read: write it again on a usual \
             machine; pyarrow reads both",
            input.name
        )));
    }
    let mut open: Vec<(arrow_ipc::Field<'_>, usize)> =
        schema.fields().into_iter().flatten().map(|field| (field, 1)).collect();
    while let Some((field, level)) = open.pop() {
        if level > depth::DEEPEST + 1 {
            return Err(input.damaged(at, depth::too_deep()));
        }
        open.extend(field.children().into_iter().flatten().map(|child| (child, level + 1)));
    }
    let schema = try_fb_to_schema(schema).map_err(|e| no_header(input, at, &e.to_string()))?;
    Ok(Arc::new(schema))
}

/// Returns the location of a message according to the footer.
fn place(input: &ShardBytes, block: &arrow_ipc::Block) -> Result<MessagePlace> {
    let number =
        |n: i64| u64::try_from(n).map_err(|_| input.damaged(input.len, "its footer has negative numbers"));
    let start = number(block.offset())?;
    let mark = input.get(start, 4)?;
    let skip = if mark[..] == [0xff; 4] { 8 } else { 4 };
    let (head, body) = (number(block.metaDataLength().into())?, number(block.bodyLength())?);
    Ok(MessagePlace { start, head, body, skip })
}

fn stream(input: &ShardBytes) -> Result<IpcIndex> {
    let mut index: Option<IpcIndex> = None;
    let mut at = 0;
    while at < input.len {
        let Some(part) = next(input, at)? else { break };
        let header = input.get(at + part.skip, part.head - part.skip)?;
        let message =
            root_as_message_with_opts(&deep(), &header).map_err(|e| no_header(input, at, &e.to_string()))?;
        let body = u64::try_from(message.bodyLength())
            .map_err(|_| no_header(input, at, "its body has a negative length"))?;
        let part = MessagePlace { body, ..part };
        match (message.header_type(), &mut index) {
            (MessageHeader::Schema, None) => {
                let schema = message.header_as_schema();
                let schema = schema.ok_or_else(|| no_header(input, at, "there is no schema"))?;
                index = Some(IpcIndex {
                    schema: columns(input, at, schema)?,
                    version: message.version(),
                    dictionaries: vec![],
                    batches: vec![],
                });
            }
            (_, None) => return Err(no_header(input, at, "it does not begin with a schema")),
            (MessageHeader::DictionaryBatch, Some(index)) => index.dictionaries.push(part),
            (MessageHeader::RecordBatch, Some(index)) => {
                let batch = message.header_as_record_batch();
                let rows = batch.and_then(|batch| u64::try_from(batch.length()).ok());
                let rows = rows.filter(|rows| *rows <= u64::from(u32::MAX));
                let rows = rows.ok_or_else(|| no_header(input, at, "it has no number of rows"))?;
                index.batches.push(BatchPlace { part, rows, dictionaries: index.dictionaries.len() });
            }
            _ => {
                return Err(no_header(input, at, "only schema, dictionaries and record batches can be read"));
            }
        }
        at = part.start + part.head + part.body;
        if at > input.len {
            return Err(input.damaged(
                part.start,
                format!("a record batch should end at byte {at} and the file ends before: it was cut off"),
            ));
        }
    }
    index.ok_or_else(|| input.damaged(0, "this is no Arrow file: there is nothing in it"))
}

/// Returns the message at an offset, without its body; `None` at the end of the stream.
fn next(input: &ShardBytes, at: u64) -> Result<Option<MessagePlace>> {
    let word = |at: u64| -> Result<u32> {
        let bytes = input.get(at, 4)?;
        Ok(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    };
    let first = word(at)?;
    let (len, skip) = if first == u32::MAX { (word(at + 4)?, 8) } else { (first, 4) };
    if len == 0 {
        return Ok(None);
    }
    let len = u64::from(len);
    if len > HEADER || len > input.len {
        return Err(no_header(input, at, &format!("its header claims {len} bytes")));
    }
    Ok(Some(MessagePlace { start: at, head: skip + len, body: 0, skip }))
}

fn rows(input: &ShardBytes, part: &MessagePlace) -> Result<Option<(MessageHeader, u64)>> {
    let len = part.head.checked_sub(part.skip).filter(|len| *len <= HEADER);
    let len = len.ok_or_else(|| no_header(input, part.start, "its header has no length"))?;
    let header = input.get(part.start + part.skip, len)?;
    let message = root_as_message(&header).map_err(|e| no_header(input, part.start, &e.to_string()))?;
    let batch = message.header_as_record_batch();
    let rows = batch.and_then(|batch| u64::try_from(batch.length()).ok());
    Ok(rows.filter(|rows| *rows <= u64::from(u32::MAX)).map(|rows| (message.header_type(), rows)))
}

fn no_header(input: &ShardBytes, at: u64, what: &str) -> Error {
    if what.contains("depth limit") {
        return input.damaged(at, depth::too_deep());
    }
    input.damaged(at, format!("this is no Arrow file, or it is damaged here ({what}); write it again"))
}
