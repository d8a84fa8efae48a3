//! The fields of many shards.

use infeed_core::{Error, FieldSpec, Indices, Result, Shards, Spec};
use std::{collections::HashMap, sync::Arc};

/// Returns the fields of all shards: in the order of the files, if the format has one, otherwise sorted by name so that the
/// order does not depend on which shard comes first.
pub(super) fn union(shards: &Shards, indices: &dyn Indices) -> Result<Spec> {
    let mut seen: HashMap<Arc<str>, (FieldSpec, usize)> = HashMap::new();
    let mut names: Vec<Arc<str>> = vec![];
    for (shard, fields) in indices.fields() {
        for (name, spec) in fields {
            let (first, origin) = seen.entry(Arc::clone(&name)).or_insert_with(|| {
                names.push(Arc::clone(&name));
                (spec.clone(), shard)
            });
            if *first != spec {
                let named = |shard| shards.name(shard).unwrap_or_default();
                let (a, b) = (named(*origin), named(shard));
                return Err(Error::plan(
                    "read",
                    format!("the field `{name}` is {first} in shard `{a}` but {spec} in shard `{b}`"),
                ));
            }
        }
    }
    if !indices.ordered() {
        names.sort_unstable();
    }
    let field = |name: Arc<str>| seen.remove(&name).map(|(spec, _)| (name, spec));
    Ok(Spec { fields: names.into_iter().filter_map(field).collect() })
}
