//! Field names: each is made once, and at most once for each row.

use std::{collections::HashMap, sync::Arc};

/// More spellings than this are forgotten and looked up again.
const SPELLINGS: usize = 1 << 17;

/// The fields that a part has shown so far.
#[derive(Debug, Default)]
pub(super) struct Fields {
    /// Numbers of the extensions as they are spelled in the tar, so that lower-casing is done once for each.
    spelled: HashMap<Vec<u8>, u16>,
    numbers: HashMap<Arc<str>, u16>,
    /// Name, and the newest row that has the field: finds a repeated one without looking through the row.
    known: Vec<(Arc<str>, u64)>,
    row: u64,
}

impl Fields {
    /// Begins a row.
    pub(super) fn start_row(&mut self) {
        self.row += 1;
    }

    /// The name of a field of the row at hand, or why it cannot have it.
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
