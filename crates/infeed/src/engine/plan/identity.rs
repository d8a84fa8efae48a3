//! Identity: what a checkpoint must agree with. Covers data, order, seed and processing.

use super::Plan;
use crate::recipe::{Recipe, Role, Stage, hash};
use infeed_core::{Order, Source};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// Fingerprints of a plan. Independent of paths, threads, ranks and batch sizes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// Rows of the source.
    pub rows: u64,
    /// Shards of the source.
    pub shards: u64,
    /// Fingerprint of the data: rows per shard, fields, and the keys of some rows.
    pub data: String,
    /// Places of an epoch.
    pub places: u64,
    /// Fingerprint of the order: the rows at some of its places.
    pub order: String,
    /// Fingerprint of the processing of samples, including the content of files that transforms use.
    pub samples: String,
    /// The seed of random transforms.
    pub seed: u64,
    /// The order in words, shortened.
    pub about: String,
}

/// How many rows and places are compared. Enough that different orders or data sets do not agree by chance.
const PROBES: u64 = 64;
/// Arguments of transforms that name a file.
const FILES: [&str; 1] = ["tokenizer"];
/// Maximum length of `about`.
const ABOUT: usize = 120;

impl Plan {
    /// Returns what a checkpoint of this plan must agree with.
    pub fn identity(&self) -> &Identity {
        self.identity.get_or_init(|| self.identify())
    }

    fn identify(&self) -> Identity {
        let about = self.order.describe();
        let (data, order) = match &self.stream {
            None => (data(&*self.source), order(&*self.order)),
            Some(stream) => (stream.data_fingerprint(), stream_order(&self.recipe, Role::is_order)),
        };
        let cut = about.char_indices().nth(ABOUT).map_or(about.len(), |(at, _)| at);
        Identity {
            rows: self.source.rows(),
            shards: self.source.shard_rows().len() as u64,
            data,
            places: self.order.places(),
            order,
            samples: samples(&self.recipe),
            seed: self.seed,
            about: about[..cut].to_owned(),
        }
    }

    /// The order of a stream as older states record it: they included the functions of the consumer.
    pub(in crate::engine) fn former_order(&self) -> Option<String> {
        let counted = |role: Role| role.is_order() || role.needs_python();
        self.stream.as_ref().map(|_| stream_order(&self.recipe, counted))
    }
}

impl Identity {
    /// Returns the part that a ledger must agree with.
    pub fn ledger(&self) -> crate::order::ledger::Identity {
        crate::order::ledger::Identity {
            hash: self.order.clone(),
            data: self.data.clone(),
            order: self.about.clone(),
        }
    }

    /// Describes what differs; `None` if nothing does. Decoders and transforms are compared only if `strict`.
    pub fn difference(&self, now: &Identity, strict: bool) -> Option<String> {
        if (self.rows, self.shards) != (now.rows, now.shards) {
            return Some(format!(
                "it is of a data set of {} rows in {} shards, and this one has {} rows in {} shards",
                self.rows, self.shards, now.rows, now.shards
            ));
        }
        if self.data != now.data {
            return Some(
                "it is of another data set: the rows per shard, the fields or the keys differ".to_owned(),
            );
        }
        if (self.places, &self.order) != (now.places, &now.order) {
            return Some(match self.about == now.about {
                // The description of an order is short: it omits weights and lists of places.
                true => format!("its order differs, though both are described as `{}`", now.about),
                false => format!("its order was `{}`, and this one is `{}`", self.about, now.about),
            });
        }
        if self.seed != now.seed {
            return Some(format!(
                "the seed of its transforms was {}, and this one is {}",
                self.seed, now.seed
            ));
        }
        if strict && self.samples != now.samples {
            return Some(
                "its decoders, transforms or filters differ (or where load() finds files); strict=False continues with the new ones"
                    .to_owned(),
            );
        }
        None
    }
}

fn data(source: &dyn Source) -> String {
    let rows = source.rows();
    let mut bytes: Vec<u8> = source.shard_rows().iter().flat_map(|n| n.to_le_bytes()).collect();
    for (name, field) in &source.fields_of_states() {
        bytes.extend(format!("{name}:{field};").bytes());
    }
    for row in probes(rows) {
        bytes.extend(source.key(row).bytes());
        bytes.push(0);
    }
    format!("{:016x}", hash(&bytes))
}

/// The rows at some places of two epochs: recipes that write the same order differently agree.
fn order(order: &dyn Order) -> String {
    let places: Vec<u64> = probes(order.places()).collect();
    let mut bytes = vec![];
    for epoch in 0..2 {
        let mut rows = places.clone();
        order.resolve(epoch, &mut rows);
        bytes.extend(rows.iter().flat_map(|r| r.to_le_bytes()));
    }
    format!("{:016x}", hash(&bytes))
}

/// The stages that define the order of a stream: its places cannot be looked up.
fn stream_order(recipe: &Recipe, counts: impl Fn(Role) -> bool) -> String {
    let stages: Vec<&Stage> = recipe.stages.iter().filter(|stage| counts(stage.about().role)).collect();
    format!("{:016x}", hash(serde_json::to_string(&stages).unwrap_or_default().as_bytes()))
}

/// The stages that change samples, in the recipe and in the recipes it joins.
fn samples(recipe: &Recipe) -> String {
    fn collect<'a>(recipe: &'a Recipe, into: &mut Vec<&'a Stage>) {
        recipe.source.parts.iter().for_each(|part| collect(part, into));
        into.extend(recipe.stages.iter().filter(|stage| stage.about().role.changes_samples()));
    }
    let mut stages = vec![];
    collect(recipe, &mut stages);
    let stages: Vec<_> = stages.into_iter().map(by_content).collect();
    format!("{:016x}", hash(serde_json::to_string(&stages).unwrap_or_default().as_bytes()))
}

/// Returns a stage with files replaced by their content: a tokenizer that was moved is the same, one that was edited is
/// not.
pub(super) fn by_content(stage: &Stage) -> Cow<'_, Stage> {
    let mut out = Cow::Borrowed(stage);
    if let Stage::Map { args, .. } = stage {
        for (name, path) in args.iter().filter(|(name, _)| FILES.contains(&name.as_str())) {
            if let Some(Ok(content)) = path.as_str().map(std::fs::read)
                && let Stage::Map { args, .. } = out.to_mut()
            {
                args.insert(name.clone(), format!("{:016x}", hash(&content)).into());
            }
        }
    }
    out
}

/// Returns evenly spread numbers below `n`, including the first and the last.
fn probes(n: u64) -> impl Iterator<Item = u64> {
    let count = n.min(PROBES);
    (0..count).map(move |i| (u128::from(i) * u128::from(n - 1) / u128::from((count - 1).max(1))) as u64)
}
