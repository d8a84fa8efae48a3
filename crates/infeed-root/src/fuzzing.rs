//! Arbitrary bytes as a file.

use crate::file::Contents;
use ::bytes::Bytes;

/// Entries of trees that are decoded.
const MOST: u64 = 100_000;

/// Reads columns of trees of a file, if that is possible. Entries are also read in two parts, which must be equal to the whole.
pub fn fuzz_root(data: &[u8]) {
    let file = Bytes::copy_from_slice(data);
    let Ok(contents) = Contents::read(&file) else { return };
    for found in contents.trees().into_iter().take(4) {
        let Ok(tree) = contents.tree(&file, found) else { continue };
        for column in 0..tree.fields.len().min(32) {
            let entries = tree.entries.min(MOST);
            let half = entries / 2;
            let Ok(whole) = tree.read_cells(&file, column, 0..entries) else { continue };
            let first = tree.read_cells(&file, column, 0..half);
            let second = tree.read_cells(&file, column, half..entries);
            let (Ok(first), Ok(second)) = (first, second) else {
                panic!("a part cannot be read, the whole can")
            };
            for row in 0..entries as usize {
                let half = half as usize;
                let part = if row < half { first.get(row) } else { second.get(row - half) };
                assert!(whole.get(row).is_some() && whole.get(row) == part, "a part differs from the whole");
            }
        }
    }
}
