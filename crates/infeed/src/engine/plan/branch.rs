//! Branches: what happens to the fields of a row.

use super::{
    filter::SampleFilter,
    joints::Joint,
    keeping::{Cut, Kept},
    targets::Target,
};
use crate::{decode, families, recipe::Stage, transform};
use infeed_core::{Decoder, Dim, Error, FieldKind, FieldSpec, Reach, Result, Spec, Transform};
use serde_json::{Map, Value as Json};
use std::sync::Arc;

/// Where a field begins.
#[derive(Debug, Clone)]
pub(crate) enum Start {
    /// With a field of the record.
    Stored {
        /// Its name there.
        name: Arc<str>,
        /// Its index among the fields that are read; set when the plan is settled.
        at: usize,
    },
    /// With a copy of another field, taken after so many transforms.
    Copy {
        /// Its name.
        of: Arc<str>,
        /// Its index among the chains; set when the plan is settled.
        at: usize,
        /// Transforms before the copy.
        after: usize,
    },
}

/// Copies made of a field at one point of its chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fork {
    /// Transforms before it.
    pub(crate) after: usize,
    /// The chains that begin here.
    pub(crate) to: Vec<usize>,
}

/// One step of a chain.
#[derive(Debug, Clone)]
pub(crate) enum ChainStep {
    /// A transform of this field.
    Own(Arc<dyn Transform>),
    /// A step that several fields take together: its number among the joints.
    Joint(usize),
}

/// What happens to one field: decode, then transforms, each with its stage number.
#[derive(Debug, Clone)]
pub(crate) struct Chain {
    pub(crate) name: Arc<str>,
    pub(crate) start: Start,
    pub(crate) decoder: Option<Arc<dyn Decoder>>,
    pub(crate) transforms: Vec<(u64, ChainStep)>,
    /// What `explain()` shows: each step with the spec after it.
    pub(crate) steps: Vec<(String, FieldSpec)>,
    /// The value that pads it in batches, if one of its transforms says so.
    pub(super) pads_with: Option<f64>,
    /// Whether a sample may lack it: nothing is done to a value that is missing.
    pub(crate) optional: bool,
    /// Whether a stage that copied it asked to keep it.
    pub(super) keep: bool,
    /// Where copies are made, in the order of its transforms; set when the plan is settled.
    pub(crate) forks: Vec<Fork>,
    /// Whether more than one field is made from it, so that its pixels are decoded once for all; set when the plan is
    /// settled.
    pub(crate) shared: bool,
}

impl Chain {
    pub(super) fn new(name: &Arc<str>, start: Start, step: String, spec: &FieldSpec) -> Self {
        Chain {
            name: Arc::clone(name),
            start,
            decoder: None,
            transforms: vec![],
            steps: vec![(step, spec.clone())],
            pads_with: None,
            optional: false,
            keep: false,
            forks: vec![],
            shared: false,
        }
    }

    pub(super) fn stored(name: &Arc<str>, step: &str, spec: &FieldSpec) -> Self {
        Chain::new(name, Start::Stored { name: Arc::clone(name), at: 0 }, step.to_owned(), spec)
    }

    /// Returns its spec after all steps.
    pub(super) fn spec(&self) -> FieldSpec {
        self.steps.last().map_or_else(FieldSpec::encoded, |(_, spec)| spec.clone())
    }

    /// Whether an image that has passed `after` transforms is used for its pixels. It is not if the next transform makes
    /// something else of it, such as a mask of patches.
    pub(super) fn uses_pixels(&self, after: usize) -> bool {
        let Some((_, ChainStep::Own(next))) = self.transforms.get(after) else { return true };
        let made = next.spec(&FieldSpec::image(Dim::Any));
        made.map_or(true, |spec| matches!(spec.kind, FieldKind::Image(_)))
    }
}

/// What happens to the rows below `end` (and not below the `end` of the branch before): one chain per field of `spec`.
/// In a settled plan, the chains that only serve others follow.
#[derive(Debug, Clone)]
pub(crate) struct Branch {
    pub(crate) end: u64,
    pub(crate) spec: Spec,
    pub(crate) chains: Vec<Chain>,
    /// Fields that were copied and are no longer part of the sample.
    pub(super) spent: Vec<Chain>,
    /// Conditions on samples, in the order of the stages.
    pub(crate) filters: Vec<SampleFilter>,
    /// Fields that lie in an image.
    pub(super) targets: Vec<Target>,
    /// Steps that several fields take together, in the order of the stages.
    pub(crate) joints: Vec<Joint>,
    /// Fields that were not selected.
    pub(super) dropped: Vec<Arc<str>>,
    /// The stages that work on its samples, and where they come from, as far as a cache must know.
    pub(super) history: Vec<Stage>,
    pub(super) origin: String,
    /// The first random transform.
    pub(super) random: Option<String>,
    /// Where samples are kept, between the stages.
    pub(super) cut: Option<Cut>,
    /// The same, once all is settled.
    pub(crate) kept: Option<Kept>,
}

impl Branch {
    /// Creates a branch with the fields as they are stored.
    pub(super) fn stored(end: u64, spec: Spec) -> Self {
        let chains = spec.fields.iter().map(|(name, f)| Chain::stored(name, "stored as", f)).collect();
        Branch {
            end,
            spec,
            chains,
            spent: vec![],
            filters: vec![],
            targets: vec![],
            joints: vec![],
            dropped: vec![],
            history: vec![],
            origin: String::new(),
            random: None,
            cut: None,
            kept: None,
        }
    }

