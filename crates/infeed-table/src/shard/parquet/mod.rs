//! Parquet: a block is a row group.

mod bits;
mod chunk;
mod column;
mod footer;
mod old_times;
mod pages;
mod ranges;
mod strangers;
mod thrift;

use crate::{
    field::even,
    open::{TableFormat, open, params},
    shard::{BadRow, Blocks, bytes::ShardBytes},
};
use ::parquet::arrow::{
    ProjectionMask,
    arrow_reader::{ArrowReaderMetadata, ParquetRecordBatchReaderBuilder},
};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::SchemaRef;
use chunk::Chunks;
use infeed_core::{Bytes, Can, Error, FormatEntry, Magic, Result, blocks::probe};
use infeed_order::filter::Range;
use old_times::OldTimes;
use std::sync::Arc;

/// The format.
pub(crate) const FORMAT: TableFormat = TableFormat {
    entry: FormatEntry {
        name: "parquet",
        about: "Parquet: row groups are decoded as a whole and shuffled as blocks",
        details: "A field per column; columns inside structs are called `a.b`. Row groups whose statistics rule `where` out \
                  are not read. Times are whole numbers of their unit, decimals are float64, lists of numbers are arrays (of one \
                  shape, where the file shows that all lists of a column have one length), other nested columns are JSON. A struct of `bytes` and `path`, as Hugging Face keeps images, is a field \
                  that `decode` takes like one of a tar.",
        params: &[
            params::COLUMNS,
            params::WHERE,
            params::NULLS,
            params::FILL,
            params::LISTS,
            params::READ,
            params::FILES,
            params::MATRIX,
        ],
        endings: &[".parquet", ".pq"],
        magic: &[Magic { at: 0, bytes: b"PAR1" }],
        can: Can { blocks: true, ..Can::ROWS },
        recognise: None,
        recognise_folder: None,
        open,
    },
    shards: |files| files.each(|bytes| Ok(Arc::new(ParquetShard::open(bytes)?))),
    data_sets: false,
};

/// Rows that are few enough to be read when a file is opened.
const FEW: u64 = 4096;
/// Rows decoded at a time by the general reader, so that the footer's claims do not determine the memory used.
const AT_ONCE: usize = 1 << 16;

/// One file.
#[derive(Debug)]
pub(crate) struct ParquetShard {
    input: ShardBytes,
    meta: ArrowReaderMetadata,
    rows: Vec<u64>,
    /// Start and end (exclusive) of the leaves of every top-level column.
    leaves: Vec<(usize, usize)>,
    /// Columns of an old type of times, where there are some.
    old_times: Option<OldTimes>,
}

impl ParquetShard {
    fn open(input: ShardBytes) -> Result<Self> {
        let meta = footer::read(&input)?;
        let mut rows = vec![];
        for (number, group) in meta.metadata().row_groups().iter().enumerate() {
            let count = u64::try_from(group.num_rows()).ok().filter(|n| *n <= u64::from(u32::MAX));
            rows.push(count.ok_or_else(|| {
                footer::bad(&input, &format!("row group {number} has {} rows", group.num_rows()))
            })?);
        }
        let schema = meta.parquet_schema();
        let mut leaves = vec![];
        for leaf in 0..schema.num_columns() {
            let root = schema.get_column_root_idx(leaf);
            if root == leaves.len() {
                leaves.push((leaf, leaf + 1));
            } else if let Some(last) = leaves.last_mut() {
                last.1 = leaf + 1;
            }
        }
        let old_times = OldTimes::find(&meta).map_err(|e| footer::bad(&input, &e.to_string()))?;
        Ok(ParquetShard { input, meta, rows, leaves, old_times })
    }

    /// Returns start and length of the column chunks of a row group.
    fn ranges(&self, block: usize, columns: &[usize]) -> Vec<(u64, u64)> {
        let group = self.meta.metadata().row_group(block);
        let leaves = columns.iter().flat_map(|column| self.leaves[*column].0..self.leaves[*column].1);
        leaves.map(|leaf| group.column(leaf).byte_range()).collect()
    }

    /// Reads the columns that the fast path does not support, with the types that `meta` gives them.
    fn general(
        &self,
        meta: &ArrowReaderMetadata,
        block: usize,
        columns: &[usize],
        parts: &[(u64, Bytes)],
    ) -> Result<Vec<ArrayRef>> {
        let mut chunks = Chunks::new(self.input.len);
        for (start, bytes) in parts {
            chunks.push(*start, bytes.clone());
        }
        let mask = ProjectionMask::roots(self.meta.parquet_schema(), columns.iter().copied());
        let rows = self.rows[block] as usize;
        let reader = ParquetRecordBatchReaderBuilder::new_with_metadata(chunks, meta.clone())
            .with_projection(mask)
            .with_row_groups(vec![block])
            .with_batch_size(rows.clamp(1, AT_ONCE))
            .build()
            .map_err(|e| failed(&e))?;
        let schema = arrow_array::RecordBatchReader::schema(&reader);
        let (mut batches, mut bytes): (Vec<RecordBatch>, u64) = (vec![], 0);
        for batch in reader {
            let batch = batch.map_err(|e| failed(&e))?;
            // Few bytes can stand for many: a dictionary of one long text, for example.
            bytes = bytes.saturating_add(batch.get_array_memory_size() as u64);
            self.input.limit.check(bytes)?;
            batches.push(batch);
        }
        let whole = match batches.len() {
            1 => batches.into_iter().next().unwrap_or_else(|| RecordBatch::new_empty(schema)),
            _ => arrow_select::concat::concat_batches(&schema, &batches).map_err(|e| failed(&e))?,
        };
        // The reader returns columns in file order.
        let mut order: Vec<usize> = columns.to_vec();
        order.sort_unstable();
        Ok(columns.iter().map(|c| whole.column(order.partition_point(|o| o < c)).clone()).collect())
    }
}

