//! PAX records: `"<length> <keyword>=<value>\n"`, one after the other.
//!
//! Python's tarfile writes one before every member with a fractional time, as WebDataset's writer does by default, so
//! they are common.

/// What the records say about a member. Other records (times, owners) are ignored.
#[derive(Debug, Clone, Default)]
pub(crate) struct Overrides {
    pub(crate) path: Option<Vec<u8>>,
    pub(crate) size: Option<u64>,
    /// Whether the member is a sparse file.
    pub(crate) sparse: bool,
}

impl Overrides {
    /// Clears all overrides.
    pub(crate) fn clear(&mut self) {
        *self = Overrides::default();
    }

    /// Parses records; later ones override earlier ones.
    pub(crate) fn read(&mut self, mut records: &[u8]) -> Result<(), String> {
        let bad = || "a PAX record is malformed".to_owned();
        // Some writers pad with zeros that they count as records.
        while records.first().is_some_and(|b| *b != 0) {
            let space = memchr::memchr(b' ', &records[..records.len().min(21)]).ok_or_else(bad)?;
            let length = decimal(&records[..space]).ok_or_else(bad)?;
            let length = usize::try_from(length).ok().filter(|n| (space + 2..=records.len()).contains(n));
            let (record, rest) = records.split_at(length.ok_or_else(bad)?);
            records = rest;
            let record = record[space + 1..].strip_suffix(b"\n").ok_or_else(bad)?;
            let equals = memchr::memchr(b'=', record).ok_or_else(bad)?;
            let (keyword, value) = (&record[..equals], &record[equals + 1..]);
            match keyword {
                b"path" => self.path = (!value.is_empty()).then(|| value.to_vec()),
                b"size" => {
                    self.size = Some(decimal(value).ok_or_else(|| "a PAX size is not a number".to_owned())?)
                }
                _ if keyword.starts_with(b"GNU.sparse.") => self.sparse = true,
                _ => {}
            }
        }
        Ok(())
    }
}

fn decimal(digits: &[u8]) -> Option<u64> {
    // `parse` would also accept a sign.
    digits.first().filter(|d| d.is_ascii_digit())?;
    std::str::from_utf8(digits).ok()?.parse().ok()
}
