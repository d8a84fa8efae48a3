//! Matches the columns of all shards.

use crate::{
    field::{ColumnPlace, Field, fields},
    shard::Blocks,
};
use infeed_core::{Error, Result, registry};
use std::{collections::HashMap, sync::Arc};

/// The fields of a table, and where each of them is in each shard.
#[derive(Debug)]
pub(crate) struct Columns {
    pub(crate) fields: Vec<Field>,
    /// Per shard, in the order of `fields`. Shards with the same columns share one list.
    pub(crate) places: Vec<Arc<[ColumnPlace]>>,
}

/// Finds the columns that all shards share: those that are `needed`, or all of them if `all` is set.
pub(crate) fn common(shards: &[Arc<dyn Blocks>], needed: &[String], all: bool) -> Result<Columns> {
    let Some(first) = shards.first() else { return Err(Error::argument("there is no file to read")) };
    let (mut there, odd) = fields(first.schema());
    if let Some(double) = twice(&there) {
        return Err(Error::argument(format!(
            "`{}` has two columns `{double}`: rename one of them",
            first.name()
        )));
    }
    if there.is_empty() && odd.is_empty() {
        return Err(Error::argument(format!("`{}` has no columns", first.name())));
    }
    if let Some((name, kind)) = odd.first().filter(|_| all) {
        return Err(unsupported(first.name(), name, kind));
    }
    if !all {
        let mut wanted: Vec<Field> = vec![];
        for name in needed {
            let inside = format!("{name}.");
            let before = wanted.len();
            for field in &there {
                let hit = *field.name == **name || field.name.starts_with(&inside);
                if hit && !wanted.iter().any(|have| have.name == field.name) {
                    wanted.push(field.clone());
                }
            }
            let known = there.iter().any(|f| *f.name == **name || f.name.starts_with(&inside));
            if wanted.len() == before && !known {
                return Err(missing(first.name(), name, &there, &odd));
            }
        }
        there = wanted;
    }
    let mut places: Vec<Arc<[ColumnPlace]>> = Vec::with_capacity(shards.len());
    let own: Arc<[ColumnPlace]> = there.iter().map(|field| field.place.clone()).collect();
    for shard in shards {
        if shard.schema() == first.schema() {
            places.push(own.clone());
            continue;
        }
        places.push(one(&there, first.as_ref(), shard.as_ref(), all)?);
    }
    Ok(Columns { fields: there, places })
}

/// Returns where a shard has the fields of the first one.
fn one(wanted: &[Field], first: &dyn Blocks, shard: &dyn Blocks, all: bool) -> Result<Arc<[ColumnPlace]>> {
    let (there, odd) = fields(shard.schema());
    if let Some((name, kind)) = odd.first().filter(|_| all) {
        return Err(unsupported(shard.name(), name, kind));
    }
    let by_name: HashMap<&str, &Field> = there.iter().map(|field| (&*field.name, field)).collect();
    let mut places = Vec::with_capacity(wanted.len());
    for field in wanted {
        let Some(own) = by_name.get(&*field.name) else {
            let what = match odd.iter().find(|(name, _)| **name == *field.name) {
                Some((_, kind)) => format!("has the type {kind} in it, which is not supported"),
                None => "is missing in it".to_owned(),
            };
            return Err(Error::argument(format!(
                "the files have different columns: `{}` ({}) of `{}` {what}: `{}`; write it again, leave it out, or \
                 name the columns that all files have with columns=[...]",
                field.name,
                field.plain,
                first.name(),
                shard.name()
            )));
        };
        if own.plain != field.plain {
            return Err(Error::argument(format!(
                "the files have different columns: `{}` is {} in `{}` and {} in `{}`; write one of them again, or leave \
                 the column out with columns=[...]",
                field.name,
                field.plain,
                first.name(),
                own.plain,
                shard.name()
            )));
        }
        places.push(own.place.clone());
    }
    if all && let Some(more) = there.iter().find(|own| !wanted.iter().any(|field| field.name == own.name)) {
        return Err(Error::argument(format!(
            "the files have different columns: `{}` ({}) of `{}` is missing in `{}`; name the columns that all files have \
             with columns=[...]",
            more.name,
            more.plain,
            shard.name(),
            first.name()
        )));
    }
    Ok(places.into())
}

fn unsupported(shard: &str, name: &str, kind: &arrow_schema::DataType) -> Error {
    Error::argument(format!(
        "column `{name}` of `{shard}` has the type {kind}, which is not supported: name the columns to read with \
         columns=[...]"
    ))
}

fn twice(fields: &[Field]) -> Option<&str> {
    let mut names: Vec<&str> = fields.iter().map(|field| &*field.name).collect();
    names.sort_unstable();
    names.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0])
}

fn missing(shard: &str, name: &str, there: &[Field], odd: &[(String, arrow_schema::DataType)]) -> Error {
    if let Some((_, kind)) = odd.iter().find(|(odd, _)| odd == name) {
        return Error::argument(format!(
            "column `{name}` of `{shard}` has the type {kind}, which is not supported"
        ));
    }
    let names: Vec<&str> = there.iter().map(|field| &*field.name).collect();
    let near = registry::nearest(name, &names).map(|n| format!("; did you mean `{n}`?")).unwrap_or_default();
    Error::argument(format!("`{shard}` has no column `{name}`{near} (there are: {})", names.join(", ")))
}
