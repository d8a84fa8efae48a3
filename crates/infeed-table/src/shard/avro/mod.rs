//! Avro object container files: a block of rows is a block of the file.
//!
//! The library trusts what a file says. So the header is read here, the schema is checked before it is used, blocks are
//! unpacked here, and the library gets one block at a time, as a file of its own that is not compressed.

mod codec;
mod header;
mod schema;

use crate::{
    open::{TableFormat, open, params},
    shard::{Blocks, bytes::ShardBytes},
};
use arrow_array::ArrayRef;
use arrow_avro::{reader::ReaderBuilder, schema::AvroSchema};
use arrow_schema::SchemaRef;
use header::{Header, SYNC, zigzag};
use infeed_core::{Can, Error, FormatEntry, Magic, Result};
use schema::AvroTypes;
use std::{
    io::{Cursor, Read},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

/// The format.
pub(crate) const FORMAT: TableFormat = TableFormat {
    entry: FormatEntry {
        name: "avro",
        about: "Avro object container files",
        details: "A field per column, as in `parquet`. The blocks of a file are what is decoded as a whole and shuffled.",
        params: &[
            params::COLUMNS,
            params::WHERE,
            params::NULLS,
            params::FILL,
            params::READ,
            params::FILES,
            params::MATRIX,
        ],
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

/// Bytes read to parse the two numbers before a block.
const PEEK: u64 = 20;

/// Rows that a block is said to have beyond those that it has, so that bytes behind the last one are read as rows, too, and
/// found. The library reads such bytes for ever when no row is left.
const BEYOND: u64 = 1 << 40;

/// One file.
#[derive(Debug)]
pub(crate) struct AvroShard {
    input: ShardBytes,
    header: Header,
    types: AvroTypes,
    /// What a file begins with that has one block of this one.
    front: Vec<u8>,
    schema: SchemaRef,
    rows: Vec<u64>,
    /// Where the bytes of each block lie, and how many they are.
    places: Vec<(u64, u64)>,
}

impl AvroShard {
    fn open(input: ShardBytes) -> Result<Self> {
        let header = header::read(&input)?;
        let unusable = |what: &str| input.damaged(4, format!("its schema cannot be used: {what}"));
        let types = AvroTypes::new(&header.schema).map_err(|what| unusable(&what))?;
        let front = header::plain(&types.root.to_string(), &header.sync);
        let schema = catch_unwind(AssertUnwindSafe(|| {
            ReaderBuilder::new().build(Cursor::new(&front)).map(|reader| reader.schema())
        }));
        let schema = match schema {
            Ok(Ok(schema)) => schema,
            Ok(Err(e)) => return Err(unusable(&e.to_string())),
            Err(_) => return Err(unusable("it makes no sense")),
        };
        let (rows, places) = blocks(&input, &header, types.width)?;
        Ok(AvroShard { input, header, types, front, schema, rows, places })
    }
}

/// Rows of every block, and where its bytes lie.
type BlockPlaces = (Vec<u64>, Vec<(u64, u64)>);

/// Goes from block to block.
fn blocks(input: &ShardBytes, header: &Header, width: u64) -> Result<BlockPlaces> {
    let (mut rows, mut places) = (vec![], vec![]);
    let sync = SYNC as u64;
    let mut at = header.len;
    while at < input.len {
        let number = rows.len();
        let peek = input.get(at, PEEK.min(input.len - at))?;
        let mut numbers = &peek[..];
        let (Some(count), Some(size)) = (zigzag(&mut numbers), zigzag(&mut numbers)) else {
            return Err(input.damaged(at, format!("block {number} has no length: the file was cut off")));
        };
        let (Ok(count), Ok(size)) = (u64::try_from(count), u64::try_from(size)) else {
            return Err(input.damaged(at, format!("block {number} has a negative length")));
        };
        let start = at + (peek.len() - numbers.len()) as u64;
        let end = start.checked_add(size).and_then(|end| end.checked_add(sync));
        let Some(end) = end.filter(|end| *end <= input.len) else {
            let what = format!("block {number} has {size} bytes and the file ends before: it was cut off");
            return Err(input.damaged(at, what));
        };
        if input.get(end - sync, sync)? != header.sync {
            let what = format!("the sync marker after block {number} is wrong: the block is damaged");
            return Err(input.damaged(end - sync, what));
        }
        let fits = header.codec != codec::Codec::None || fits(count, width, size);
        if count > u64::from(u32::MAX) || !fits {
            let what = format!("block {number} claims {count} rows and has {size} bytes");
            return Err(input.damaged(at, what));
        }
        if count == 0 && size > 0 && header.codec == codec::Codec::None {
            return Err(input.damaged(at, format!("block {number} has {size} bytes and no rows")));
        }
        if count > 0 {
            rows.push(count);
            places.push((start, size));
        }
        at = end;
    }
    Ok((rows, places))
}

/// Whether so many rows can be in so many bytes.
fn fits(rows: u64, width: u64, bytes: u64) -> bool {
    rows.checked_mul(width).is_some_and(|least| least <= bytes)
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
        let ((start, size), rows) = (self.places[block], self.rows[block]);
        let bytes = self.header.codec.unpack(self.input.get(start, size)?, &self.input.limit)?;
        if !fits(rows, self.types.width, bytes.len() as u64) {
            return Err(fail(&format!("it claims {rows} rows and has {} bytes", bytes.len())));
        }
        let mut front = self.front.clone();
        header::put(rows + BEYOND, &mut front);
        header::put(bytes.len() as u64, &mut front);
        let file = Cursor::new(front).chain(Cursor::new(&bytes)).chain(Cursor::new(&self.header.sync));
        let mut reader = ReaderBuilder::new().with_batch_size(rows as usize);
        if !columns.iter().copied().eq(0..self.schema.fields().len()) {
            reader = reader.with_reader_schema(AvroSchema::new(self.types.project(columns).to_string()));
        }
        let mut reader = reader.build(file).map_err(|e| fail(&e))?;
        // As many rows as the block has, and then nothing: the next ones would begin behind the last.
        let whole = match reader.next() {
            Some(batch) => batch.map_err(|e| fail(&e))?,
            None => return Err(fail(&"there are no rows in it")),
        };
        match reader.next() {
            None => Ok(whole.columns().to_vec()),
            Some(_) => Err(fail(&format!("there are bytes behind the last of its {rows} rows"))),
        }
    }

    fn column_bytes(&self, _column: usize) -> u64 {
        self.input.len / self.schema.fields().len().max(1) as u64
    }
}
