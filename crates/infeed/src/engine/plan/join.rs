//! Joins pipelines into one, with their fields, orders and branches.

use super::draft::Draft;
use crate::{
    order::{Below, Blend, Concat, Interleave},
    recipe::Join,
};
use infeed_core::{Error, FieldKind, Result, Spec};
use std::sync::Arc;

impl Draft {
    /// Joins the parts into one pipeline.
    pub(super) fn join(join: &Join, parts: Vec<Draft>) -> Result<Self> {
        let stage = join.name();
        if let Some(odd) = parts.iter().position(|p| !p.python.is_empty()) {
            return Err(Error::plan(
                stage,
                format!("part {odd} has Python functions: join first, apply them afterwards"),
            ));
        }
        if let Some(odd) = parts.iter().position(|p| p.batch.is_some() || p.tuple.is_some()) {
            return Err(Error::plan(
                stage,
                format!("part {odd} makes batches: join first, batch afterwards"),
            ));
        }
        let spec = common_spec(stage, &parts)?;
        let spent = |p: &Draft| p.branches.iter().flat_map(|b| &b.spent).find_map(|c| spec.position(&c.name));
        if let Some((number, at)) = parts.iter().enumerate().find_map(|(n, p)| Some((n, spent(p)?))) {
            let name = &spec.fields[at].0;
            return Err(Error::plan(
                stage,
                format!(
                    "part {number} made views of `{name}`, which other parts still have: make views after joining"
                ),
            ));
        }
        let orders: Vec<Below> = parts.iter().map(|p| Arc::clone(&p.order)).collect();
        let order: Below = match join {
            Join::Concat => Arc::new(Concat::new(orders)?),
            Join::Interleave { run, stop } => Arc::new(Interleave::new(orders, *run, *stop)?),
            Join::Blend { weights, length } => Arc::new(Blend::new(orders, weights, *length)?),
            Join::Zip { .. } => {
                return Err(Error::Internal { what: "zipped sources are one source".to_owned() });
            }
        };
        let mut out = Draft {
            spec,
            branches: vec![],
            order,
            stream: None,
            shuffle_seed: parts.iter().find_map(|p| p.shuffle_seed),
            seed: parts.iter().find_map(|p| p.seed),
            batch: None,
            tuple: None,
            python: vec![],
            wanted: vec![],
            maps: parts.iter().map(|p| p.maps).max().unwrap_or(0),
        };
        for part in parts {
            for mut branch in part.branches {
                branch.arrange(&out.spec);
                // Two parts over the same rows with the same stages share a branch.
                if !out.branches.iter().any(|b| b.end == branch.end) {
                    out.branches.push(branch);
                }
            }
        }
        out.branches.sort_by_key(|b| b.end);
        Ok(out)
    }
}

/// Returns the fields of all parts together. A field may be missing in some parts only while it is not decoded.
fn common_spec(stage: &str, parts: &[Draft]) -> Result<Spec> {
    let mut spec = Spec::default();
    for (number, part) in parts.iter().enumerate() {
        for (name, field) in &part.spec.fields {
            match spec.position(name) {
                None => spec.fields.push((Arc::clone(name), field.clone())),
                Some(at) if spec.fields[at].1 == *field => {}
                Some(at) => {
                    return Err(Error::plan(
                        stage,
                        format!(
                            "the field `{name}` is {} in the parts before, but {field} in part {number}: decode and \
                             transform the parts alike, or after joining them",
                            spec.fields[at].1
                        ),
                    ));
                }
            }
        }
    }
    for (name, field) in &spec.fields {
        let without = parts.iter().position(|p| p.spec.position(name).is_none());
        if let Some(number) = without
            && field.kind != FieldKind::Encoded
        {
            return Err(Error::plan(
                stage,
                format!(
                    "part {number} has no field `{name}`: decode it after joining, or leave it out with select()"
                ),
            ));
        }
    }
    Ok(spec)
}
