//! The corpora to write, and the rows of each.

use super::args::TokenizeArgs;
use crate::fault::Fault;
use infeed::{
    Error, Plan, Recipe, open,
    recipe::{Stage, Use},
    store::{Found, find},
};
use infeed_core::{FieldKind, FieldSpec};
use serde_json::{Map, Value as Json, json};
use std::{collections::BTreeMap, ops::Range, path::Path, sync::Arc};

/// One corpus to write.
#[derive(Debug, Clone)]
pub(super) struct CorpusPart {
    pub(super) prefix: String,
    pub(super) paths: Vec<String>,
    /// Rows of the source; `None` for all.
    pub(super) rows: Option<Range<u64>>,
}

/// The corpora of a command.
pub(super) fn parts(args: &TokenizeArgs) -> Result<Vec<CorpusPart>, Fault> {
    let all = |prefix: String, rows| CorpusPart { prefix, paths: args.source.clone(), rows };
    if let Some(shards) = args.shards {
        let plan = open(Recipe::new(args.source.clone(), &args.format))?;
        if plan.is_stream() {
            return Err(Error::argument(
                "--shards needs a known number of rows, which a stream does not have: use --per-file",
            )
            .into());
        }
        let (rows, shards) = (plan.source.rows(), shards as u64);
        let cut = |n: u64| (u128::from(rows) * u128::from(n) / u128::from(shards)) as u64;
        return Ok((0..shards)
            .map(|n| all(format!("{}-{n:05}", args.out), Some(cut(n)..cut(n + 1))))
            .collect());
    }
    if !args.per_file {
        return Ok(vec![all(args.out.clone(), None)]);
    }
    let mut parts: Vec<CorpusPart> = vec![];
    for found in find(&args.source)? {
        let Found::File(path) = found else {
            return Err(Fault::Usage(format!(
                "--per-file works on files, and `{}` is a folder",
                found.name()
            )));
        };
        let name = Path::new(&path).file_name().unwrap_or_default().to_string_lossy();
        // `part-0.jsonl.zst` gives `part-0`.
        let stem = name.split('.').find(|s| !s.is_empty()).unwrap_or(&name);
        let prefix = format!("{}-{stem}", args.out);
        if let Some(other) = parts.iter().find(|p| p.prefix == prefix) {
            let both = format!("`{}` and `{path}`", other.paths[0]);
            return Err(Fault::Usage(format!(
                "--per-file would write {both} to the same `{prefix}.bin`: tokenize them separately"
            )));
        }
        parts.push(CorpusPart { prefix, paths: vec![path], rows: None });
    }
    Ok(parts)
}

/// The pipeline that tokenizes the rows from `done` on.
pub(super) fn plan(
    args: &TokenizeArgs,
    part: &CorpusPart,
    eod: Option<u32>,
    done: u64,
) -> Result<Arc<Plan>, Fault> {
    let raw = open(Recipe::new(part.paths.clone(), &args.format))?;
    let (name, spec) = field(&raw, args.field.as_deref())?;
    let mut recipe = Recipe::new(part.paths.clone(), &args.format);
    let (start, stop) =
        part.rows.clone().map_or((done, None), |rows| (rows.start + done, Some(rows.end as i64)));
    if start > 0 || stop.is_some() {
        recipe.stages.push(Stage::Slice { start: Some(start as i64), stop, step: None });
    }
    recipe.stages.push(Stage::Select { fields: vec![name.clone()] });
    if spec.kind == FieldKind::Encoded {
        let text = Use { name: "text".to_owned(), args: Map::new() };
        recipe.stages.push(Stage::Decode { fields: BTreeMap::from([(name.clone(), text)]), optional: false });
    }
    let given = json!({
        "tokenizer": args.tokenizer, "special_tokens": args.special_tokens, "eos": eod, "dtype": "uint32",
    });
    let given = if let Json::Object(given) = given { given } else { Map::new() };
    recipe.stages.push(Stage::Map { name: "Tokenize".to_owned(), on: vec![name], args: given });
    recipe.stages.push(Stage::batch(256));
    Ok(open(recipe)?)
}

/// The field with the text.
fn field(raw: &Plan, wanted: Option<&str>) -> Result<(String, FieldSpec), Fault> {
    let spec = &raw.spec;
    let usual = ["text", "txt"].into_iter().find(|name| spec.position(name).is_some());
    let name = wanted.or(usual).unwrap_or("text");
    let at = spec.require(name, "tokenize").map_err(|e| match wanted {
        Some(_) => e,
        None => Error::argument(format!("{e}: say which has the text, with --field")),
    })?;
    Ok((name.to_owned(), spec.fields[at].1.clone()))
}
