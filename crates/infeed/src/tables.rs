//! The registry tables as data: for `infeed list`, the documentation and the Python stubs.

use crate::{decode, format, mix, transform};
use infeed_core::{Entry, Error, Result};
use serde_json::{Value, json};

/// The tables there are.
pub const KINDS: [&str; 5] = ["formats", "decoders", "codecs", "transforms", "batch_transforms"];

/// Formats that are opened as a whole, with arguments of their own: docs/tables.md and docs/tokens.md list them.
const OTHERS: [(&str, &str); 6] = [
    ("parquet", "Parquet: row groups are decoded as a whole and shuffled as blocks"),
    ("arrow", "Feather, Arrow IPC files and streams, data sets that Hugging Face saved"),
    ("avro", "Avro object container files"),
    ("sqlite", "a table or query of a SQLite database, read in pages of its key"),
    (
        "csv_table",
        "comma-separated values whose rows are decoded and shuffled in blocks; infeed.table takes it for .csv",
    ),
    ("tokens", "token files: Megatron's .bin/.idx, raw bins, .npy"),
];

/// One table as JSON: a list of objects with name, about and params.
pub fn json(kind: &str) -> Result<Value> {
    match kind {
        "formats" => {
            let mut rows = table(format::ENTRIES);
            rows.extend(table(&[format::MDS]));
            for (name, about) in OTHERS {
                rows.push(json!({"name": name, "about": about, "params": []}));
            }
            rows.push(json!({"name": "folder", "about": "image folder: class sub-folders as torchvision's ImageFolder reads them, or images without classes", "params": []}));
            rows.push(json!({"name": "files", "about": "image files one by one", "params": []}));
            rows.push(json!({"name": "manifest", "about": "a text file with a path and a label on each line", "params": []}));
            Ok(Value::Array(rows))
        }
        "decoders" => Ok(Value::Array(table(decode::DECODERS))),
        "transforms" => Ok(Value::Array(table(&transform::entries()))),
        "batch_transforms" => Ok(Value::Array(table(mix::ENTRIES))),
        "codecs" => Ok(Value::Array(
            decode::CODECS
                .iter()
                .map(|c| json!({"name": c.name, "about": c.about, "extensions": c.extensions, "params": []}))
                .collect(),
        )),
        other => {
            Err(Error::argument(format!("there is no table `{other}`; the tables are {}", KINDS.join(", "))))
        }
    }
}

fn table<T: ?Sized>(entries: &[&Entry<T>]) -> Vec<Value> {
    entries
        .iter()
        .map(|entry| {
            let params: Vec<Value> = entry
                .params
                .iter()
                .map(|p| {
                    let default = p.default.map(|d| serde_json::from_str(d).unwrap_or(Value::Null));
                    json!({"name": p.name, "python": p.python, "about": p.about, "required": p.default.is_none(),
                           "default": default})
                })
                .collect();
            json!({"name": entry.name, "about": entry.about, "params": params})
        })
        .collect()
}
