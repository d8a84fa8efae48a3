//! A recipe checked against real data: every spec, shape and order is settled before the first sample is read.

use crate::{
    batch::Layout,
    decode, order,
    recipe::{Ragged, Recipe, Stage},
    transform,
};
use infeed_core::{Decoder, Error, FieldSpec, Kind, Order, Result, Source, Spec, Transform, registry};
use std::{fmt::Write, sync::Arc};

/// What happens to one field: decode, then transforms with the number of their stage.
#[derive(Debug)]
pub(super) struct Chain {
    pub(super) decoder: Option<Box<dyn Decoder>>,
    pub(super) transforms: Vec<(u64, Arc<dyn Transform>)>,
    /// What `explain()` shows: each step with the spec after it.
    steps: Vec<(String, FieldSpec)>,
}

/// A pipeline that is known to fit its data.
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
    /// Samples per batch.
    pub batch_size: usize,
    /// Whether an incomplete last batch is dropped.
    pub drop_last: bool,
    /// The seed of all randomness but the order's.
    pub seed: u64,
    /// Fields of a tuple, when batches are tuples.
    pub tuple: Option<Vec<String>>,
    pub(super) layouts: Arc<[Layout]>,
    pub(super) chains: Vec<Chain>,
}

/// What the stages have said so far.
struct Draft {
    spec: Spec,
    chains: Vec<Chain>,
    shuffle: Option<u64>,
    seed: Option<u64>,
    batch: Option<(usize, bool, Ragged, f64)>,
    tuple: Option<Vec<String>>,
    maps: u64,
}

impl Plan {
    /// Checks a recipe against a source.
    pub fn new(recipe: Recipe, source: Arc<dyn Source>) -> Result<Self> {
        let spec = source.spec().clone();
        let chains = spec.fields.iter().map(|(_, f)| Chain::new(f)).collect();
        let mut draft = Draft { spec, chains, shuffle: None, seed: None, batch: None, tuple: None, maps: 0 };
        for stage in &recipe.stages {
            draft.take(stage)?;
        }
        let rows = source.rows();
        let lying: Arc<dyn Order> = Arc::new(order::Sequential::new(0, source.shard_rows()));
        let order = match draft.shuffle {
            Some(seed) => Arc::new(order::Global::new(lying, seed)),
            None => lying,
        };
        let (batch_size, drop_last, ragged, pad_value) = draft.batch.unwrap_or((1, false, Ragged::List, 0.0));
        if drop_last && rows < batch_size as u64 {
            return Err(Error::plan(
                "batch",
                format!("drop_last leaves nothing: there are {rows} rows, and a batch has {batch_size}"),
            ));
        }
        let layouts = draft.spec.fields.iter().map(|(_, f)| Layout::of(f, ragged, pad_value)).collect();
        Ok(Plan {
            fields: draft.spec.fields.iter().map(|(n, _)| Arc::clone(n)).collect(),
            seed: draft.seed.or(draft.shuffle).unwrap_or(0),
            tuple: draft.tuple,
            spec: draft.spec,
            chains: draft.chains,
            recipe,
            source,
            order,
            batch_size,
            drop_last,
            layouts,
        })
    }

    /// Batches in an epoch.
    pub fn batches(&self, _epoch: u64) -> u64 {
        let (places, size) = (self.order.places(), self.batch_size as u64);
        if self.drop_last { places / size } else { places.div_ceil(size) }
    }

    /// Bytes of one batch's arrays; fields of varying size count by the first row's size on disk.
    pub fn batch_bytes(&self) -> u64 {
        let fixed: usize =
            self.layouts.iter().map(|l| if let Layout::Stack { bytes, .. } = l { *bytes } else { 0 }).sum();
        let loose = self.layouts.iter().any(|l| !matches!(l, Layout::Stack { .. }));
        let weight = if loose && self.source.rows() > 0 { self.source.weight(0, &self.fields) } else { 0 };
        (fixed as u64 + weight) * self.batch_size as u64
    }

