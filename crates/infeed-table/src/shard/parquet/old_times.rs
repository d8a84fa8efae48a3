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
use arrow_array::{Array, ArrayRef, OffsetSizeTrait, cast::AsArray, types::TimestampSecondType};
use arrow_schema::{DataType, FieldRef, Schema, SchemaRef, TimeUnit};
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
        let (mut leaf, mut columns) = (0, vec![]);
        let mut fields = vec![];
        for (at, field) in meta.schema().fields().iter().enumerate() {
            let seconds = in_seconds(field.data_type(), &mut leaf, &|leaf| {
                leaf < descriptor.num_columns() && descriptor.column(leaf).physical_type() == Type::INT96
            });
            if &seconds != field.data_type() {
                columns.push(at);
            }
            fields.push(Arc::new(field.as_ref().clone().with_data_type(seconds)));
        }
        if columns.is_empty() {
            return Ok(None);
        }
        let schema = Arc::new(Schema::new(fields));
        let options = ArrowReaderOptions::new().with_schema(schema);
        let meta = ArrowReaderMetadata::try_new(Arc::clone(meta.metadata()), options)?;
        Ok(Some(OldTimes { columns, meta }))
    }

    /// Rows of these columns, in seconds, that do not fit nanoseconds.
    pub(super) fn unfit(&self, arrays: &[ArrayRef], columns: &[usize], schema: &SchemaRef) -> Vec<BadRow> {
        let mut bad: Vec<BadRow> = vec![];
        for (array, column) in arrays.iter().zip(columns) {
            let name = schema.field(*column).name();
            bad.extend(unfit(array).into_iter().map(|row| {
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

/// A type with its 96-bit times in seconds. `leaf` counts columns as Parquet does: only what has no children.
fn in_seconds(kind: &DataType, leaf: &mut usize, is_old: &dyn Fn(usize) -> bool) -> DataType {
    let child = |field: &FieldRef, leaf: &mut usize| {
        Arc::new(field.as_ref().clone().with_data_type(in_seconds(field.data_type(), leaf, is_old)))
    };
    match kind {
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(|field| child(field, leaf)).collect()),
        DataType::List(field) => DataType::List(child(field, leaf)),
        DataType::LargeList(field) => DataType::LargeList(child(field, leaf)),
        DataType::FixedSizeList(field, len) => DataType::FixedSizeList(child(field, leaf), *len),
        DataType::Map(field, sorted) => DataType::Map(child(field, leaf), *sorted),
        other => {
            *leaf += 1;
            match other {
                DataType::Timestamp(TimeUnit::Nanosecond, _) if is_old(*leaf - 1) => {
                    DataType::Timestamp(TimeUnit::Second, None)
                }
                _ => other.clone(),
            }
        }
    }
}

/// The rows of an array that have times, in seconds, that do not fit nanoseconds; ascending, some more than once.
fn unfit(array: &dyn Array) -> Vec<usize> {
    /// The row whose values include this one.
    fn row_of<O: OffsetSizeTrait>(offsets: &[O], value: usize) -> usize {
        offsets.partition_point(|offset| offset.as_usize() <= value).saturating_sub(1)
    }
    let of_lists = |offsets: &[i32], values: &dyn Array| -> Vec<usize> {
        unfit(values).into_iter().map(|value| row_of(offsets, value)).collect()
    };
    match array.data_type() {
        DataType::Timestamp(TimeUnit::Second, _) => {
            let seconds = array.as_primitive::<TimestampSecondType>();
            let is_unfit =
                |row: &usize| seconds.is_valid(*row) && seconds.value(*row).unsigned_abs() > MOST as u64;
            (0..seconds.len()).filter(is_unfit).collect()
        }
        DataType::Struct(_) => {
            let mut rows: Vec<usize> =
                array.as_struct().columns().iter().flat_map(|column| unfit(column)).collect();
            rows.sort_unstable();
            rows
        }
        DataType::List(_) => of_lists(array.as_list::<i32>().offsets(), array.as_list::<i32>().values()),
        DataType::Map(..) => of_lists(array.as_map().offsets(), array.as_map().entries()),
        DataType::LargeList(_) => {
            let lists = array.as_list::<i64>();
            unfit(lists.values()).into_iter().map(|value| row_of(lists.offsets(), value)).collect()
        }
        DataType::FixedSizeList(_, len) => {
            let len = usize::try_from(*len).unwrap_or(1).max(1);
            unfit(array.as_fixed_size_list().values()).into_iter().map(|value| value / len).collect()
        }
        _ => vec![],
    }
}
