//! Statistics of the fields of a pipeline: what `infeed stats` and `infeed.stats` compute.
//!
//! Workers make a few numbers of each array (`transform/moments`), and the consumer merges them in the order of rows
//! (`merge.rs`): nothing depends on the number of threads. The result is JSON that `Normalize` reads.

mod merge;

use super::{Loader, Next, OnError, Options, Plan};
use crate::{
    recipe::{Integers, Recipe, Stage},
    transform::MOMENTS,
};
use infeed_core::{Dim, Error, FieldKind, FieldSpec, Order, Result, Rng};
use merge::Merged;
use serde::Deserialize;
use serde_json::{Map, Value as Json, json};
use std::{sync::Arc, time::Duration};

/// Values that percentiles are computed from, for each channel.
const VALUES: u64 = 100_000;
/// Values that are kept for all channels of a field.
const MOST_VALUES: u64 = 4 << 20;
/// Rows of a batch: few, because arrays may be large, and many enough that threads have work.
const BATCH: usize = 16;
/// How long to wait before looking whether somebody wants it to end.
const PATIENCE: Duration = Duration::from_millis(100);

/// What is looked at.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Survey {
    /// The fields; none means all arrays.
    pub fields: Vec<String>,
    /// The axis of channels, in the shape of a row; `None` takes all values together.
    pub axis: Option<i64>,
    /// Rows to look at, spread over all; `None` means all of them.
    pub sample: Option<u64>,
    /// CPU workers; `None` takes the CPUs this process may use.
    pub threads: Option<usize>,
    /// Whether rows that cannot be read are left out.
    pub skip_errors: bool,
}

