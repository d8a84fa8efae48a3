//! The fast path: decodes number columns in the most common encodings (plain and dictionary), page by page into one
//! array. The general reader does the same in more steps and handles everything else.

use super::{
    ParquetShard,
    bits::{Run, Runs, unpack},
    chunk::Chunks,
};
use crate::block::recycle::Recycled;
use ::parquet::{
    basic::{Encoding, Type},
    column::page::{Page, PageReader},
    file::{metadata::ColumnChunkMetaData, serialized_reader::SerializedPageReader},
};
use arrow_array::{
    ArrayRef, PrimitiveArray,
    types::{
        ArrowPrimitiveType, Date32Type, Float32Type, Float64Type, Int32Type, Int64Type, UInt32Type,
        UInt64Type,
    },
};
use arrow_buffer::{ArrowNativeType, BooleanBufferBuilder, Buffer, NullBuffer, ScalarBuffer};
use arrow_schema::DataType;
use infeed_core::{Bytes, Error, Result};
use std::sync::Arc;

/// Decodes a column of a row group; `None` if the general reader must do it.
pub(super) fn decode(
    shard: &ParquetShard,
    block: usize,
    column: usize,
    parts: &[(u64, Bytes)],
) -> Result<Option<ArrayRef>> {
    let Some(chunk) = shard.leaf(block, column) else { return Ok(None) };
    let [(start, bytes)] = parts else { return Ok(None) };
    let mut chunks = Chunks::new(shard.input.len);
    chunks.push(*start, bytes.clone());
    let from = Leaf { chunk, chunks: Arc::new(chunks), rows: shard.rows[block] as usize };
    match shard.arrow_type(column) {
        DataType::Float32 => typed::<Float32Type, u32>(from, Type::FLOAT),
        DataType::Float64 => typed::<Float64Type, u64>(from, Type::DOUBLE),
        DataType::Int32 => typed::<Int32Type, u32>(from, Type::INT32),
        DataType::UInt32 => typed::<UInt32Type, u32>(from, Type::INT32),
        DataType::Date32 => typed::<Date32Type, u32>(from, Type::INT32),
        DataType::Int64 => typed::<Int64Type, u64>(from, Type::INT64),
        DataType::UInt64 => typed::<UInt64Type, u64>(from, Type::INT64),
        _ => Ok(None),
    }
}

/// A column of one leaf in one row group.
struct Leaf<'a> {
    chunk: &'a ColumnChunkMetaData,
    chunks: Arc<Chunks>,
    rows: usize,
}

/// Numbers of four or eight bytes, of any type.
trait Word: ArrowNativeType + Recycled {
    /// The bytes of one number.
    type Cell: Copy;

    /// Splits bytes into cells and a remainder.
    fn cells(bytes: &[u8]) -> (&[Self::Cell], &[u8]);

    fn from_cell(cell: &Self::Cell) -> Self;
}

impl Word for u32 {
    type Cell = [u8; 4];

    fn cells(bytes: &[u8]) -> (&[[u8; 4]], &[u8]) {
        bytes.as_chunks()
    }

    fn from_cell(cell: &[u8; 4]) -> Self {
        u32::from_le_bytes(*cell)
    }
}

impl Word for u64 {
    type Cell = [u8; 8];

    fn cells(bytes: &[u8]) -> (&[[u8; 8]], &[u8]) {
        bytes.as_chunks()
    }

    fn from_cell(cell: &[u8; 8]) -> Self {
        u64::from_le_bytes(*cell)
    }
}

fn typed<T: ArrowPrimitiveType, W: Word>(
    Leaf { chunk, chunks, rows }: Leaf<'_>,
    physical: Type,
) -> Result<Option<ArrayRef>> {
    let known = |encoding| {
        use Encoding::{BYTE_STREAM_SPLIT, DELTA_BINARY_PACKED};
        !matches!(encoding, DELTA_BINARY_PACKED | BYTE_STREAM_SPLIT)
    };
    let levels = (chunk.column_descr().max_rep_level(), chunk.column_descr().max_def_level());
    if chunk.column_type() != physical || !matches!(levels, (0, 0 | 1)) || !chunk.encodings().all(known) {
        return Ok(None);
    }
    let fail = |what: &dyn std::fmt::Display| {
        let name = chunk.column_descr().name();
        Error::sample(format!("column `{name}` is damaged ({what}); write the file again or leave it out"))
    };
    let mut pages = SerializedPageReader::new(chunks, chunk, rows, None).map_err(|e| fail(&e))?;
    let mut out = Values::<W> { optional: levels.1 == 1, values: W::take(rows), ..Values::default() };
    while out.values.len() < rows {
        let page = pages.get_next_page().map_err(|e| fail(&e))?;
        let Some(page) = page else {
            return Err(fail(&format!("it ends after {} of {rows} values", out.values.len())));
        };
        match out.page(&page, rows) {
            Ok(true) => {}
            // An encoding that the footer did not list.
            Ok(false) => return Ok(None),
            Err(what) => return Err(fail(&what)),
        }
    }
    let nulls = out.nulls.as_mut().map(|nulls| NullBuffer::new(nulls.finish()));
    let count = out.values.len();
    let values = ScalarBuffer::<T::Native>::new(Buffer::from_vec(out.values), 0, count);
    Ok(Some(Arc::new(PrimitiveArray::<T>::new(values, nulls))))
}

/// The values decoded so far.
#[derive(Default)]
struct Values<W> {
    optional: bool,
    /// The raw dictionary page; values are read from it in place.
    dictionary: Bytes,
    values: Vec<W>,
    /// Created at the first null.
    nulls: Option<BooleanBufferBuilder>,
}

