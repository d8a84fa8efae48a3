//! A plan: a recipe checked against real data. Specs, shapes and order are settled before the first sample is read.

mod batching;
mod branch;
mod bulk;
mod caches;
mod changes;
mod columns;
mod copies;
mod draft;
mod explain;
mod filter;
mod identity;
mod join;
mod joints;
mod keeping;
mod leaves;
mod loads;
mod orders;
mod outputs;
mod reads;
mod shapes;
mod stream;
mod targets;
mod verify;
mod zips;

pub(super) use branch::{Branch, Chain, ChainStep, Start};
pub(super) use bulk::Bulk;
pub(super) use filter::{FilterInput, SampleFilter};
pub use identity::Identity;
pub(super) use joints::{Joint, Part, PartRole};
pub(super) use keeping::Kept;
pub use stream::StreamPlan;

use crate::{
    batch::{Change, ColumnLayout},
    engine::pack::PackStream,
    order::{Last, World},
    recipe::{Recipe, SourceRecipe, Stage},
};
use draft::Draft;
use infeed_core::{Error, Order, Result, Source, Spec, Stream};
use leaves::Leaves;
use std::sync::{Arc, OnceLock};

/// A pipeline that was checked against its data.
#[derive(Debug)]
pub struct Plan {
    /// The recipe it came from.
    pub recipe: Recipe,
    /// Where rows come from.
    pub source: Arc<dyn Source>,
    /// Which row comes when.
    pub order: Arc<dyn Order>,
    /// The fields of a sample.
    pub spec: Spec,
    /// Names of the fields that are read.
    pub fields: Vec<Arc<str>>,
    /// How many samples a batch has.
    pub batch: BatchSize,
    /// What happens to rows that do not fill a batch.
    pub last: Last,
    /// The seed of all randomness except the order's.
    pub seed: u64,
    /// The fields of the tuple, if batches are tuples.
    pub tuple: Option<Vec<String>>,
    /// Functions of the consumer, by name, in order.
    pub python: Vec<String>,
    /// First shard's name and number of rows of each source; the plan numbers its rows through them.
    pub leaves: Vec<(String, u64)>,
    /// Where the bytes come from, if that is not where the recipe says: lines for `explain()`.
    pub notes: Vec<String>,
    /// The stream of the rows, if they cannot be looked up in `source`.
    pub stream: Option<StreamPlan>,
    /// How each field of a sample is laid out in a batch.
    pub(super) layouts: Arc<[ColumnLayout]>,
    /// Fields that are to be padded or laid end to end once functions of the consumer have seen them.
    pub laid_in_python: Vec<(Arc<str>, ColumnLayout)>,
    /// Transforms of whole batches, in order.
    pub(super) changes: Vec<Change>,
    /// What happens to the rows of each part of the source; most pipelines have one branch.
    pub(super) branches: Vec<Branch>,
    /// Set if the source writes batches itself.
    pub(super) bulk: Option<Bulk>,
    identity: OnceLock<Identity>,
}

pub use infeed_core::Opened;

/// How many samples a batch has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BatchSize {
    /// On every rank.
    Each(usize),
    /// Over all ranks together.
    Global(usize),
}

impl BatchSize {
    /// Samples of a batch over all ranks.
    pub fn global(self, world: u64) -> u64 {
        match self {
            BatchSize::Each(n) => n as u64 * world,
            BatchSize::Global(n) => n as u64,
        }
    }

    /// Maximum samples of a batch on one rank.
    pub fn each(self, world: u64) -> usize {
        match self {
            BatchSize::Each(n) => n,
            BatchSize::Global(n) => n.div_ceil(world.max(1) as usize),
        }
    }
}

impl Plan {
    /// Checks a recipe against a source.
    pub fn new(recipe: Recipe, source: Arc<dyn Source>) -> Result<Self> {
        Plan::with(recipe, &mut |_| Ok(Opened::Rows(Arc::clone(&source))))
    }

    /// Checks a recipe against the sources that `open` returns for what it reads.
    pub fn with(recipe: Recipe, open: &mut dyn FnMut(&SourceRecipe) -> Result<Opened>) -> Result<Self> {
        if let Some(at) = recipe.stages.iter().rposition(|stage| matches!(stage, Stage::Pack(_))) {
            return Plan::packed(recipe, at, open);
        }
        let leaves = Leaves::open(&recipe, open)?;
        let mut leaf = 0;
        let mut draft = Draft::of(&recipe, &leaves, &mut leaf)?;
        draft.each(Branch::end_targets)?;
        let stream = draft.stream.clone();
        let counts = leaves.sources().iter().map(|s| (s.shard_of(0), s.rows())).collect();
        let batching = draft.batching();
        let places = draft.order.places();
        if places == 0 {
            return Err(Error::plan("order", format!("no rows are left: {}", draft.order.describe())));
        }
        let changes = draft.changes()?;
        let branches: Vec<Branch> = draft.branches.into_iter().map(Branch::gathered).collect();
        let mut fields: Vec<Arc<str>> = vec![];
        for name in branches.iter().flat_map(Branch::reads) {
            if !fields.contains(name) {
                fields.push(Arc::clone(name));
            }
        }
        let mut branches = branches.into_iter().map(|b| b.settled(&fields)).collect::<Result<Vec<_>>>()?;
        for branch in &mut branches {
            branch.settle_cut(&fields, &**leaves.locate(branch.end.saturating_sub(1)).0)?;
        }
        let source = leaves.join()?;
        let (layouts, laid_in_python) = outputs::layouts(&batching, &draft.spec, !draft.python.is_empty());
        let bulk = if stream.is_none() { Bulk::of(&branches, &layouts, &*source) } else { None };
        let plan = Plan {
            fields,
            changes,
            seed: draft.seed.or(draft.shuffle_seed).unwrap_or(0),
            tuple: draft.tuple,
            python: draft.python,
            spec: draft.spec,
            branches,
            order: draft.order,
            recipe,
            leaves: counts,
            notes: Vec::new(),
            source,
            batch: batching.size,
            last: batching.last,
            stream,
            layouts,
            laid_in_python,
            bulk,
            identity: OnceLock::new(),
        };
        plan.check_world(&World::alone())?;
        Ok(plan)
    }

