//! What stands before the first block: the schema, how blocks are compressed, and the marker behind each of them.

use super::codec::Codec;
use crate::shard::bytes::ShardBytes;
use infeed_core::{Bytes, Error, Result};

const MAGIC: &[u8] = b"Obj\x01";

/// Bytes of the marker.
pub(super) const SYNC: usize = 16;

#[derive(Debug)]
pub(super) struct Header {
    pub(super) schema: Bytes,
    pub(super) codec: Codec,
    pub(super) sync: Bytes,
    /// Where the first block begins.
    pub(super) len: u64,
}

pub(super) fn read(input: &ShardBytes) -> Result<Header> {
    if input.len < 4 || &input.get(0, 4)?[..] != MAGIC {
        return Err(input.damaged(0, "this is no Avro file: it does not begin with `Obj`"));
    }
    let mut most = input.len.min(1 << 16);
    loop {
        let bytes = input.get(0, most)?;
        if let Some(pairs) = pairs(&bytes) {
            return pairs.header(input, &bytes);
        }
        if most == input.len || most >= 1 << 28 {
            return Err(input.damaged(4, "its header is cut off or damaged"));
        }
        most = (most * 16).min(input.len);
    }
}

/// Where the values of the header lie.
#[derive(Default)]
struct Pairs {
    schema: Option<(usize, usize)>,
    codec: Option<(usize, usize)>,
    /// Where the marker begins.
    end: usize,
}

impl Pairs {
    fn header(&self, input: &ShardBytes, bytes: &Bytes) -> Result<Header> {
        let part = |place: (usize, usize)| bytes.slice(place.0..place.1);
        let schema = self.schema.map(part).ok_or_else(|| input.damaged(4, "its header has no schema"))?;
        let codec = Codec::parse(&self.codec.map(part).unwrap_or_default())
            .map_err(|what| Error::argument(format!("`{}`: {what}", input.name)))?;
        let end = self.end + SYNC;
        Ok(Header { schema, codec, sync: bytes.slice(self.end..end), len: end as u64 })
    }
}

/// Goes through the pairs; `None` when there are too few bytes.
fn pairs(all: &[u8]) -> Option<Pairs> {
    let mut found = Pairs::default();
    let mut rest = all.get(MAGIC.len()..)?;
    loop {
        let mut count = zigzag(&mut rest)?;
        if count == 0 {
            break;
        }
        if count < 0 {
            // Then the size of the pairs in bytes comes before them.
            zigzag(&mut rest)?;
            count = count.checked_neg()?;
        }
        for _ in 0..count {
            let key = text(all, &mut rest)?;
            let value = text(all, &mut rest)?;
            match &all[key.0..key.1] {
                b"avro.schema" => found.schema = Some(value),
                b"avro.codec" => found.codec = Some(value),
                _ => {}
            }
        }
    }
    found.end = all.len() - rest.len();
    rest.get(SYNC..).map(|_| found)
}

/// Where a text lies that comes next.
fn text(all: &[u8], rest: &mut &[u8]) -> Option<(usize, usize)> {
    let len = usize::try_from(zigzag(rest)?).ok()?;
    let start = all.len() - rest.len();
    *rest = rest.get(len..)?;
    Some((start, start + len))
}

/// A number in zigzag form, of seven bits a byte.
pub(super) fn zigzag(bytes: &mut &[u8]) -> Option<i64> {
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

/// The bytes of a number in that form.
pub(super) fn put(number: u64, out: &mut Vec<u8>) {
    let mut left = u128::from(number) << 1;
    while left > 127 {
        out.push(left as u8 & 127 | 128);
        left >>= 7;
    }
    out.push(left as u8);
}

/// A header of our own, of a file whose blocks are not compressed.
pub(super) fn plain(schema: &str, sync: &[u8]) -> Vec<u8> {
    const KEY: &[u8] = b"avro.schema";
    let mut out = Vec::with_capacity(schema.len() + 64);
    out.extend_from_slice(MAGIC);
    put(1, &mut out);
    put(KEY.len() as u64, &mut out);
    out.extend_from_slice(KEY);
    put(schema.len() as u64, &mut out);
    out.extend_from_slice(schema.as_bytes());
    put(0, &mut out);
    out.extend_from_slice(sync);
    out
}
