//! Properties of each stage: the one list that everything else about stages is derived from.

use super::Stage;

/// What a stage works on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The order of rows.
    Order,
    /// Which rows are dropped, before or after they are decoded.
    Filter,
    /// The seed of random transforms.
    Seed,
    /// The set of fields.
    Fields,
    /// The content of a sample.
    Sample,
    /// What is kept of the work: no sample and no place changes with it.
    Cache,
    /// Packing of documents into sequences: other samples, in an order of their own.
    Pack,
    /// How samples become batches.
    Batch,
    /// The content of a finished batch.
    BatchContent,
    /// The form in which batches are handed out.
    Output,
    /// A function of the consumer, run in Python.
    Function,
}

/// The properties of a stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct About {
    /// Its name in messages: the method of a pipeline in Python.
    pub name: &'static str,
    /// What it works on.
    pub role: Role,
}

impl Stage {
    /// Returns its properties. A new stage has to be added here, and nowhere else.
    pub fn about(&self) -> About {
        let (name, role) = match self {
            Stage::Shuffle { .. } => ("shuffle", Role::Order),
            Stage::Slice { .. } | Stage::Pick { .. } | Stage::Fraction { .. } => ("subset", Role::Order),
            Stage::Split { .. } => ("random_split", Role::Order),
            Stage::Fold { .. } => ("kfold", Role::Order),
            Stage::Repeat { .. } => ("repeat", Role::Order),
            Stage::Weighted { .. } => ("weighted", Role::Order),
            Stage::Balance { .. } => ("balance", Role::Order),
            Stage::ByLength { .. } => ("group_by_length", Role::Order),
            Stage::Filter { .. } => ("filter", Role::Filter),
            Stage::Seed { .. } => ("seed", Role::Seed),
            Stage::Select { .. } => ("select", Role::Fields),
            Stage::Load { .. } => ("load", Role::Sample),
            Stage::Decode { .. } => ("decode", Role::Sample),
            Stage::Copy { .. } => ("views", Role::Sample),
            Stage::Map { .. } => ("map", Role::Sample),
            Stage::Cache(_) => ("cache", Role::Cache),
            Stage::Pack(_) => ("pack", Role::Pack),
            Stage::Batch { .. } => ("batch", Role::Batch),
            Stage::MapBatch { .. } => ("map_batch", Role::BatchContent),
            Stage::Tuple { .. } => ("to_tuple", Role::Output),
            Stage::Python { .. } => ("python", Role::Function),
        };
        About { name, role }
    }

    /// Returns its name in messages.
    pub fn name(&self) -> &'static str {
        self.about().name
    }
}

impl Role {
    /// Whether a change to a stage of this role changes which rows there are or their places. Packing is included: the
    /// places of packed pipelines are sequences.
    pub fn is_order(self) -> bool {
        matches!(self, Role::Order | Role::Pack)
    }

    /// Whether a change to a stage of this role changes the samples at the same places.
    pub fn changes_samples(self) -> bool {
        matches!(self, Role::Filter | Role::Sample | Role::BatchContent | Role::Function)
    }

    /// Whether it may come after the stage that makes batches.
    pub fn follows_batch(self) -> bool {
        matches!(self, Role::BatchContent | Role::Output | Role::Function)
    }

    /// Whether the engine works on the fields of samples: not possible after a Python function.
    pub fn works_on_fields(self) -> bool {
        matches!(self, Role::Fields | Role::Sample | Role::BatchContent)
    }

    /// Whether only Python can run it.
    pub fn needs_python(self) -> bool {
        self == Role::Function
    }
}
