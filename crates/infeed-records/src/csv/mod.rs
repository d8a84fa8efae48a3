//! Comma-separated values, as RFC 4180 has them: a field may stand in quotes, and then hold delimiters, line ends and quotes
//! written twice. Lines may end in `\r\n`, a mark of UTF-8 may stand in front, blank lines are passed over.

mod cells;
mod guess;
mod rows;
mod titles;

pub use cells::{Cell, cells};
pub use guess::{delimiter, guess, parse, write};
pub use rows::RowFinder;
pub use titles::{bare, count, titles};

/// Feeds any bytes to the reader of rows and cells: cells lie inside their row and join to it again.
pub fn fuzz_csv(data: &[u8]) {
    use crate::split::Split;
    let mut ends = vec![];
    let split = RowFinder::new(b',').split(data, true, &mut ends);
    let (mut start, mut found) = (0, vec![]);
    for end in &ends {
        let row = crate::text::line(&data[start..end.at]);
        start = end.at;
        if cells(row, b',', &mut found).is_ok() {
            assert!(!found.is_empty());
            for cell in &found {
                assert!(cell.start <= cell.end && cell.end <= row.len());
                let _ = guess(&cell.bytes(row));
            }
        }
    }
    assert!(split.is_err() || start <= data.len());
    let _ = delimiter(data);
}

#[cfg(test)]
mod tests;
