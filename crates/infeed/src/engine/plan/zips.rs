//! Zipped sources: opens the parts, and finds which of their rows belong together.

use super::Opened;
use crate::{
    format,
    read::{Coordinate, ZipPart, Zipped, align},
    recipe::{Join, SourceRecipe},
};
use infeed_core::{Error, Result, Source};
use serde_json::json;
use std::sync::Arc;

const STAGE: &str = "zip";
/// Arguments that say which steps a row has. All others of an array format are about other variables.
const STEPS: [&str; 8] = ["rows", "mask_and_scale", "read", "window", "stride", "horizon", "gap", "across"];

type Open<'a> = &'a mut dyn FnMut(&SourceRecipe) -> Result<Opened>;

/// Opens zipped sources as one.
pub(super) fn open(recipe: &SourceRecipe, open: Open<'_>) -> Result<Arc<dyn Source>> {
    let Some(Join::Zip { on, names }) = &recipe.join else {
        return Err(Error::Internal { what: "no zipped source".to_owned() });
    };
    if recipe.parts.is_empty() || !recipe.paths.is_empty() {
        return Err(Error::argument("recipe: a source with `join` needs `part`s and no `paths`"));
    }
    if !names.is_empty() && names.len() != recipe.parts.len() {
        let what = format!("there are {} names for {} parts", names.len(), recipe.parts.len());
        return Err(Error::plan(STAGE, what));
    }
    let mut sources = Vec::with_capacity(recipe.parts.len());
    for (number, part) in recipe.parts.iter().enumerate() {
        if !part.stages.is_empty() || part.source.join.is_some() {
            let what =
                format!("part {number} has stages, or is joined: zip sources first, do the rest afterwards");
            return Err(Error::plan(STAGE, what));
        }
        match open(&part.source)? {
            Opened::Rows(rows) if !rows.spec().fields.is_empty() => sources.push(rows),
            Opened::Rows(_) => {
                let what = format!("part {number} makes samples in Python, which have no fields yet");
                return Err(Error::plan(STAGE, what + ": give arrays, or zip them in __getitem__"));
            }
            Opened::Stream(stream) => {
                let what = format!("{} is a stream, whose rows have no numbers", stream.describe());
                return Err(Error::plan(STAGE, what));
            }
        }
    }
    let (rows, total, note) = match on {
        None => (vec![None; sources.len()], equally_long(&sources)?, String::new()),
        Some(on) => joined(recipe, &sources, on, open)?,
    };
    let gone = |field: &str| on.as_deref().is_some_and(|on| field == on || field == target(on));
    let parts = sources.into_iter().zip(rows).enumerate().map(|(number, (source, rows))| {
        let named = |field: &Arc<str>| match names.get(number).filter(|name| !name.is_empty()) {
            Some(name) => Arc::from(format!("{name}.{field}")),
            None => Arc::clone(field),
        };
        let own = source.spec().fields.iter().map(|(field, _)| field);
        // What all have in common is the first part's.
        let own = own.filter(|field| number == 0 || !gone(field));
        let fields = own.map(|field| (Arc::clone(field), named(field))).collect();
        ZipPart { source, rows, fields }
    });
    Ok(Arc::new(Zipped::new(parts.collect(), total, note)?))
}

/// The rows of sources whose rows belong together by their numbers.
fn equally_long(sources: &[Arc<dyn Source>]) -> Result<u64> {
    let total = sources.first().map_or(0, |source| source.rows());
    match sources.iter().enumerate().find(|(_, source)| source.rows() != total) {
        None => Ok(total),
        Some((number, source)) => Err(Error::plan(
            STAGE,
            format!(
                "part 0 has {total} rows, and part {number} has {}: rows belong together by their numbers. Give on=\"time\" to \
                 join them on a variable, or choose the same steps of both",
                source.rows()
            ),
        )),
    }
}

type Rows = (Vec<Option<Vec<u64>>>, u64, String);