    /// Returns the index of a field, or an error that lists the fields.
    pub(super) fn require(&self, field: &str, stage: &str) -> Result<usize> {
        self.spec.require(field, stage).map_err(|error| match self.spent.iter().find(|c| *c.name == *field) {
            Some(_) => Error::plan(
                stage,
                format!(
                    "the field `{field}` is not there any more, views were made of it: use those, put this stage before \
                     views(), or say views(..., keep=True)"
                ),
            ),
            None => error,
        })
    }

    /// Keeps these fields. Others are kept in the background if copies of them are used.
    pub(super) fn select(&mut self, names: &[String]) -> Result<()> {
        if self.leaves_targets(names) {
            self.end_targets()?;
        }
        let wanted = |name: &str| names.iter().any(|k| k == name);
        let origin = |chain: &Chain| match &chain.start {
            Start::Copy { of, .. } => Some(Arc::clone(of)),
            Start::Stored { .. } => None,
        };
        let mut origins: Vec<Arc<str>> = self.chains.iter().chain(&self.spent).filter_map(origin).collect();
        let kept = self.chains.iter().filter(|c| wanted(&c.name)).chain(&self.spent);
        origins.extend(kept.flat_map(|c| self.joined_with(c)));
        let (kept, gone): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.chains).into_iter().partition(|c| wanted(&c.name));
        self.chains = kept;
        self.dropped.extend(gone.iter().map(|c| Arc::clone(&c.name)));
        self.spent.extend(gone.into_iter().filter(|c| origins.contains(&c.name)));
        self.spec.fields.retain(|(n, _)| wanted(n));
        Ok(())
    }

    pub(super) fn decode(
        &mut self,
        field: &str,
        name: &str,
        args: &Map<String, Json>,
        optional: bool,
    ) -> Result<()> {
        let at = self.require(field, "decode")?;
        let stage = format!("decode {field}=\"{name}\"");
        self.forget_implied(at);
        let decoder = families::find(decode::DECODERS, name, "decoder")?.make(args)?;
        let spec = decoder.spec(&self.spec.fields[at].1).map_err(|e| restage(e, &stage))?;
        if self.chains[at].keep {
            return Err(Error::plan(stage, "stands after views() of the field: decode before"));
        }
        if let Some(rule) = decoder.target() {
            if optional {
                let what =
                    "what belongs to an image cannot be optional: an empty list means that there are none";
                return Err(Error::plan(stage, what));
            }
            self.note_target(field, rule);
        }
        self.chains[at].decoder = Some(Arc::from(decoder));
        self.chains[at].optional = optional;
        let step = format!("decode {name}{}", if optional { ", optional" } else { "" });
        self.chains[at].steps.push((step, spec.clone()));
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
            Arc::from(families::find(&transform::all(), name, "transform")?.make(args)?);
        if made.is_random() {
            self.random.get_or_insert_with(|| name.to_owned());
        }
        let reach = made.reach();
        let fields: Vec<usize> = if on.is_empty() {
            let found = self.places(reach);
            let text = |i: &usize| self.spec.fields[*i].1.kind == FieldKind::Text;
            if found.is_empty() { (0..self.spec.fields.len()).filter(text).collect() } else { found }
        } else {
            on.iter().map(|f| self.require(f, &format!("map {name}"))).collect::<Result<_>>()?
        };
        if fields.is_empty() {
            return Err(Error::plan(
                format!("map {name}"),
                "finds no image or text: decode one first, for example .decode(jpg=\"rgb\"), or say which field with on=",
            ));
        }
        self.check_left_behind(name, &fields, reach)?;
        let together: Vec<(&str, &FieldSpec)> =
            fields.iter().map(|at| (&*self.spec.fields[*at].0, &self.spec.fields[*at].1)).collect();
        made.check_together(&together).map_err(|e| restage(e, &format!("map {name}")))?;
        let fields = if matches!(reach, Reach::Places | Reach::Scene) {
            self.join(name, fields, &made, stage)?
        } else {
            fields
        };
        let count = fields.len();
        for (place, at) in fields.into_iter().enumerate() {
            let label = format!("map {name} on `{}`", self.spec.fields[at].0);
            let mut made =
                made.at(place).map_err(|e| restage(e, &label))?.unwrap_or_else(|| Arc::clone(&made));
            let own = made.for_field(&self.spec.fields[at].0).map_err(|e| restage(e, &label))?;
            made = own.unwrap_or(made);
            let spec = made.spec(&self.spec.fields[at].1).map_err(|e| restage(e, &label))?;
            self.chains[at].pads_with = made.pad_value().or(self.chains[at].pads_with);
            self.chains[at].transforms.push((stage, ChainStep::Own(made)));
            self.chains[at].steps.push((name.to_owned(), spec.clone()));
            self.spec.fields[at].1 = spec;
        }
        made.check_fields(count).map_err(|e| restage(e, &format!("map {name}")))
    }

    /// Arranges the fields as in `spec`. A field that these rows lack becomes missing.
    pub(super) fn arrange(&mut self, spec: &Spec) {
        let old = std::mem::take(&mut self.chains);
        let mut old: Vec<Option<Chain>> = old.into_iter().map(Some).collect();
        self.chains = spec
            .fields
            .iter()
            .map(|(name, f)| {
                let found = self.spec.position(name).and_then(|at| old[at].take());
                found.unwrap_or_else(|| Chain::stored(name, "not there", f))
            })
            .collect();
        self.spec = spec.clone();
    }
}

/// Replaces the stage in an error by the name the user wrote.
pub(super) fn restage(error: Error, stage: &str) -> Error {
    match error {
        Error::Plan { what, .. } => Error::plan(stage, what),
        Error::Sample { what, .. } => Error::plan(stage, what),
        other => other,
    }
}
