//! JSON, validated here and parsed where it is used.

use super::{needs_encoded, text::utf8};
use infeed_core::{Bytes, Decoder, Entry, Error, FieldSpec, Result, Scratch, Value, lent};
use infeed_records::json::check_limits;
use serde::de::IgnoredAny;

#[cfg(test)]
mod tests;

/// The registry entry.
pub(super) static ENTRY: Entry<dyn Decoder> =
    Entry { name: "json", about: "JSON, checked to be valid", params: &[], build: |_| Ok(Box::new(Json)) };

#[derive(Debug)]
struct Json;

impl Decoder for Json {
    fn spec(&self, encoded: &FieldSpec) -> Result<FieldSpec> {
        needs_encoded("json", encoded)?;
        Ok(FieldSpec::json())
    }

    fn decode(&self, bytes: &Bytes, _: &mut Scratch) -> Result<Value> {
        let bytes = lent::owned(bytes)?;
        let text = utf8(&bytes)?;
        // Windows tools write a byte order mark, which JSON parsers refuse.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        if text.trim_ascii().is_empty() {
            return Err(Error::sample("not JSON: there is nothing in it"));
        }
        // Validation builds nothing and is not recursive. Whoever parses the text is.
        serde_json::from_str::<IgnoredAny>(text).map_err(|e| Error::sample(format!("not JSON: {e}")))?;
        check_limits(text)?;
        Ok(Value::Json(text.to_owned()))
    }
}
