//! What happens to the fields of a row.

use super::filter::SampleFilter;
use crate::{decode, transform};
use infeed_core::{Decoder, Error, FieldSpec, Kind, Result, Spec, Transform, registry};
use serde_json::{Map, Value as Json};
use std::sync::Arc;

/// What happens to one field: decode, then transforms with the number of their stage.
#[derive(Debug, Clone)]
pub(crate) struct Chain {
    pub(crate) decoder: Option<Arc<dyn Decoder>>,
    pub(crate) transforms: Vec<(u64, Arc<dyn Transform>)>,
    /// What `explain()` shows: each step with the spec after it.
    pub(crate) steps: Vec<(String, FieldSpec)>,
}

/// What happens to the rows below `end` (and not below the branch before): one chain per field of `spec`.
#[derive(Debug, Clone)]
pub(crate) struct Branch {
    pub(crate) end: u64,
    pub(crate) spec: Spec,
    pub(crate) chains: Vec<Chain>,
    /// What samples must fulfil, in the order of the stages.
    pub(crate) filters: Vec<SampleFilter>,
}

impl Branch {
    /// Rows as they are stored.
    pub(super) fn stored(end: u64, spec: Spec) -> Self {
        let chains = spec
            .fields
            .iter()
            .map(|(_, f)| Chain {
                decoder: None,
                transforms: vec![],
                steps: vec![("stored as".to_owned(), f.clone())],
            })
            .collect();
        Branch { end, spec, chains, filters: vec![] }
    }

    /// Keeps these fields.
    pub(super) fn select(&mut self, names: &[String]) {
        let mut keep = self
            .spec
            .fields
            .iter()
            .map(|(n, _)| names.iter().any(|k| **k == **n))
            .collect::<Vec<_>>()
            .into_iter();
        self.chains.retain(|_| keep.next().unwrap_or(false));
        self.spec.fields.retain(|(n, _)| names.iter().any(|k| **k == **n));
    }

    pub(super) fn decode(&mut self, field: &str, name: &str, args: &Map<String, Json>) -> Result<()> {
        let at = self.spec.require(field, "decode")?;
        let stage = format!("decode {field}=\"{name}\"");
        let decoder = registry::find(decode::DECODERS, name, "decoder")?.make(args)?;
        let spec = decoder.spec(&self.spec.fields[at].1).map_err(|e| restage(e, &stage))?;
        self.chains[at].decoder = Some(Arc::from(decoder));
        self.chains[at].steps.push((format!("decode {name}"), spec.clone()));
        self.spec.fields[at].1 = spec;
        Ok(())
    }

    pub(super) fn map(
        &mut self,
        name: &str,
        on: &[String],
        args: &Map<String, Json>,
        stage: u64,
    ) -> Result<()> {
        let made: Arc<dyn Transform> =
            Arc::from(registry::find(transform::ENTRIES, name, "transform")?.make(args)?);
        let fields: Vec<usize> = if on.is_empty() {
            (0..self.spec.fields.len())
                .filter(|i| matches!(self.spec.fields[*i].1.kind, Kind::Image(_)))
                .collect()
        } else {
            on.iter().map(|f| self.spec.require(f, &format!("map {name}"))).collect::<Result<_>>()?
        };
        if fields.is_empty() {
            return Err(Error::plan(
                format!("map {name}"),
                "finds no image: decode one first, for example .decode(jpg=\"rgb\"), or say which field with on=",
            ));
        }
        for at in fields {
            let label = format!("map {name} on `{}`", self.spec.fields[at].0);
            let spec = made.spec(&self.spec.fields[at].1).map_err(|e| restage(e, &label))?;
            self.chains[at].transforms.push((stage, Arc::clone(&made)));
            self.chains[at].steps.push((name.to_owned(), spec.clone()));
            self.spec.fields[at].1 = spec;
        }
        Ok(())
    }

    /// Lays the fields out as in `spec`. A field that these rows do not have comes as missing.
    pub(super) fn arrange(&mut self, spec: &Spec) {
        let old = std::mem::take(&mut self.chains);
        let mut old: Vec<Option<Chain>> = old.into_iter().map(Some).collect();
        self.chains = spec
            .fields
            .iter()
            .map(|(name, f)| {
                let found = self.spec.position(name).and_then(|at| old[at].take());
                found.unwrap_or_else(|| Chain {
                    decoder: None,
                    transforms: vec![],
                    steps: vec![("not there".to_owned(), f.clone())],
                })
            })
            .collect();
        self.spec = spec.clone();
    }
}

/// Names the stage as the user wrote it.
fn restage(error: Error, stage: &str) -> Error {
    match error {
        Error::Plan { what, .. } => Error::plan(stage, what),
        Error::Sample { what, .. } => Error::plan(stage, what),
        other => other,
    }
}
