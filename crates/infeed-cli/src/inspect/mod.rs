//! `infeed inspect`: rows, fields, sizes, and the first rows.

pub(crate) mod beginning;
mod disk;
mod fields;
mod variables;

use crate::{
    args::InspectArgs,
    content::{Content, size},
    fault::Fault,
    human,
    output::bold,
    report::Report,
    table::{Align, Table},
};
use beginning::Beginning;
use fields::{Field, Survey};
use infeed::{Recipe, open};
use infeed_core::Source;
use serde_json::{Map, Value as Json, json};
use std::sync::Arc;

/// Class names that are shown as text; JSON has them all.
const CLASSES: usize = 8;

pub(crate) fn run(args: &InspectArgs) -> Result<Report, Fault> {
    let plan = open(Recipe::new(args.path.clone(), &args.format))?;
    let beginning = match &plan.stream {
        Some(plan) => Some(Beginning::read(plan.stream(), args.sample.max(args.rows))?),
        None => None,
    };
    let source: &dyn Source = match &beginning {
        Some(beginning) => beginning,
        None => &*plan.source,
    };
    let format = match &beginning {
        Some(_) => source.describe(),
        None => disk::format(&args.path, &args.format)?,
    };
    let (bytes, exact) = disk::bytes(source);
    let survey = fields::survey(source, args.sample)?;
    let rows = preview(source, args.rows);
    let shards = source.shard_rows();
    let decode: Map<String, Json> =
        survey.fields.iter().filter_map(|f| Some((f.name.to_string(), json!(f.decoder()?)))).collect();

    let mut text = format!("{}\n\n", bold(human::line(&args.path.join(" "), 100)));
    let mut facts = Table::new(&[("", Align::Left), ("", Align::Left)]);
    facts.row(["format", format.as_str()]);
    let more = beginning.as_ref().is_some_and(|b| b.more);
    facts.row([
        "rows".to_owned(),
        format!("{}{}", if more { "more than " } else { "" }, human::count(source.rows())),
    ]);
    if shards.len() > 1 {
        let (least, most) = (shards.iter().min().unwrap_or(&0), shards.iter().max().unwrap_or(&0));
        facts.row([
            "shards".to_owned(),
            format!("{}, {least} to {most} rows each", human::count(shards.len() as u64)),
        ]);
    }
    facts.row(["bytes".to_owned(), format!("{}{}", if exact { "" } else { "about " }, human::bytes(bytes))]);
    let classes = source.classes();
    if !classes.is_empty() {
        let more = if classes.len() > CLASSES { ", ..." } else { "" };
        let first = classes.iter().take(CLASSES).map(|c| human::line(c, 24)).collect::<Vec<_>>().join(", ");
        facts.row(["classes".to_owned(), format!("{}: {first}{more}", human::count(classes.len() as u64))]);
    }
    if !decode.is_empty() {
        let shown: Vec<String> = decode.iter().map(|(name, decoder)| format!("{name}={decoder}")).collect();
        facts.row(["decode with".to_owned(), shown.join(", ")]);
    }
    text += &facts.render();
    text += &format!("\n{}\n{}", bold("Fields"), survey_table(&survey));
    let variables = source.variables();
    if !variables.is_empty() {
        text += &format!("\n{}\n{}", bold("Variables"), variables::text(&variables));
    }
    if !rows.is_empty() {
        text += &format!("\n{}\n{}", bold("First rows"), preview_text(source, &rows));
    }
    let json = json!({
        "format": format,
        "rows": source.rows(),
        "rows_exact": !more,
        "shards": shards.len(),
        "bytes": bytes,
        "bytes_exact": exact,
        "classes": classes,
        "sampled_rows": survey.rows,
        "unreadable_rows": survey.unreadable,
        "first_error": survey.error,
        "fields": survey.fields.iter().map(Field::json).collect::<Vec<Json>>(),
        "decode": decode,
        "variables": variables::json(&variables),
        "preview": rows.iter().map(Row::json).collect::<Vec<Json>>(),
    });
    Ok(Report { text, json })
}

fn survey_table(survey: &Survey) -> String {
    let columns = ["field", "holds", "in rows", "min", "mean", "max", "images"];
    let align =
        |title: &str| if matches!(title, "field" | "holds" | "images") { Align::Left } else { Align::Right };
    let mut table = Table::new(&columns.map(|title| (title, align(title)))).indented(2);
    for field in &survey.fields {
        let bytes = field.bytes();
        table.row([
            field.name.to_string(),
            field.holds(),
            format!("{}/{}", field.present, survey.rows),
            human::bytes(bytes.0),
            human::bytes(bytes.1),
            human::bytes(bytes.2),
            field.images(),
        ]);
    }
    let mut out = table.render();
    if let Some(error) = &survey.error {
        out += &format!("  {} rows could not be read; the first: {error}\n", survey.unreadable);
    }
    out
}

/// One of the first rows.
struct Row {
    key: String,
    fields: Vec<(Arc<str>, Content, u64)>,
    error: Option<String>,
}

fn preview(source: &dyn Source, rows: u64) -> Vec<Row> {
    let names: Vec<Arc<str>> = source.spec().fields.iter().map(|(name, _)| Arc::clone(name)).collect();
    let show = |row| {
        let key = source.key(row);
        match source.fetch(&[row], &names) {
            Err(error) => Row { key, fields: vec![], error: Some(error.to_string()) },
            Ok(records) => {
                let values = records.iter().flat_map(|record| &record.fields);
                let fields = names.iter().zip(values).map(|(n, v)| (Arc::clone(n), Content::of(v), size(v)));
                Row { key, fields: fields.collect(), error: None }
            }
        }
    };
    (0..rows.min(source.rows())).map(show).collect()
}

fn preview_text(source: &dyn Source, rows: &[Row]) -> String {
    let mut table = Table::new(&[("", Align::Left), ("", Align::Left), ("", Align::Left)]).indented(2);
    for row in rows {
        let mut key = row.key.clone();
        if let Some(error) = &row.error {
            table.row([std::mem::take(&mut key), String::new(), error.clone()]);
        }
        for (name, content, size) in &row.fields {
            let mut shown = content.show(*size);
            if let (Content::Int { value, encoded: false }, "label") = (content, &**name)
                && let Some(class) = usize::try_from(*value).ok().and_then(|n| source.classes().get(n))
            {
                shown += &format!(" ({})", human::line(class, 32));
            }
            table.row([std::mem::take(&mut key), name.to_string(), shown]);
        }
    }
    table.render()
}

impl Row {
    fn json(&self) -> Json {
        let fields: Map<String, Json> =
            self.fields.iter().map(|(name, content, size)| (name.to_string(), content.json(*size))).collect();
        json!({"key": self.key, "fields": fields, "error": self.error})
    }
}
