//! The end of a file: what columns it has, and where their row groups lie.

use super::{strangers, thrift};
use crate::shard::bytes::ShardBytes;
use ::parquet::{
    arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions},
    errors::ParquetError,
    file::metadata::{
        FileMetaData, ParquetMetaData, ParquetMetaDataBuilder, ParquetMetaDataReader, RowGroupMetaData,
    },
};
use infeed_core::{Error, Result};
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

/// Bytes at the end of a file that are read first.
const TAIL: u64 = 64 << 10;

/// How a file begins, and how it ends: in a length and one of these.
const MAGIC: &[u8] = b"PAR1";
const ENCRYPTED: &[u8] = b"PARE";

/// Bytes of the signature of a footer.
const SIGNATURE: usize = 28;

pub(super) fn bad(input: &ShardBytes, what: &str) -> Error {
    input.damaged(
        input.len.saturating_sub(8),
        format!("the footer cannot be used: {what}; write the file again"),
    )
}

fn encrypted(input: &ShardBytes) -> Error {
    Error::argument(format!(
        "`{}` is encrypted, and encrypted Parquet files are not read: write it again without encryption",
        input.name
    ))
}

/// Reads the footer.
pub(super) fn read(input: &ShardBytes) -> Result<ArrowReaderMetadata> {
    if input.len < 12 {
        return Err(bad(input, "the file is too short for a Parquet file"));
    }
    // More than the last eight bytes: mostly all of the footer, in one request.
    let most = input.len.min(TAIL);
    let end = input.get(input.len - most, most)?;
    let tail = &end[end.len() - 8..];
    if &tail[4..] == ENCRYPTED {
        return Err(encrypted(input));
    }
    if &tail[4..] != MAGIC {
        let head = input.get(0, 4)?;
        let what = match &head[..] {
            MAGIC => "a Parquet file starts here and its end is missing: it was cut off",
            b"ARRO" => "this is an Arrow file, not Parquet; open it with infeed.arrow",
            _ => "this is no Parquet file: it does not end with PAR1",
        };
        return Err(bad(input, what));
    }
    let len = u64::from(u32::from_le_bytes([tail[0], tail[1], tail[2], tail[3]]));
    let Some(start) = input.len.checked_sub(8 + len) else {
        return Err(bad(input, &format!("it says that it has {len} bytes, more than the file")));
    };
    let footer = match (len + 8).checked_sub(most) {
        None | Some(0) => end.slice((most - len - 8) as usize..(most - 8) as usize),
        Some(_) => input.get(start, len)?,
    };
    thrift::check_schema(&footer).map_err(|what| bad(input, &what))?;
    // Where columns are encrypted and the footer is not, a signature follows what ends in a zero otherwise. Only then all of it
    // is looked through.
    let zero = |back: usize| footer.len().checked_sub(back).is_some_and(|at| footer[at] == 0);
    if (!zero(1) || zero(SIGNATURE + 1)) && thrift::has_encryption(&footer) {
        return Err(encrypted(input));
    }
    let read = catch_unwind(AssertUnwindSafe(|| metadata(&footer)));
    match read {
        Ok(Ok(meta)) => Ok(meta),
        _ if thrift::has_encryption(&footer) => Err(encrypted(input)),
        Ok(Err(e)) => Err(bad(input, &e.to_string())),
        Err(_) => Err(bad(input, "it makes no sense")),
    }
}

fn metadata(footer: &[u8]) -> Result<ArrowReaderMetadata, ParquetError> {
    let meta = match ParquetMetaDataReader::decode_metadata(footer) {
        // Fields that some writers made up for themselves are in the way of the library, which takes them for its own.
        Err(e) => match strangers::without(footer) {
            Some(footer) => ParquetMetaDataReader::decode_metadata(&footer)?,
            None => return Err(e),
        },
        meta => meta?,
    };
    let meta = Arc::new(with_right_rows(without_false_dictionaries(meta)?));
    match ArrowReaderMetadata::try_new(Arc::clone(&meta), ArrowReaderOptions::new()) {
        // The types that Arrow noted beside its columns are read less deep than the columns themselves.
        Err(e) if e.to_string().contains("DepthLimitReached") => {
            ArrowReaderMetadata::try_new(meta, ArrowReaderOptions::new().with_skip_arrow_metadata(true))
        }
        read => read,
    }
}

/// Some writers say that the dictionary of a column lies at byte 0 where they mean that there is none, or that it is the first
/// page. No page can lie there: a file begins with its magic bytes.
fn without_false_dictionaries(meta: ParquetMetaData) -> Result<ParquetMetaData, ParquetError> {
    let wrong = |group: &RowGroupMetaData| {
        group.columns().iter().any(|chunk| chunk.dictionary_page_offset().is_some_and(is_none))
    };
    if !meta.row_groups().iter().any(wrong) {
        return Ok(meta);
    }
    let mut builder = meta.into_builder();
    let mut groups = vec![];
    for group in builder.take_row_groups() {
        let mut columns = vec![];
        for chunk in group.columns() {
            let chunk = chunk.clone();
            columns.push(match chunk.dictionary_page_offset().is_some_and(is_none) {
                true => chunk.into_builder().set_dictionary_page_offset(None).build()?,
                false => chunk,
            });
        }
        groups.push(group.into_builder().set_column_metadata(columns).build()?);
    }
    Ok(builder.set_row_groups(groups).build())
}

fn is_none(offset: i64) -> bool {
    offset < MAGIC.len() as i64
}

/// Some writers leave the number of all rows at zero. The library never reads more rows than it says; those of the row groups
/// are what counts.
fn with_right_rows(meta: ParquetMetaData) -> ParquetMetaData {
    let about = meta.file_metadata();
    let rows = meta.row_groups().iter().fold(0i64, |sum, group| sum.saturating_add(group.num_rows()));
    if about.num_rows() == rows {
        return meta;
    }
    let about = FileMetaData::new(
        about.version(),
        rows,
        about.created_by().map(str::to_owned),
        about.key_value_metadata().cloned(),
        about.schema_descr_ptr(),
        about.column_orders().cloned(),
    );
    ParquetMetaDataBuilder::new(about).set_row_groups(meta.row_groups().to_vec()).build()
}
