//! The registry tables as data: for `infeed list`, the documentation and the Python stubs.

use crate::{decode, format, mix, store, transform};
use infeed_core::{Entry, Error, FormatEntry, Param, Result};
use serde_json::{Value, json};

/// The names of the tables.
pub const KINDS: [&str; 6] = ["formats", "stores", "decoders", "codecs", "transforms", "batch_transforms"];

/// Returns one table as JSON: a list of objects with name, about and params.
pub fn json(kind: &str) -> Result<Value> {
    match kind {
        "formats" => Ok(Value::Array(format::entries().map(format_json).collect())),
        "stores" => Ok(Value::Array(
            store::STORES
                .iter()
                .map(|s| json!({"name": s.name, "about": s.about, "schemes": s.schemes, "params": []}))
                .collect(),
        )),
        "decoders" => Ok(Value::Array(table(decode::DECODERS))),
        "transforms" => Ok(Value::Array(table(&transform::entries()))),
        "batch_transforms" => Ok(Value::Array(table(mix::ENTRIES))),
        "codecs" => Ok(Value::Array(
            decode::CODECS
                .iter()
                .map(|c| json!({"name": c.name, "about": c.about, "extensions": c.extensions, "params": []}))
                .collect(),
        )),
        other => {
            Err(Error::argument(format!("there is no table `{other}`; the tables are {}", KINDS.join(", "))))
        }
    }
}

/// Returns all properties of a format: the Python functions, their stubs and the docs table are made from this.
fn format_json(entry: &FormatEntry) -> Value {
    let can = entry.can;
    json!({
        "name": entry.name, "about": entry.about, "details": entry.details, "params": params(entry.params),
        "endings": entry.endings,
        "can": {"rows": can.rows, "stream": can.stream, "blocks": can.blocks, "remote": can.remote, "write": can.write,
                "many": can.many},
    })
}

fn table<T: ?Sized>(entries: &[&Entry<T>]) -> Vec<Value> {
    let row =
        |entry: &&Entry<T>| json!({"name": entry.name, "about": entry.about, "params": params(entry.params)});
    entries.iter().map(row).collect()
}

fn params(params: &[Param]) -> Vec<Value> {
    let row = |p: &Param| {
        let default = p.default.map(|d| serde_json::from_str(d).unwrap_or(Value::Null));
        json!({"name": p.name, "python": p.python, "about": p.about, "required": p.is_required(), "default": default})
    };
    params.iter().map(row).collect()
}
