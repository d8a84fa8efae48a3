//! `infeed list`: formats, decoders and transforms, with their parameters.

use crate::{
    args::ListArgs,
    fault::Fault,
    output::bold,
    report::Report,
    table::{Align, Table},
};
use infeed::tables::{self, KINDS};
use serde_json::{Map, Value as Json};

pub(crate) fn run(args: &ListArgs) -> Result<Report, Fault> {
    let kinds: Vec<&str> = args.kind.as_deref().map_or(KINDS.to_vec(), |kind| vec![kind]);
    let (mut text, mut json) = (String::new(), Map::new());
    for kind in &kinds {
        let found = tables::json(kind)?;
        if kinds.len() > 1 {
            text += &format!("{}\n", bold(kind));
        }
        text += &show(found.as_array().map_or(&[], Vec::as_slice), if kinds.len() > 1 { 2 } else { 0 });
        text.push('\n');
        json.insert((*kind).to_owned(), found);
    }
    Ok(Report { text: text.trim_end().to_owned(), json: Json::Object(json) })
}

/// A line for each entry, and below it one for each parameter.
fn show(entries: &[Json], indent: usize) -> String {
    let mut table = Table::new(&[("", Align::Left), ("", Align::Left)]).indented(indent);
    for entry in entries {
        let name = entry["name"].as_str().unwrap_or_default();
        let mut about = entry["about"].as_str().unwrap_or_default().to_owned();
        if let Some(extensions) = entry["extensions"].as_array() {
            let all: Vec<&str> = extensions.iter().filter_map(Json::as_str).collect();
            about += &format!(" ({})", all.join(" "));
        }
        table.row([name, &about]);
        for param in entry["params"].as_array().into_iter().flatten() {
            let about = param["about"].as_str().unwrap_or_default();
            table.row([format!("  {}", parameter(param)), format!("  {about}")]);
        }
    }
    table.render()
}

/// `name` when it must be given, `name=default` otherwise.
fn parameter(param: &Json) -> String {
    let name = param["name"].as_str().unwrap_or_default();
    if param["required"].as_bool() == Some(true) {
        return name.to_owned();
    }
    format!("{name}={}", python(&param["default"]))
}

/// A default as Python writes it.
fn python(value: &Json) -> String {
    match value {
        Json::Null => "None".to_owned(),
        Json::Bool(true) => "True".to_owned(),
        Json::Bool(false) => "False".to_owned(),
        Json::Array(items) => format!("({})", items.iter().map(python).collect::<Vec<_>>().join(", ")),
        other => other.to_string(),
    }
}
