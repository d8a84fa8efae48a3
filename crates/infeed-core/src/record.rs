//! A row as it lies on disk.

use crate::Value;

/// Fields still encoded, parallel to the field names that were asked for.
#[derive(Debug, Clone, Default)]
pub struct Record {
    /// One value per field asked for.
    pub fields: Vec<Value>,
}

impl Record {
    /// Bytes of its encoded fields.
    pub fn bytes(&self) -> u64 {
        let size = |value: &Value| if let Value::Bytes(bytes) = value { bytes.len() as u64 } else { 0 };
        self.fields.iter().map(size).sum()
    }
}
