//! Times of 96 bits, as old programs write them: nanoseconds of a day and a day.
//!
//! They are read as nanoseconds in 64 bits, which end in the years 1677 and 2262. What lies beyond would come out as another
//! time, so that such columns are read in seconds as well, and rows that do not fit are bad ones.

use crate::shard::BadRow;
use ::parquet::{
    arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions},
    basic::Type,
    errors::ParquetError,
};
use arrow_array::{Array, ArrayRef, cast::AsArray, types::TimestampSecondType};
use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};
use std::sync::Arc;

/// The columns, and a reader that gives them in seconds.
#[derive(Debug)]
pub(super) struct OldTimes {
    pub(super) columns: Vec<usize>,
    pub(super) meta: ArrowReaderMetadata,
}

/// Seconds that fit into nanoseconds.
const MOST: i64 = i64::MAX / 1_000_000_000;

impl OldTimes {
    pub(super) fn find(meta: &ArrowReaderMetadata) -> Result<Option<Self>, ParquetError> {
        let descriptor = meta.parquet_schema();
        let is_old = |leaf: &usize| descriptor.column(*leaf).physical_type() == Type::INT96;
        let nanos = |root: &usize| {
            matches!(meta.schema().field(*root).data_type(), DataType::Timestamp(TimeUnit::Nanosecond, _))
        };
        let columns: Vec<usize> = (0..descriptor.num_columns())
            .filter(is_old)
            .map(|leaf| descriptor.get_column_root_idx(leaf))
            .filter(nanos)
            .collect();
        if columns.is_empty() {
            return Ok(None);
        }
        let fields = meta.schema().fields().iter().enumerate().map(|(at, field)| {
            let seconds = DataType::Timestamp(TimeUnit::Second, None);
            match columns.contains(&at) {
                true => Arc::new(Field::new(field.name(), seconds, field.is_nullable())),
                false => Arc::clone(field),
            }
        });
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let options = ArrowReaderOptions::new().with_schema(schema);
        let meta = ArrowReaderMetadata::try_new(Arc::clone(meta.metadata()), options)?;
        Ok(Some(OldTimes { columns, meta }))
    }

    /// Rows of these columns, in seconds, that do not fit nanoseconds.
    pub(super) fn unfit(&self, arrays: &[ArrayRef], columns: &[usize], schema: &SchemaRef) -> Vec<BadRow> {
        let mut bad: Vec<BadRow> = vec![];
        for (array, column) in arrays.iter().zip(columns) {
            let Some(seconds) = array.as_primitive_opt::<TimestampSecondType>() else { continue };
            let unfit =
                |row: &usize| seconds.is_valid(*row) && seconds.value(*row).unsigned_abs() > MOST as u64;
            let name = schema.field(*column).name();
            bad.extend((0..seconds.len()).filter(unfit).map(|row| {
                let what = format!(
                    "column `{name}`: the time lies outside of the years 1677 to 2262, which 64 bits of nanoseconds can \
                     hold; leave the column out, or write it with another unit"
                );
                (row as u32, what)
            }));
        }
        bad.sort_by_key(|(row, _)| *row);
        bad.dedup_by_key(|(row, _)| *row);
        bad
    }
}
