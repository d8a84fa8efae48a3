//! A row as it lies on disk.

use crate::Value;

/// Fields still encoded, parallel to the field names that were asked for.
#[derive(Debug, Clone, Default)]
pub struct Record {
    /// One value per field asked for.
    pub fields: Vec<Value>,
}
