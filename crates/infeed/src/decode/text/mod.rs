//! UTF-8 text.

use super::needs_encoded;
use infeed_core::{Bytes, Decoder, Entry, Error, FieldSpec, Result, Scratch, Value, lent};
use infeed_records::preview::preview;

#[cfg(test)]
mod tests;

/// The registry entry.
pub(super) static ENTRY: Entry<dyn Decoder> =
    Entry { name: "text", about: "UTF-8 text, checked", params: &[], build: |_| Ok(Box::new(Text)) };

#[derive(Debug)]
struct Text;

impl Decoder for Text {
    fn spec(&self, encoded: &FieldSpec) -> Result<FieldSpec> {
        needs_encoded("text", encoded)?;
        Ok(FieldSpec::text())
    }

    fn decode(&self, bytes: &Bytes, _: &mut Scratch) -> Result<Value> {
        Ok(Value::Text(utf8(&lent::owned(bytes)?)?.to_owned()))
    }
}

/// Returns the bytes as text; the error says where they stop being text.
pub(super) fn utf8(bytes: &[u8]) -> Result<&str> {
    std::str::from_utf8(bytes).map_err(|e| {
        let at = e.valid_up_to();
        Error::sample(format!(
            "not UTF-8: the bytes {} at offset {at} are no character",
            preview(&bytes[at..])
        ))
    })
}
