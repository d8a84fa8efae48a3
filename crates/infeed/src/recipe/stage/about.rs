//! What each stage says of itself: the one list that everything else about stages is derived from.

use super::Stage;

/// What a stage works on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Which rows come when.
    Order,
    /// Which rows are left out, before or after they are decoded.
    Filter,
    /// The seed of random transforms.
    Seed,
    /// Which fields there are.
    Fields,
    /// What is in a sample.
    Sample,
    /// Sequences out of documents: other samples, in an order of their own.
    Pack,
    /// How samples become batches.
    Batch,
    /// What is in a finished batch.
    BatchContent,
    /// In which form batches are handed out.
    Output,
    /// A function of the consumer, which needs Python.
    Function,
}

/// What a stage says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct About {
    /// What it is called in messages: the method of a pipeline in Python.
    pub name: &'static str,
    /// What it works on.
    pub role: Role,
}

impl Stage {
    /// What it says of itself. A new stage has to be named here, and nowhere else.
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
            Stage::Decode { .. } => ("decode", Role::Sample),
            Stage::Copy { .. } => ("views", Role::Sample),
            Stage::Map { .. } => ("map", Role::Sample),
            Stage::Pack(_) => ("pack", Role::Pack),
            Stage::Batch { .. } => ("batch", Role::Batch),
            Stage::MapBatch { .. } => ("map_batch", Role::BatchContent),
            Stage::Tuple { .. } => ("to_tuple", Role::Output),
            Stage::Python { .. } => ("python", Role::Function),
        };
        About { name, role }
    }

    /// What it is called in messages.
    pub fn name(&self) -> &'static str {
        self.about().name
    }
}

impl Role {
    /// Whether another stage of this role means other rows, or the same rows at other places. Packing is part of it: the
    /// places of packed pipelines are sequences.
    pub fn is_order(self) -> bool {
        matches!(self, Role::Order | Role::Pack)
    }

    /// Whether another stage of this role means other samples at the same places.
    pub fn changes_samples(self) -> bool {
        matches!(self, Role::Filter | Role::Sample | Role::BatchContent | Role::Function)
    }

    /// Whether it may stand after the stage that makes batches.
    pub fn follows_batch(self) -> bool {
        matches!(self, Role::BatchContent | Role::Output | Role::Function)
    }

    /// Whether the engine works on the fields of samples: it cannot do so any more once Python had them.
    pub fn works_on_fields(self) -> bool {
        matches!(self, Role::Fields | Role::Sample | Role::BatchContent)
    }

    /// Whether only Python can do it.
    pub fn needs_python(self) -> bool {
        self == Role::Function
    }
}
