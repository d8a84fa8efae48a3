//! Folders of images with a table of them, as Hugging Face's `imagefolder` has them.
//!
//! ```text
//! train/metadata.jsonl   {"file_name": "0001.png", "text": "a cat", "mask_file_name": "masks/0001.png"}
//! train/0001.png         field `image`
//! train/masks/0001.png   field `mask`
//! ```
//!
//! The rows are those of the table, in its order. Images that it does not name are left out, and there are no classes.

use crate::{
    families,
    format::entries,
    read::{FileColumn, Loaded},
};
use infeed_core::{Error, FieldKind, Found, OpenRequest, Opened, Result, Spec};
use serde_json::Map;
use std::{collections::BTreeSet, sync::Arc};

/// The names of such tables.
const NAMES: [&str; 3] = ["metadata.csv", "metadata.jsonl", "metadata.parquet"];

/// The column that names the image, and the ending of columns that name other files.
const COLUMN: &str = "file_name";

/// The names of folders that are parts of one data set.
const SPLITS: [&str; 8] = ["train", "training", "test", "testing", "validation", "valid", "val", "dev"];

/// Opens the table of a folder; `None` if it has none that names files. `names` are all names below the folder.
pub(super) fn open(
    request: &OpenRequest<'_>,
    folder: &str,
    names: &[String],
    field: Option<&str>,
) -> Result<Option<Opened>> {
    let tables: Vec<String> = names.iter().filter(|name| is_table(name)).cloned().collect();
    let Some(first) = tables.first() else { return Ok(None) };
    let ending = |name: &str| name.rsplit_once('.').map(|(_, ending)| ending.to_owned());
    if let Some(other) = tables.iter().find(|name| ending(name) != ending(first)) {
        return Err(Error::argument(format!(
            "`{folder}` has metadata of several kinds, `{first}` and `{other}`: keep one of them, or give metadata=False"
        )));
    }
    let Some(entry) = entries().find(|entry| entry.has_ending(first)) else {
        return Err(families::missing_format_of(first)
            .unwrap_or_else(|| Error::Internal { what: format!("no format reads `{first}`") }));
    };
    let found: Vec<Found> = tables.iter().cloned().map(Found::File).collect();
    let given = Map::new();
    let table = OpenRequest { paths: &tables, found: Some(&found), listed: None, given: &given, ..*request };
    let Opened::Rows(rows) = entry.open(table)? else { return Ok(None) };
    let columns = columns(rows.spec(), field.unwrap_or("image"))?;
    if columns.is_empty() {
        return Ok(None);
    }
    // Only now: a folder without such columns is read as it always was.
    check_splits(folder, &tables)?;
    Ok(Some(Opened::Rows(Arc::new(Loaded::in_place(rows, Arc::clone(request.store), columns)?))))
}

fn is_table(name: &str) -> bool {
    NAMES.contains(&name.rsplit('/').next().unwrap_or(name))
}

/// Returns the columns that name files.
fn columns(spec: &Spec, image: &str) -> Result<Vec<FileColumn>> {
    let mut columns = Vec::new();
    for (name, _) in spec.fields.iter().filter(|(_, field)| field.kind == FieldKind::Text) {
        let to = match name.strip_suffix(COLUMN) {
            Some("") => image,
            Some(front) if front.len() > 1 && front.ends_with('_') => &front[..front.len() - 1],
            _ => continue,
        };
        columns.push(FileColumn::new(spec, name, to, None, None)?.stored_as(to));
    }
    Ok(columns)
}

/// Refuses to join what are parts of a data set for training and for testing.
fn check_splits(folder: &str, tables: &[String]) -> Result<()> {
    let below =
        |name: &str| Some(name.strip_prefix(folder)?.trim_start_matches('/').split_once('/')?.0.to_owned());
    let tops: Option<BTreeSet<String>> = tables.iter().map(|name| below(name)).collect();
    let Some(tops) = tops else { return Ok(()) };
    if tops.len() < 2 || !tops.iter().all(|top| SPLITS.contains(&&**top)) {
        return Ok(());
    }
    let names: Vec<String> = tops.into_iter().collect();
    Err(Error::argument(format!(
        "`{folder}` has the parts {}: choose one with infeed.folder(path, split=\"{}\")",
        names.join(", "),
        names[names.len() - 1]
    )))
}