    /// Makes a plan over the sequences that another plan's documents are packed into.
    fn packed(
        recipe: Recipe,
        at: usize,
        open: &mut dyn FnMut(&SourceRecipe) -> Result<Opened>,
    ) -> Result<Self> {
        let Some(Stage::Pack(pack)) = recipe.stages.get(at) else {
            return Err(Error::Internal { what: "not a pack stage".to_owned() });
        };
        let stream = Arc::new(PackStream::new(&recipe.source, &recipe.stages[..at], pack, open)?);
        let outer = Recipe {
            source: SourceRecipe::files(vec!["packed".to_owned()], "pack"),
            stages: [Stage::Seed { seed: stream.seed() }]
                .into_iter()
                .chain(recipe.stages[at + 1..].iter().cloned())
                .collect(),
        };
        let stream: Arc<dyn Stream> = stream;
        let plan = Plan::with(outer, &mut |_| Ok(Opened::Stream(Arc::clone(&stream))))?;
        Ok(Plan { recipe, ..plan })
    }

    /// Checks that every rank gets rows in every step.
    pub(super) fn check_world(&self, world: &World) -> Result<()> {
        let (places, size, global) = (self.order.places(), world.size, self.batch.global(world.size));
        if places < size {
            return Err(Error::plan(
                "world",
                format!("more ranks than rows: there are {places} rows for {size} ranks; use fewer ranks"),
            ));
        }
        if global < size {
            return Err(Error::plan(
                "batch",
                format!(
                    "global_size={global} is less than the {size} ranks: every rank needs at least one sample"
                ),
            ));
        }
        if self.last == Last::Pad && self.stream.is_some() {
            return Err(Error::plan(
                "batch",
                "last=\"pad\" needs rows from the epoch's start, and a stream does not go back: use \"short\" or \"drop\"",
            ));
        }
        if self.last == Last::Drop && places < global {
            let ranks = if size > 1 { format!(" over {size} ranks") } else { String::new() };
            return Err(Error::plan(
                "batch",
                format!("drop_last leaves nothing: there are {places} rows, and a batch has {global}{ranks}"),
            ));
        }
        Ok(())
    }

    /// Batches in an epoch with a single rank.
    pub fn batches(&self) -> u64 {
        self.steps(&World::alone(), 0).count()
    }

    /// Returns the steps of a rank from a place of an epoch on.
    pub fn steps(&self, world: &World, from: u64) -> crate::order::Steps {
        crate::order::Steps {
            places: self.order.places(),
            from,
            global: self.batch.global(world.size),
            last: self.last,
            rank: world.rank,
            size: world.size,
        }
    }

    /// Measures how well the order mixes, in batches of `batch` places (by default those of the pipeline).
    pub fn quality(&self, epoch: u64, batch: Option<u64>) -> crate::order::Quality {
        let batch = batch.unwrap_or_else(|| self.batch.global(1)).max(2);
        crate::order::quality(&*self.order, epoch, batch, Some(self.source.shard_rows()), 1 << 20)
    }

    /// The fields of a sample after all batch transforms.
    pub fn batch_spec(&self) -> &Spec {
        self.changes.last().map_or(&self.spec, |c| &c.after)
    }

    /// Returns the branch of a row.
    pub(super) fn branch(&self, row: u64) -> &Branch {
        match self.branches.as_slice() {
            [only] => only,
            many => &many[many.partition_point(|b| b.end <= row).min(many.len() - 1)],
        }
    }

    /// Whether samples go into batches unchanged: nothing is decoded, transformed or left out.
    pub(super) fn only_gathers(&self) -> bool {
        let plain = |c: &Chain| c.decoder.is_none() && c.transforms.is_empty() && c.forks.is_empty();
        self.branches.iter().all(|b| b.filters.is_empty() && b.chains.iter().all(plain))
    }

    /// Bytes of one sample's arrays; fields of varying size count with the first row's size on disk.
    pub fn sample_bytes(&self) -> u64 {
        let fixed: usize = self
            .layouts
            .iter()
            .map(|l| if let ColumnLayout::Stack { bytes, .. } = l { *bytes } else { 0 })
            .sum();
        let renewed = |c: &Change| -> usize {
            let fields = c.after.fields.iter().enumerate().filter(|(at, _)| c.renews(*at));
            fields.filter_map(|(_, (_, spec))| spec.fixed_bytes()).sum()
        };
        let fixed = fixed + self.changes.iter().map(renewed).sum::<usize>();
        let loose = self.layouts.iter().any(|l| !matches!(l, ColumnLayout::Stack { .. }));
        let weight = if loose && self.source.rows() > 0 { self.source.row_bytes(0, &self.fields) } else { 0 };
        fixed as u64 + weight
    }
}