const SHORT: &str = "a page ends too early";

impl<W: Word> Values<W> {
    /// Decodes a page; returns false for an unsupported encoding.
    fn page(&mut self, page: &Page, rows: usize) -> Result<bool, &'static str> {
        let (bytes, count, encoding, levels) = match page {
            Page::DictionaryPage { buf, num_values, .. } => {
                let len = *num_values as usize * size_of::<W>();
                if len > buf.len() {
                    return Err(SHORT);
                }
                self.dictionary = buf.slice(..len);
                return Ok(true);
            }
            Page::DataPage { buf, num_values, encoding, def_level_encoding, .. } => {
                if !self.optional {
                    (&buf[..], *num_values, *encoding, &[][..])
                } else if *def_level_encoding != Encoding::RLE {
                    return Ok(false);
                } else {
                    let (len, rest) = buf.split_first_chunk::<4>().ok_or(SHORT)?;
                    let len = u32::from_le_bytes(*len) as usize;
                    let (levels, values) = rest.split_at_checked(len).ok_or(SHORT)?;
                    (values, *num_values, *encoding, levels)
                }
            }
            Page::DataPageV2 {
                buf, num_values, encoding, def_levels_byte_len, rep_levels_byte_len, ..
            } => {
                let (_, rest) = buf.split_at_checked(*rep_levels_byte_len as usize).ok_or(SHORT)?;
                let (levels, values) = rest.split_at_checked(*def_levels_byte_len as usize).ok_or(SHORT)?;
                (values, *num_values, *encoding, levels)
            }
        };
        let count = count as usize;
        let before = self.values.len();
        if count > rows - before {
            return Err("it has more values than rows");
        }
        let valid = if self.optional { self.levels(levels, count)? } else { count };
        self.values.try_reserve(count).map_err(|_| "there is not enough memory for its values")?;
        match encoding {
            Encoding::PLAIN => {
                let bytes = bytes.get(..valid * size_of::<W>()).ok_or(SHORT)?;
                self.values.extend(W::cells(bytes).0.iter().map(W::from_cell));
            }
            Encoding::RLE_DICTIONARY | Encoding::PLAIN_DICTIONARY => self.places(bytes, valid)?,
            _ => return Ok(false),
        }
        if valid < count {
            self.spread(before, count);
        }
        Ok(true)
    }

    /// Reads which values are present and returns their number.
    fn levels(&mut self, bytes: &[u8], count: usize) -> Result<usize, &'static str> {
        let mut runs = Runs::new(bytes, 1).ok_or(SHORT)?;
        let mut left = count;
        let mut valid = 0;
        let before = self.values.len();
        while left > 0 {
            let run = runs.next(left).ok_or(SHORT)?;
            if let (Run::Same(1, len), None) = (&run, &self.nulls)
                && *len == left
                && left == count
            {
                return Ok(count);
            }
            let nulls = self.nulls.get_or_insert_with(|| {
                let mut nulls = BooleanBufferBuilder::new(before + count);
                nulls.append_n(before, true);
                nulls
            });
            match run {
                Run::Same(level, len) => {
                    nulls.append_n(len, level == 1);
                    valid += if level == 1 { len } else { 0 };
                    left -= len;
                }
                Run::Packed(bytes, len) => {
                    nulls.append_packed_range(0..len, bytes);
                    valid += (0..len).filter(|i| bytes[i / 8] >> (i % 8) & 1 == 1).count();
                    left -= len;
                }
            }
        }
        Ok(valid)
    }

    /// Decodes values from dictionary indices.
    fn places(&mut self, bytes: &[u8], count: usize) -> Result<(), &'static str> {
        let Values { dictionary, values, .. } = self;
        let (dictionary, _) = W::cells(dictionary);
        const OUTSIDE: &str = "a value is not in the dictionary";
        if count == 0 {
            return Ok(());
        }
        let (width, bytes) = bytes.split_first().ok_or(SHORT)?;
        let mut runs = Runs::new(bytes, usize::from(*width)).ok_or("places have more than 32 bits")?;
        let mut left = count;
        while left > 0 {
            let len = match runs.next(left).ok_or(SHORT)? {
                Run::Same(place, len) => {
                    let value = W::from_cell(dictionary.get(place as usize).ok_or(OUTSIDE)?);
                    values.resize(values.len() + len, value);
                    len
                }
                Run::Packed(packed, len) => {
                    let end = values.len() + len;
                    let ok = unpack(usize::from(*width), packed, len, |places| {
                        let most = places.iter().fold(0, |a, b| a.max(*b));
                        if (most as usize) < dictionary.len() {
                            values.extend_from_slice(
                                &places.map(|place| W::from_cell(&dictionary[place as usize])),
                            );
                            return true;
                        }
                        // Padding after the last value may be arbitrary.
                        let some = places[..(end - values.len()).min(8)].iter();
                        let found: Option<Vec<W>> =
                            some.map(|p| dictionary.get(*p as usize).map(W::from_cell)).collect();
                        found.is_some_and(|found| {
                            values.extend_from_slice(&found);
                            true
                        })
                    });
                    if !ok {
                        return Err(OUTSIDE);
                    }
                    values.truncate(end);
                    len
                }
            };
            left -= len;
        }
        Ok(())
    }

    /// Moves the values of a page to their rows; null rows get zero.
    fn spread(&mut self, before: usize, count: usize) {
        let Some(nulls) = &self.nulls else { return };
        let mut from = self.values.len();
        self.values.resize(before + count, W::default());
        for row in (before..before + count).rev() {
            self.values[row] = if nulls.get_bit(row) {
                from -= 1;
                self.values[from]
            } else {
                W::default()
            };
        }
    }
}
