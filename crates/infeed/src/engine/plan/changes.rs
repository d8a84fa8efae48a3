//! `map_batch`: transforms of whole batches.

use super::{
    branch::{ChainStep, restage},
    draft::Draft,
};
use crate::{batch::Change, mix};
use infeed_core::{BatchTransform, Error, FieldKind, Result, Spec, registry};
use serde_json::{Map, Value as Json};
use std::sync::Arc;

/// A batch transform as the recipe states it.
#[derive(Debug, Clone)]
pub(super) struct WantedChange {
    name: String,
    on: Vec<String>,
    transform: Arc<dyn BatchTransform>,
    stage: u64,
}

impl WantedChange {
    fn change(&self, before: &Spec) -> Result<Change> {
        let stage = format!("map_batch {}", self.name);
        let on: Vec<usize> = if self.on.is_empty() {
            let image = |i: &usize| matches!(before.fields[*i].1.kind, FieldKind::Image(_));
            (0..before.fields.len()).filter(image).collect()
        } else {
            self.on.iter().map(|f| before.require(f, &stage)).collect::<Result<_>>()?
        };
        if on.is_empty() {
            return Err(Error::plan(
                stage,
                "finds no image: decode one first, for example .decode(jpg=\"rgb\"), or say which field with on=",
            ));
        }
        if let Some((target, _)) = before.fields.iter().find(|(_, spec)| spec.kind.is_target()) {
            return Err(Error::plan(
                stage,
                format!(
                    "mixes images, and `{target}` would stay that of one of them: leave it out with select(), or do not mix"
                ),
            ));
        }
        if let Some(twice) = on.iter().enumerate().find_map(|(i, at)| on[..i].contains(at).then_some(*at)) {
            return Err(Error::plan(stage, format!("on= names `{}` twice", before.fields[twice].0)));
        }
        let after = self.transform.spec(before, &on).map_err(|e| restage(e, &stage))?;
        Ok(Change {
            name: self.name.clone(),
            stage: self.stage,
            transform: Arc::clone(&self.transform),
            on,
            before: before.clone(),
            after,
        })
    }
}

impl Draft {
    /// Adds a batch transform.
    pub(super) fn map_batch(
        &mut self,
        name: &str,
        on: &[String],
        args: &Map<String, Json>,
        stage: u64,
    ) -> Result<()> {
        let transform = registry::find(mix::ENTRIES, name, "batch transform")?.make(args)?;
        self.wanted.push(WantedChange {
            name: name.to_owned(),
            on: on.to_vec(),
            transform: transform.into(),
            stage,
        });
        if let Some((field, _)) = self.optional_columns().first() {
            return Err(Error::plan(
                format!("map_batch {name}"),
                format!(
                    "works on whole batches, and `{field}` is optional: leave it out with select(), or do not mix"
                ),
            ));
        }
        let changes = self.changes()?;
        let Some(last) = changes.last() else { return Ok(()) };
        // Bad samples are detected one by one, before they are in a batch.
        if let Some((field, check)) = last.transform.check(&last.before)? {
            for branch in &mut self.branches {
                branch.chains[field].transforms.push((stage, ChainStep::Own(Arc::clone(&check))));
            }
        }
        Ok(())
    }

    /// Returns the batch transforms, settled for the current fields.
    pub(super) fn changes(&self) -> Result<Vec<Change>> {
        let mut changes: Vec<Change> = vec![];
        for wanted in &self.wanted {
            let before = changes.last().map_or(&self.spec, |c| &c.after);
            changes.push(wanted.change(before)?);
        }
        Ok(changes)
    }
}
