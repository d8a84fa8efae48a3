//! Field names: each is allocated once, and occurs at most once per row.

use std::{collections::HashMap, sync::Arc};

/// The spelling cache is cleared at this size.
const SPELLINGS: usize = 1 << 17;

/// The fields of a part so far.
#[derive(Debug, Default)]
pub(super) struct Fields {
    /// Field numbers by extension as spelled in the tar, so that each spelling is lower-cased once.
    spelled: HashMap<Vec<u8>, u16>,
    numbers: HashMap<Arc<str>, u16>,
    /// Name, and the latest row with the field: detects a repeated field without scanning the row.
    known: Vec<(Arc<str>, u64)>,
    row: u64,
}

impl Fields {
    /// Starts a row.
    pub(super) fn start_row(&mut self) {
        self.row += 1;
    }

    /// Returns the name of a field of the current row, or why the row cannot have it.
    pub(super) fn add(&mut self, key: &[u8], extension: &[u8]) -> Result<Arc<str>, String> {
        let number = match self.spelled.get(extension) {
            Some(number) => *number,
            None => self.learn(extension)?,
        };
        let (name, newest) = &mut self.known[usize::from(number)];
        if *newest == self.row {
            return Err(format!("sample `{}` has the field `{name}` twice", key.escape_ascii()));
        }
        *newest = self.row;
        Ok(Arc::clone(name))
    }

    fn learn(&mut self, extension: &[u8]) -> Result<u16, String> {
        let name: Arc<str> = String::from_utf8_lossy(extension).to_lowercase().into();
        let number = match self.numbers.get(&name) {
            Some(number) => *number,
            None => {
                let number = u16::try_from(self.known.len()).map_err(|_| {
                    "more than 65,536 different extensions: are the keys written with dots in them?"
                        .to_owned()
                })?;
                self.numbers.insert(Arc::clone(&name), number);
                self.known.push((name, 0));
                number
            }
        };
        if self.spelled.len() >= SPELLINGS {
            self.spelled.clear();
        }
        self.spelled.insert(extension.to_vec(), number);
        Ok(number)
    }
}
