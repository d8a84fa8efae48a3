//! A plan in the making: the effect of the stages so far.

use super::{
    batching::Batching,
    branch::{Branch, restage},
    changes::WantedChange,
    filter, keeping,
    leaves::Leaves,
    orders,
    stream::{StreamOrder, StreamPlan},
};
use crate::{
    order::{Below, Sequential},
    recipe::{Join, Recipe, Role, Stage},
};
use infeed_core::{Error, Result, Spec};
use std::sync::Arc;

/// A pipeline in the making.
#[derive(Debug)]
pub(super) struct Draft {
    /// The fields after the stages so far.
    pub(super) spec: Spec,
    pub(super) branches: Vec<Branch>,
    pub(super) order: Below,
    /// The stream, if rows cannot be looked up by number.
    pub(super) stream: Option<StreamPlan>,
    pub(super) shuffle_seed: Option<u64>,
    pub(super) seed: Option<u64>,
    pub(super) batch: Option<Batching>,
    pub(super) tuple: Option<Vec<String>>,
    /// Functions of the consumer, by name.
    pub(super) python: Vec<String>,
    /// Batch transforms.
    pub(super) wanted: Vec<WantedChange>,
    /// The number of transforms so far: part of the address of the next one's random numbers.
    pub(super) maps: u64,
}

impl Draft {
    /// Builds the draft of a recipe. `leaf` counts the sources, in the order in which [`Leaves`] found them.
    pub(super) fn of(recipe: &Recipe, leaves: &Leaves, leaf: &mut usize) -> Result<Self> {
        let mut draft = match &recipe.source.join {
            // Zipped sources are one source.
            None | Some(Join::Zip { .. }) => {
                *leaf += 1;
                let mut draft = Draft::leaf(leaves, *leaf - 1)?;
                draft.branches[0].origin = keeping::origin(&recipe.source);
                draft
            }
            Some(join) => {
                let parts = recipe
                    .source
                    .parts
                    .iter()
                    .map(|part| Draft::of(part, leaves, leaf))
                    .collect::<Result<Vec<_>>>()?;
                Draft::join(join, parts)?
            }
        };
        // For stages that need the batch size before the batch stage.
        let batch = recipe.stages.iter().find_map(|s| match s {
            Stage::Batch { size, global_size, .. } => size.or(*global_size),
            _ => None,
        });
        for stage in &recipe.stages {
            draft.take(stage, leaves, batch)?;
        }
        Ok(draft)
    }

    fn leaf(leaves: &Leaves, leaf: usize) -> Result<Self> {
        let (source, rows) = (leaves.source(leaf), leaves.rows(leaf));
        let mut branch = Branch::stored(rows.end, leaves.opened(leaf).spec().clone());
        for (field, decoder, args) in leaves.opened(leaf).decoders() {
            branch.imply(&field, decoder, &args)?;
        }
        Ok(Draft {
            spec: branch.spec.clone(),
            branches: vec![branch],
            order: match &leaves.stream {
                Some(stream) => StreamOrder::order(&StreamPlan::new(Arc::clone(stream))),
                None => {
                    let blocks = source.block_rows();
                    let blocks = if blocks.is_empty() { source.shard_rows() } else { blocks };
                    Arc::new(Sequential::new(rows.start, blocks))
                }
            },
            stream: leaves.stream.clone().map(StreamPlan::new),
            shuffle_seed: None,
            seed: None,
            batch: None,
            tuple: None,
            python: vec![],
            wanted: vec![],
            maps: 0,
        })
    }