    /// The pipeline in words: stages and specs.
    pub fn explain(&self) -> String {
        let mut out = format!("source  {}\norder   {}\n", self.source.describe(), self.order.describe());
        for what in self.source.damage() {
            let _ = writeln!(out, "damage  {what}");
        }
        let width = self.spec.fields.iter().map(|(n, _)| n.len()).max().unwrap_or(0).max(6);
        for ((name, _), chain) in self.spec.fields.iter().zip(&self.chains) {
            let mut lead = format!("{name:width$}");
            for (step, spec) in &chain.steps {
                let _ = writeln!(out, "{lead}  {step:<22} {spec}");
                lead = " ".repeat(width);
            }
        }
        let (batches, bytes) = (self.batches(0), self.batch_bytes() as f64 / 1e6);
        let last = if self.drop_last { ", incomplete last batch dropped" } else { "" };
        let _ = writeln!(
            out,
            "batch   {} samples, {batches} per epoch, about {bytes:.1} MB each{last}",
            self.batch_size
        );
        for ((name, _), layout) in self.spec.fields.iter().zip(self.layouts.iter()) {
            let shown = match layout {
                Layout::Stack { dtype, shape, .. } => {
                    let dims: Vec<String> = std::iter::once("batch".to_owned())
                        .chain(shape.iter().map(usize::to_string))
                        .collect();
                    format!("array {dtype}[{}]", dims.join(", "))
                }
                Layout::Pad { dtype, value } => format!("array {dtype}, padded with {value}"),
                Layout::List => "list".to_owned(),
            };
            let _ = writeln!(out, "{:width$}  {name}: {shown}", "");
        }
        out
    }
}

impl Chain {
    fn new(spec: &FieldSpec) -> Self {
        Chain { decoder: None, transforms: vec![], steps: vec![("stored as".to_owned(), spec.clone())] }
    }
}

impl Draft {
    fn take(&mut self, stage: &Stage) -> Result<()> {
        if self.batch.is_some() && !matches!(stage, Stage::Tuple { .. }) {
            return Err(Error::plan(
                "batch",
                "must come after every other stage: move it to the end of the pipeline",
            ));
        }
        match stage {
            Stage::Shuffle { seed } => {
                if self.shuffle.replace(*seed).is_some() {
                    return Err(Error::plan(
                        "shuffle",
                        "stands twice in the pipeline; one is enough: it is global",
                    ));
                }
            }
            Stage::Seed { seed } => self.seed = Some(*seed),
            Stage::Select { fields } => self.select(fields, "select")?,
            Stage::Decode { fields } => {
                for (name, decoder) in fields {
                    self.decode(name, &decoder.name, &decoder.args)?;
                }
            }
            Stage::Map { name, on, args } => self.map(name, on, args)?,
            Stage::Batch { size, drop_last, ragged, pad_value } => {
                if *size == 0 {
                    return Err(Error::plan("batch", "needs a size of at least 1"));
                }
                self.batch = Some((*size, *drop_last, *ragged, *pad_value));
            }
            Stage::Tuple { fields } => {
                self.select(fields, "to_tuple")?;
                self.tuple = Some(fields.clone());
            }
        }
        Ok(())
    }

    fn select(&mut self, names: &[String], stage: &str) -> Result<()> {
        if names.is_empty() {
            return Err(Error::plan(stage, "needs at least one field"));
        }
        for name in names {
            self.spec.require(name, stage)?;
        }
        let mut keep = self
            .spec
            .fields
            .iter()
            .map(|(n, _)| names.iter().any(|k| **k == **n))
            .collect::<Vec<_>>()
            .into_iter();
        self.chains.retain(|_| keep.next().unwrap_or(false));
        self.spec.fields.retain(|(n, _)| names.iter().any(|k| **k == **n));
        Ok(())
    }

    fn decode(
        &mut self,
        field: &str,
        name: &str,
        args: &serde_json::Map<String, serde_json::Value>,
    ) -> Result<()> {
        let at = self.spec.require(field, "decode")?;
        let stage = format!("decode {field}=\"{name}\"");
        let decoder = registry::find(decode::DECODERS, name, "decoder")?.make(args)?;
        let spec = decoder.spec(&self.spec.fields[at].1).map_err(|e| restage(e, &stage))?;
        self.chains[at].decoder = Some(decoder);
        self.chains[at].steps.push((format!("decode {name}"), spec.clone()));
        self.spec.fields[at].1 = spec;
        Ok(())
    }

    fn map(
        &mut self,
        name: &str,
        on: &[String],
        args: &serde_json::Map<String, serde_json::Value>,
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
            let stage = format!("map {name} on `{}`", self.spec.fields[at].0);
            let spec = made.spec(&self.spec.fields[at].1).map_err(|e| restage(e, &stage))?;
            self.chains[at].transforms.push((self.maps, Arc::clone(&made)));
            self.chains[at].steps.push((name.to_owned(), spec.clone()));
            self.spec.fields[at].1 = spec;
        }
        self.maps += 1;
        Ok(())
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
