//! A row as stored on disk.

use crate::Value;

/// Fields still encoded, parallel to the requested field names.
#[derive(Debug, Clone, Default)]
pub struct Record {
    /// One value per requested field.
    pub fields: Vec<Value>,
}

impl Record {
    /// Returns the bytes of memory that its fields take. An image counts as what it is decoded from.
    pub fn memory(&self) -> u64 {
        let size = |value: &Value| match value {
            Value::Bytes(bytes) => bytes.len(),
            Value::Text(text) | Value::Json(text) => text.len(),
            Value::Tensor(tensor) => tensor.data.len(),
            Value::Missing | Value::Image(_) | Value::Masks(_) | Value::Boxes(_) | Value::Points(_) => 0,
        };
        self.fields.iter().map(|value| size(value) as u64).sum()
    }

    /// Returns the bytes of its encoded fields.
    pub fn bytes(&self) -> u64 {
        let size = |value: &Value| if let Value::Bytes(bytes) = value { bytes.len() as u64 } else { 0 };
        self.fields.iter().map(size).sum()
    }
}