impl Survey {
    /// The fields of a plan that are looked at.
    fn chosen<'a>(&self, plan: &'a Plan) -> Result<Vec<(&'a str, &'a FieldSpec)>> {
        let all = || plan.spec.fields.iter().map(|(name, spec)| (&**name, spec));
        let arrays = || all().filter(|(_, spec)| spec.kind == FieldKind::Array);
        if self.fields.is_empty() {
            let found: Vec<_> = arrays().collect();
            let what = "finds no field that is an array; decode one first, or convert it";
            return if found.is_empty() { Err(Error::plan("stats", what)) } else { Ok(found) };
        }
        let one = |name: &String| {
            let at = plan.spec.require(name, "stats")?;
            let (name, spec) = (&*plan.spec.fields[at].0, &plan.spec.fields[at].1);
            if spec.kind == FieldKind::Array {
                return Ok((name, spec));
            }
            let known: Vec<&str> = arrays().map(|(name, _)| name).collect();
            let what = format!("works on arrays, but `{name}` is {spec}; arrays are {}", known.join(", "));
            Err(Error::plan("stats", what))
        };
        self.fields.iter().map(one).collect()
    }

    /// The recipe that makes the numbers, of a recipe that was planned.
    pub fn recipe(&self, plan: &Plan) -> Result<Recipe> {
        if plan.is_stream() {
            let what =
                "needs rows that can be counted, and this is a stream: read the files with another format";
            return Err(Error::plan("stats", what));
        }
        if !plan.python.is_empty() {
            let what =
                format!("cannot look behind Python functions ({}): put them last", plan.python.join(", "));
            return Err(Error::plan("stats", what));
        }
        let mut recipe = plan.recipe.clone();
        let end =
            recipe.stages.iter().position(|stage| matches!(stage, Stage::Batch { .. } | Stage::Pack(_)));
        recipe.stages.truncate(end.unwrap_or(recipe.stages.len()));
        let rows = plan.order.places();
        if let Some(sample) = self.sample.filter(|n| *n < rows) {
            recipe.stages.push(Stage::Pick { places: Integers::Plain(spread(rows, sample)) });
        }
        let rows = self.sample.unwrap_or(rows).min(rows).max(1);
        let fields = self.chosen(plan)?;
        recipe
            .stages
            .push(Stage::Select { fields: fields.iter().map(|(name, _)| (*name).to_owned()).collect() });
        for (name, spec) in fields {
            let each = VALUES.min(MOST_VALUES / self.channels(name, spec)?.max(1)).div_ceil(rows).max(1);
            let mut args = Map::from_iter([("values".to_owned(), json!(each))]);
            if let Some(axis) = self.axis {
                args.insert("axis".to_owned(), json!(axis));
            }
            recipe.stages.push(Stage::Map { name: MOMENTS.to_owned(), on: vec![name.to_owned()], args });
        }
        recipe.stages.push(Stage::batch(BATCH));
        Ok(recipe)
    }

    /// How many channels a field has.
    fn channels(&self, name: &str, spec: &FieldSpec) -> Result<u64> {
        let Some(axis) = self.axis else { return Ok(1) };
        match self.place(spec).and_then(|at| spec.shape.get(at)) {
            Some(Dim::Fixed(n)) => Ok(*n as u64),
            Some(Dim::Any) => Err(Error::plan(
                "stats",
                format!("axis {axis} of `{name}` ({spec}) is not equally long in all rows: leave axis out"),
            )),
            None => {
                let what = format!("axis is {axis}, but `{name}` is {spec}: the axes are those of a row");
                Err(Error::plan("stats", what))
            }
        }
    }

    /// The axis of channels, counted from the front.
    fn place(&self, spec: &FieldSpec) -> Option<usize> {
        let axis = self.axis?;
        let at = if axis < 0 { axis + spec.shape.len() as i64 } else { axis };
        usize::try_from(at).ok().filter(|at| *at < spec.shape.len())
    }

    /// Looks at the rows. `made` is the plan of [`Survey::recipe`], `plan` that of the recipe before. `watch` is told how many
    /// rows of how many are done, and says whether to go on.
    pub fn run(
        &self,
        plan: &Plan,
        made: &Arc<Plan>,
        watch: &mut dyn FnMut(u64, u64) -> bool,
    ) -> Result<Json> {
        let fields = self.chosen(plan)?;
        let rows = made.order.places();
        let mut merged: Vec<Merged> = fields
            .iter()
            .map(|(name, spec)| Ok(Merged::new(self.channels(name, spec)?, rows)))
            .collect::<Result<_>>()?;
        let on_error = if self.skip_errors { OnError::Skip } else { OnError::Raise };
        let options = Options { threads: self.threads, on_error, persistent: false, ..Options::default() };
        let mut loader = Loader::new(Arc::clone(made), options)?;
        let mut run = loader.start()?;
        let mut done = 0;
        loop {
            match run.next(Some(PATIENCE))? {
                Next::Batch(batch) => {
                    for (merged, (name, _)) in merged.iter_mut().zip(&fields) {
                        let lost = || Error::Internal { what: format!("stats of `{name}` are in no batch") };
                        merged.add(batch.column(name).ok_or_else(lost)?)?;
                    }
                    done += batch.len() as u64;
                }
                Next::Waiting => {}
                Next::End => break,
            }
            if !watch(done, rows) {
                run.close();
                return Err(Error::argument("stats were interrupted"));
            }
        }
        let one = |((name, spec), merged): (&(&str, &FieldSpec), Merged)| {
            let mut out = merged.finish();
            out.insert("dtype".to_owned(), json!(spec.dtype.name()));
            out.insert("shape".to_owned(), json!(spec.fixed_shape()));
            out.insert("axis".to_owned(), json!(self.place(spec)));
            ((*name).to_owned(), Json::Object(out))
        };
        let fields: Map<String, Json> = fields.iter().zip(merged).map(one).collect();
        Ok(json!({"version": 1, "rows": done, "of_rows": plan.order.places(), "fields": fields}))
    }
}

/// `count` of `rows` places: one at random out of each of so many equal parts, so that nothing periodic is missed.
fn spread(rows: u64, count: u64) -> Vec<i64> {
    let mut rng = Rng::at(0, 0, 0, 0);
    let edge = |i: u64| (u128::from(rows) * u128::from(i) / u128::from(count.max(1))) as u64;
    (0..count).map(|i| (edge(i) + rng.below(edge(i + 1) - edge(i))) as i64).collect()
}

#[cfg(test)]
mod tests;