    fn take(&mut self, stage: &Stage, leaves: &Leaves, batch: Option<usize>) -> Result<()> {
        let role = stage.about().role;
        if let Stage::Cache(cache) = stage {
            return self.cache(cache);
        }
        if self.batch.is_some() && !role.follows_batch() {
            return Err(Error::plan(
                "batch",
                "must come after every other stage but map_batch and to_tuple: move it to the end of the pipeline",
            ));
        }
        if let Some(function) = self.python.first()
            && role.works_on_fields()
        {
            return Err(Error::plan(
                function.as_str(),
                "Python functions come after everything that infeed does to samples itself: move it down",
            ));
        }
        if matches!(role, Role::Fields | Role::Sample | Role::Filter) {
            self.branches.iter_mut().for_each(|branch| branch.history.push(stage.clone()));
        }
        match stage {
            Stage::Cache(_) => {}
            Stage::Python { what } => self.python.push(what.clone()),
            Stage::Seed { seed } => self.seed = Some(*seed),
            Stage::Select { fields } => self.select(fields, stage.name())?,
            Stage::Load { column, to, .. } => {
                self.check_load()?;
                self.branches[0].require_column(column)?;
                self.each(|b| b.load(column, to.as_deref().unwrap_or(column)))?;
            }
            Stage::Decode { fields, optional } => {
                for (name, decoder) in fields {
                    self.branches[0].require(name, stage.name())?;
                    let args = self.told(name, &decoder.name, &decoder.args, leaves);
                    self.each(|b| b.decode(name, &decoder.name, &args, *optional))?;
                }
            }
            Stage::Map { name, on, args } => {
                let number = self.maps;
                self.each(|b| b.map(name, on, args, number))?;
                self.maps += 1;
            }
            Stage::Copy { field, to, keep } => self.each(|b| b.copy(field, to, *keep))?,
            Stage::MapBatch { name, on, args } => {
                if self.batch.is_none() || self.tuple.is_some() {
                    return Err(Error::plan(
                        format!("map_batch {name}"),
                        "works on batches: put it after batch() and before to_tuple()",
                    ));
                }
                self.map_batch(name, on, args, self.maps)?;
                self.maps += 1;
            }
            Stage::Pack(_) => {
                return Err(Error::plan(
                    "pack",
                    "makes a stream of sequences, which cannot be joined: join the documents first, pack afterwards, \
                     and only once",
                ));
            }
            Stage::Filter { expr } => filter::take(self, expr, leaves)?,
            Stage::Batch { .. } => self.make_batches(stage)?,
            Stage::Tuple { fields } => {
                let behind = self.batch.as_mut().map(|batch| batch.narrow(fields));
                self.select(behind.as_deref().unwrap_or(fields), stage.name())?;
                self.changes().map_err(|e| restage(e, "to_tuple leaves out what map_batch needs"))?;
                self.tuple = Some(fields.clone());
            }
            Stage::Shuffle { .. }
            | Stage::Slice { .. }
            | Stage::Pick { .. }
            | Stage::Fraction { .. }
            | Stage::Split { .. }
            | Stage::Fold { .. }
            | Stage::Repeat { .. }
            | Stage::Weighted { .. }
            | Stage::Balance { .. }
            | Stage::ByLength { .. } => self.reorder(stage, leaves, batch)?,
        }
        Ok(())
    }

    /// Applies a stage to the order.
    fn reorder(&mut self, stage: &Stage, leaves: &Leaves, batch: Option<usize>) -> Result<()> {
        if let Stage::Shuffle { seed, .. } = stage {
            self.shuffle_seed = Some(*seed);
        }
        if let Some(stream) = &mut self.stream {
            stream.apply(stage)?;
            self.order = StreamOrder::order(stream);
        } else {
            self.order = orders::apply(Arc::clone(&self.order), stage, leaves, batch)?;
        }
        Ok(())
    }

    /// Changes every branch in the same way; the branches keep the same fields.
    pub(super) fn each(&mut self, mut change: impl FnMut(&mut Branch) -> Result<()>) -> Result<()> {
        self.branches.iter_mut().try_for_each(&mut change)?;
        self.spec = self.branches[0].spec.clone();
        for branch in &self.branches[1..] {
            same_fields("join", 0, &self.spec, 1, &branch.spec)?;
        }
        Ok(())
    }

    fn select(&mut self, names: &[String], stage: &str) -> Result<()> {
        if names.is_empty() {
            return Err(Error::plan(stage, "needs at least one field"));
        }
        for name in names {
            self.branches[0].require(name, stage)?;
        }
        for branch in &self.branches {
            for field in branch.filters.iter().flat_map(|f| f.fields()) {
                // Fields that were copied stay in the background for as long as they are needed.
                let there =
                    names.iter().any(|n| n == field) || branch.spent.iter().any(|c| *c.name == *field);
                if !there {
                    return Err(Error::plan(stage, format!("a filter needs the field `{field}`: keep it")));
                }
            }
        }
        self.each(|b| b.select(names))
    }

    /// Returns how samples become batches; without a batch stage, each sample is one.
    pub(super) fn batching(&self) -> Batching {
        self.batch.clone().unwrap_or_else(|| Batching::single(self.optional_columns()))
    }
}

fn same_fields(stage: &str, a: usize, left: &Spec, b: usize, right: &Spec) -> Result<()> {
    for ((name, x), (_, y)) in left.fields.iter().zip(&right.fields) {
        if x != y {
            return Err(Error::plan(
                stage,
                format!("the field `{name}` is {x} in part {a}, but {y} in part {b}"),
            ));
        }
    }
    Ok(())
}