fn failed(what: &dyn std::fmt::Display) -> Error {
    Error::sample(format!("it cannot be decoded ({what}); write the file again or leave it out"))
}

impl Blocks for ParquetShard {
    fn name(&self) -> &str {
        &self.input.name
    }

    fn schema(&self) -> &SchemaRef {
        self.meta.schema()
    }

    fn block_rows(&self) -> &[u64] {
        &self.rows
    }

    fn noun(&self) -> &'static str {
        "row group"
    }

    fn read(&self, block: usize, columns: &[usize]) -> Result<Vec<ArrayRef>> {
        let (arrays, bad) = self.read_sound(block, columns)?;
        bad.into_iter().next().map_or(Ok(arrays), |(_, what)| Err(Error::sample(what)))
    }

    fn read_sound(&self, block: usize, columns: &[usize]) -> Result<(Vec<ArrayRef>, Vec<BadRow>)> {
        let group = self.meta.metadata().row_group(block);
        let ranges = self.ranges(block, columns);
        let parts = ranges.iter().map(|range| range.0).zip(self.input.get_all(&ranges)?);
        let parts: Vec<(u64, Bytes)> = parts.collect();
        let leaves = columns.iter().flat_map(|column| self.leaves[*column].0..self.leaves[*column].1);
        let mut unpacked = 0u64;
        for (leaf, (_, bytes)) in leaves.zip(&parts) {
            let chunk = group.column(leaf);
            let values = u64::try_from(chunk.num_values()).unwrap_or(0);
            let size = pages::check(bytes, values)
                .map_err(|what| failed(&format!("column `{}`: {what}", chunk.column_descr().name())))?;
            probe(size)?;
            unpacked = unpacked.saturating_add(size);
        }
        self.input.limit.check(unpacked)?;
        let mut parts = parts.into_iter();
        let mut out: Vec<Option<ArrayRef>> = Vec::with_capacity(columns.len());
        let (mut rest, mut rest_parts) = (vec![], vec![]);
        for column in columns {
            let (first, end) = self.leaves[*column];
            let own: Vec<(u64, Bytes)> = parts.by_ref().take(end - first).collect();
            let fast = column::decode(self, block, *column, &own)?;
            if fast.is_none() {
                rest.push(*column);
                rest_parts.extend(own);
            }
            out.push(fast);
        }
        if !rest.is_empty() {
            let mut others = self.general(&self.meta, block, &rest, &rest_parts)?.into_iter();
            for empty in out.iter_mut().filter(|array| array.is_none()) {
                *empty = others.next();
            }
        }
        let mut bad = vec![];
        if let Some(old) = &self.old_times {
            let own: Vec<usize> =
                rest.iter().copied().filter(|column| old.columns.contains(column)).collect();
            if !own.is_empty() {
                bad = old.unfit(&self.general(&old.meta, block, &own, &rest_parts)?, &own, self.schema());
            }
        }
        Ok((out.into_iter().flatten().collect(), bad))
    }

    fn will_read(&self, block: usize, columns: &[usize]) {
        self.input.will_read(&self.ranges(block, columns));
    }

    fn range(&self, block: usize, column: usize) -> Option<Range> {
        let (first, end) = self.leaves[column];
        if end != first + 1 {
            return None;
        }
        let chunk = self.meta.metadata().row_group(block).column(first);
        ranges::range(self.meta.schema().field(column).data_type(), chunk, self.rows[block])
    }

    /// A list without items and one that is null count as a value, so that the numbers of values and rows tell. In few rows they could
    /// do so by chance: those are read.
    fn list_len(&self, column: usize) -> Option<usize> {
        let (first, end) = self.leaves[column];
        if end != first + 1 {
            return None;
        }
        let mut found = None;
        for (group, &rows) in self.meta.metadata().row_groups().iter().zip(&self.rows) {
            let values = u64::try_from(group.column(first).num_values()).ok()?;
            let len = values.checked_div(rows);
            if values.checked_rem(rows).is_some_and(|rest| rest > 0)
                || len.is_some() && found.is_some_and(|found| Some(found) != len)
            {
                return None;
            }
            found = found.or(len);
        }
        let len = usize::try_from(found?).ok()?;
        if self.rows.iter().sum::<u64>() < FEW {
            for (block, _) in self.rows.iter().enumerate().filter(|(_, rows)| **rows > 0) {
                let read = crate::shard::read(self, block, &[column]).ok()?.0;
                if even::list_len(read.first()?) != Some(len) {
                    return None;
                }
            }
        }
        Some(len)
    }

    fn column_bytes(&self, column: usize) -> u64 {
        let (first, end) = self.leaves[column];
        let groups = self.meta.metadata().row_groups();
        let sizes = groups.iter().flat_map(|group| group.columns().get(first..end).unwrap_or_default());
        sizes.map(|chunk| u64::try_from(chunk.uncompressed_size()).unwrap_or(0)).sum()
    }
}

/// Accessors for the fast path.
impl ParquetShard {
    fn leaf(&self, block: usize, column: usize) -> Option<&::parquet::file::metadata::ColumnChunkMetaData> {
        let (first, end) = self.leaves[column];
        if end != first + 1 {
            return None;
        }
        Some(self.meta.metadata().row_group(block).column(first))
    }

    fn arrow_type(&self, column: usize) -> arrow_schema::DataType {
        self.meta.schema().field(column).data_type().clone()
    }
}
