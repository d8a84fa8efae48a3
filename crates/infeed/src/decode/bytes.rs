//! Leaves bytes undecoded, for fields that Python code will parse.

use super::needs_encoded;
use infeed_core::{Bytes, Decoder, Entry, FieldSpec, Result, Scratch, Value};

/// The registry entry.
pub(super) static ENTRY: Entry<dyn Decoder> =
    Entry { name: "bytes", about: "leaves the bytes as they are", params: &[], build: |_| Ok(Box::new(Raw)) };

#[derive(Debug)]
struct Raw;

impl Decoder for Raw {
    fn spec(&self, encoded: &FieldSpec) -> Result<FieldSpec> {
        needs_encoded("bytes", encoded)?;
        Ok(FieldSpec::encoded())
    }

    fn decode(&self, bytes: &Bytes, _: &mut Scratch) -> Result<Value> {
        Ok(Value::Bytes(bytes.clone()))
    }
}
