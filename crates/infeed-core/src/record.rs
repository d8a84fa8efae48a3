//! A row as stored on disk.

use crate::Value;

/// Fields still encoded, parallel to the requested field names.
#[derive(Debug, Clone, Default)]
pub struct Record {
    /// One value per requested field.
    pub fields: Vec<Value>,
}

impl Record {
    /// Returns the bytes of its encoded fields.
    pub fn bytes(&self) -> u64 {
        let size = |value: &Value| if let Value::Bytes(bytes) = value { bytes.len() as u64 } else { 0 };
        self.fields.iter().map(size).sum()
    }
}
