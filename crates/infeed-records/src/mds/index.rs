//! Parses `index.json`.

use super::Encoding;
use infeed_core::{Error, Result};
use serde::Deserialize;
use std::collections::BTreeMap;

/// A file of a shard.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct File {
    /// Its name, in the folder of `index.json`.
    pub basename: String,
    /// Its size.
    pub bytes: u64,
    /// Checksums by name.
    #[serde(default)]
    pub hashes: BTreeMap<String, String>,
}

/// A column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Its encoding; `None` if unknown.
    pub encoding: Option<Encoding>,
    /// Its size in bytes, if fixed.
    pub size: Option<usize>,
}

/// A shard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shard {
    /// Number of samples.
    pub samples: u64,
    /// Its columns, in the order of the samples.
    pub columns: Vec<Column>,
    /// The uncompressed file.
    pub raw: File,
    /// The compressed file and its compression.
    pub zip: Option<(File, String)>,
}

#[derive(Deserialize)]
struct Written {
    #[serde(default)]
    version: u64,
    shards: Vec<WrittenShard>,
}

#[derive(Deserialize)]
struct WrittenShard {
    format: String,
    samples: u64,
    #[serde(default)]
    column_names: Vec<String>,
    #[serde(default)]
    column_encodings: Vec<String>,
    #[serde(default)]
    column_sizes: Vec<Option<usize>>,
    compression: Option<String>,
    raw_data: File,
    zip_data: Option<File>,
}

/// Parses an index.
pub fn parse(text: &str) -> Result<Vec<Shard>> {
    let wrong = |what: String| Error::argument(format!("it is no index of MDS shards: {what}"));
    let written: Written = serde_json::from_str(text).map_err(|e| wrong(e.to_string()))?;
    if written.version != 2 {
        return Err(wrong(format!("version 2 is read, it has version {}", written.version)));
    }
    let mut shards = vec![];
    for (number, shard) in written.shards.into_iter().enumerate() {
        let names = shard.column_names;
        if shard.format != "mds" {
            return Err(wrong(format!("shard {number} has the format `{}`", shard.format)));
        }
        if shard.column_encodings.len() != names.len() || shard.column_sizes.len() != names.len() {
            return Err(wrong(format!(
                "shard {number} has names, encodings and sizes of different numbers of columns"
            )));
        }
        let plain = |file: &File| {
            !file.basename.is_empty() && !file.basename.starts_with('/') && !file.basename.contains("..")
        };
        if !plain(&shard.raw_data) || shard.zip_data.as_ref().is_some_and(|file| !plain(file)) {
            return Err(wrong(format!("shard {number} lies outside the folder")));
        }
        let mut columns = vec![];
        for ((name, text), size) in names.into_iter().zip(&shard.column_encodings).zip(&shard.column_sizes) {
            let encoding = Encoding::parse(text);
            if let (Some(fixed), Some(size)) = (encoding.as_ref().and_then(Encoding::size), size)
                && fixed != *size
            {
                return Err(wrong(format!("column `{name}` of {text} cannot have {size} bytes")));
            }
            columns.push(Column { name, encoding, size: *size });
        }
        let zip = match (shard.zip_data, shard.compression) {
            (Some(file), Some(how)) => Some((file, how.split(':').next().unwrap_or_default().to_owned())),
            _ => None,
        };
        shards.push(Shard { samples: shard.samples, columns, raw: shard.raw_data, zip });
    }
    Ok(shards)
}
