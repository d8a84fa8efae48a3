//! Checks the tables as seen by `infeed list`, the documentation and the Python stubs.

use serde_json::Value as Json;
use std::collections::BTreeSet;

/// Every entry has a unique name and a text; every parameter has a unique name, a type and a text.
pub fn tables() -> Vec<String> {
    let mut faults = Vec::new();
    for kind in infeed::tables::KINDS {
        match infeed::tables::json(kind) {
            // All codecs are image codecs.
            Ok(Json::Array(rows)) if rows.is_empty() && kind == "codecs" && cfg!(not(feature = "images")) => {
            }
            Ok(Json::Array(rows)) if !rows.is_empty() => table(kind, &rows, &mut faults),
            Ok(_) => faults.push(format!("{kind}: the table is empty")),
            Err(e) => faults.push(format!("{kind}: {e}")),
        }
    }
    if infeed::tables::json("no_such_table").is_ok() {
        faults.push("a table that does not exist was found".to_owned());
    }
    faults
}

fn table(kind: &str, rows: &[Json], faults: &mut Vec<String>) {
    let mut names = BTreeSet::new();
    for row in rows {
        let name = text(row, "name");
        if name.is_empty() || !names.insert(name) {
            faults.push(format!("{kind}: the name `{name}` is empty or there twice"));
        }
        if text(row, "about").is_empty() {
            faults.push(format!("{kind}: `{name}` has no text"));
        }
        let Some(params) = row["params"].as_array() else {
            faults.push(format!("{kind}: `{name}` has no list of parameters"));
            continue;
        };
        let mut seen = BTreeSet::new();
        for param in params {
            let own = text(param, "name");
            if own.is_empty() || !seen.insert(own) {
                faults.push(format!("{kind}: `{name}` has the parameter `{own}` twice or without a name"));
            }
            if text(param, "about").is_empty() || text(param, "python").is_empty() {
                faults.push(format!("{kind}: the parameter `{name}.{own}` has no text or no type"));
            }
            if !param["required"].is_boolean()
                || !param.as_object().is_some_and(|p| p.contains_key("default"))
            {
                faults.push(format!(
                    "{kind}: the parameter `{name}.{own}` does not say whether it must be given"
                ));
            }
        }
    }
}

fn text<'a>(row: &'a Json, key: &str) -> &'a str {
    row[key].as_str().unwrap_or_default()
}
