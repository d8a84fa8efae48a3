//! The serialisable description of a pipeline: what Python builds, what a file holds, what a checkpoint hashes.

use infeed_core::{Error, Result};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};
use std::collections::BTreeMap;

/// A whole pipeline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    /// What to read.
    pub source: SourceRecipe,
    /// What to do with it, in order.
    #[serde(default, rename = "stage")]
    pub stages: Vec<Stage>,
}

/// What to read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SourceRecipe {
    /// Paths as the user wrote them.
    pub paths: Vec<String>,
    /// Name of the format, or `auto`.
    #[serde(default = "auto")]
    pub format: String,
    /// Arguments of the format.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub args: Map<String, Json>,
}

fn auto() -> String {
    "auto".to_owned()
}

/// One step of a pipeline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case", deny_unknown_fields)]
pub enum Stage {
    /// Shuffles all rows anew each epoch.
    Shuffle {
        /// The seed of the order, and of the augmentations unless `seed` says otherwise.
        seed: u64,
    },
    /// The seed of the augmentations.
    Seed {
        /// The seed.
        seed: u64,
    },
    /// Keeps only these fields; the others are not even read.
    Select {
        /// Their names.
        fields: Vec<String>,
    },
    /// Decodes fields.
    Decode {
        /// Field to decoder.
        fields: BTreeMap<String, Use>,
    },
    /// Applies a transform.
    Map {
        /// Its name.
        name: String,
        /// The fields; empty means every image.
        #[serde(default)]
        on: Vec<String>,
        /// Its arguments.
        #[serde(default, skip_serializing_if = "Map::is_empty")]
        args: Map<String, Json>,
    },
    /// Makes batches.
    Batch {
        /// Samples per batch.
        size: usize,
        /// Whether an incomplete last batch is dropped.
        #[serde(default)]
        drop_last: bool,
        /// What becomes of fields whose shape varies.
        #[serde(default)]
        ragged: Ragged,
        /// The value that fills up padded fields.
        #[serde(default, skip_serializing_if = "is_zero")]
        pad_value: f64,
    },
    /// Hands batches out as tuples of these fields.
    Tuple {
        /// Their names, in order.
        fields: Vec<String>,
    },
}

fn is_zero(x: &f64) -> bool {
    *x == 0.0
}

/// A decoder by name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Use {
    /// Its name.
    pub name: String,
    /// Its arguments.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub args: Map<String, Json>,
}

/// What becomes of a field whose shape varies from sample to sample.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ragged {
    /// A list of arrays.
    #[default]
    List,
    /// One array, each sample padded at its end to the largest of the batch.
    Pad,
}

impl Recipe {
    /// A recipe that only reads.
    pub fn new(paths: Vec<String>, format: &str) -> Self {
        Recipe { source: SourceRecipe { paths, format: format.to_owned(), args: Map::new() }, stages: vec![] }
    }

    /// From JSON.
    pub fn from_json(text: &str) -> Result<Self> {
        serde_json::from_str(text).map_err(|e| Error::argument(format!("recipe: {e}")))
    }

    /// To JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// From TOML, the form for files.
    pub fn from_toml(text: &str) -> Result<Self> {
        toml::from_str(text).map_err(|e| Error::argument(format!("recipe: {e}")))
    }

    /// To TOML.
    pub fn to_toml(&self) -> Result<String> {
        toml::to_string(self).map_err(|e| Error::argument(format!("recipe cannot be written as TOML: {e}")))
    }

    /// A number that differs when anything in the recipe differs (FNV-1a over the canonical JSON).
    pub fn hash(&self) -> u64 {
        self.to_json()
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0000_0100_0000_01b3))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOML: &str = r#"
        [source]
        paths = ["train-{000..007}.tar"]

        [[stage]]
        op = "shuffle"
        seed = 17

        [[stage]]
        op = "decode"
        fields = { jpg = { name = "rgb" }, cls = { name = "int" } }

        [[stage]]
        op = "map"
        name = "RandomResizedCrop"
        on = ["jpg"]
        args = { size = 224 }

        [[stage]]
        op = "batch"
        size = 64
        drop_last = true
    "#;

    #[test]
    fn toml_and_json_agree() {
        let recipe = Recipe::from_toml(TOML).unwrap();
        assert_eq!(Recipe::from_json(&recipe.to_json()).unwrap(), recipe);
        assert_eq!(Recipe::from_toml(&recipe.to_toml().unwrap()).unwrap(), recipe);
    }

    #[test]
    fn the_hash_sees_every_change() {
        let recipe = Recipe::from_toml(TOML).unwrap();
        let other = Recipe::from_toml(&TOML.replace("224", "225")).unwrap();
        assert_ne!(recipe.hash(), other.hash());
        assert_eq!(recipe.hash(), Recipe::from_toml(TOML).unwrap().hash());
    }

    #[test]
    fn slips_are_refused() {
        assert!(Recipe::from_toml(&TOML.replace("drop_last", "droplast")).is_err());
        assert!(Recipe::from_toml(&TOML.replace("\"shuffle\"", "\"shufle\"")).is_err());
    }
}
