//! CSV as in RFC 4180: a field may be quoted and then contain delimiters, line ends and doubled quotes. Lines may end
//! in `\r\n`, a UTF-8 byte order mark may come first, and blank lines are skipped.

mod cells;
mod guess;
mod rows;
mod titles;

pub use cells::{Cell, cells};
pub use guess::{delimiter, guess, parse, write};
pub use rows::RowFinder;
pub use titles::{bare, count, titles, width};

/// Feeds arbitrary bytes to the row and cell parsers, and checks that cells lie within their row.
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