/// The rows that have the same value of a coordinate.
fn joined(recipe: &SourceRecipe, sources: &[Arc<dyn Source>], on: &str, open: Open<'_>) -> Result<Rows> {
    let mut all = Vec::with_capacity(sources.len());
    for (number, (part, source)) in recipe.parts.iter().zip(sources).enumerate() {
        all.push(coordinate(number, &part.source, source, on, open)?);
    }
    comparable(&all, on)?;
    let rows = align(&all)?;
    let total = rows.first().map_or(0, |rows| rows.len() as u64);
    if total == 0 {
        let what = format!("no value of `{on}` is in all {} parts: there are no rows to read", sources.len());
        return Err(Error::plan(STAGE, what));
    }
    let left = |(number, source): (usize, &Arc<dyn Source>)| {
        format!("part {number} leaves out {} of {} rows", source.rows() - total, source.rows())
    };
    let left: Vec<String> = sources.iter().enumerate().map(left).collect();
    let note = format!(", joined on `{on}` to {total} rows ({})", left.join(", "));
    // Lists of all rows in order need no list.
    let is_all = |rows: &Vec<u64>, source: &Arc<dyn Source>| {
        rows.len() as u64 == source.rows() && rows.iter().zip(0..).all(|(row, at)| *row == at)
    };
    let shorter =
        rows.into_iter().zip(sources).map(|(rows, source)| (!is_all(&rows, source)).then_some(rows));
    Ok((shorter.collect(), total, note))
}

fn target(on: &str) -> String {
    format!("{on}.target")
}

/// The coordinate of a part: a field of it, or another variable of the same files, in the same steps.
fn coordinate(
    number: usize,
    recipe: &SourceRecipe,
    source: &Arc<dyn Source>,
    on: &str,
    open: Open<'_>,
) -> Result<Coordinate> {
    let place = format!("part {number} ({})", source.shard_of(0));
    let known = source.spec().position(on).is_some();
    let entry = if recipe.format == "auto" { None } else { format::entry(&recipe.format).ok() };
    let has = |name: &str| entry.is_some_and(|entry| entry.params.iter().any(|param| param.name == name));
    let names = ["variables", "fields"].into_iter().find(|name| has(name)).filter(|_| has("window"));
    let source = match names {
        // Boxes may have anything else but all steps of the coordinate.
        Some(names) if !known || recipe.args.contains_key("window") || recipe.args.contains_key("patch") => {
            let mut own = recipe.clone();
            own.args.retain(|name, _| STEPS.contains(&name.as_str()));
            own.args.insert(names.to_owned(), json!([on]));
            let Opened::Rows(found) = open(&own)? else {
                return Err(Error::Internal { what: "an array that is a stream".to_owned() });
            };
            if found.rows() != source.rows() {
                let what = format!(
                    "{place} has {} rows, and `{on}` {}: rows that are patches cannot be joined on it",
                    source.rows(),
                    found.rows()
                );
                return Err(Error::plan(STAGE, what + ", zip steps and cut them with a transform"));
            }
            found
        }
        _ if known => Arc::clone(source),
        _ => {
            let fields: Vec<&str> = source.spec().fields.iter().map(|(name, _)| &**name).collect();
            let what = format!("{place} has no field `{on}`; it has {}", fields.join(", "));
            return Err(Error::plan(STAGE, what));
        }
    };
    let fields = [Arc::from(on), Arc::from(target(on))];
    let fields = fields.into_iter().filter(|name: &Arc<str>| source.spec().position(name).is_some());
    Ok(Coordinate { fields: fields.collect(), source, place })
}

/// Checks that rows have the same steps, and that equal values mean the same.
fn comparable(all: &[Coordinate], on: &str) -> Result<()> {
    let Some((first, others)) = all.split_first() else { return Ok(()) };
    let shape = |one: &Coordinate, field: &str| {
        let spec = one.source.spec();
        spec.position(field).map(|at| spec.fields[at].1.shape.clone())
    };
    let units = first.source.units(on)?;
    for other in others {
        for field in [on.to_owned(), target(on)] {
            let (a, b) = (shape(first, &field), shape(other, &field));
            if a != b {
                let what = format!("{} and {} differ in the steps of a row", first.place, other.place);
                let cure = "give all parts the same window=, horizon= and gap=; fields that are not needed are left out with select()";
                return Err(Error::plan(STAGE, format!("{what}: {cure}")));
            }
        }
        if let (Some(a), Some(b)) = (&units, other.source.units(on)?)
            && *a != b
        {
            let what =
                format!("`{on}` is counted in `{a}` in {}, and in `{b}` in {}", first.place, other.place);
            let cure = "equal numbers are different times; write one of them in the units of the other";
            return Err(Error::plan(STAGE, format!("{what}: {cure}")));
        }
    }
    Ok(())
}
