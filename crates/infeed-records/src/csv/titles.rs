//! Column titles, and the contents of rows without surrounding line ends.

use super::cells;
use crate::text::{Invalid, decode, line, unmarked};
use infeed_core::{Error, Result};
use std::sync::Arc;

/// Strips blank lines before a row and its line end.
pub fn bare(row: &[u8]) -> &[u8] {
    let blank = row.iter().take_while(|b| matches!(b, b'\n' | b'\r')).count();
    line(&row[blank..])
}

/// Parses the column titles from the first row.
pub fn titles(head: &[u8], delimiter: u8) -> Result<Vec<Arc<str>>> {
    let head = bare(unmarked(head));
    let mut found = vec![];
    cells(head, delimiter, &mut found)?;
    let mut names: Vec<Arc<str>> = vec![];
    for cell in &found {
        let bytes = cell.bytes(head);
        let name = decode(&bytes, Invalid::Refuse)?;
        let name: Arc<str> = name.trim().into();
        if names.contains(&name) {
            return Err(Error::sample(format!(
                "two columns are called `{name}`; names=... gives them others"
            )));
        }
        names.push(name);
    }
    Ok(names)
}

/// Returns how many fields rows have: what most of them have, or the first among equals. Rows that cannot be parsed do not
/// count; `None` if there is no other.
pub fn width<'a>(rows: impl IntoIterator<Item = &'a [u8]>, delimiter: u8) -> Option<usize> {
    let mut counts: Vec<(usize, usize)> = vec![];
    let mut found = vec![];
    for row in rows {
        if cells(row, delimiter, &mut found).is_err() {
            continue;
        }
        match counts.iter_mut().find(|(width, _)| *width == found.len()) {
            Some((_, rows)) => *rows += 1,
            None => counts.push((found.len(), 1)),
        }
    }
    let most = counts.iter().map(|(_, rows)| *rows).max()?;
    counts.into_iter().find(|(_, rows)| *rows == most).map(|(width, _)| width)
}

/// Checks that a row has as many fields as there are columns.
pub fn count(found: usize, columns: usize) -> Result<()> {
    if found == columns {
        return Ok(());
    }
    Err(Error::sample(format!("the row has {found} fields, and there are {columns} columns")))
}
