//! The serialisable description of a pipeline: what Python builds, what a file holds, what a checkpoint hashes.

mod cache;
mod join;
mod list;
mod pack;
mod stage;

pub use cache::{CacheRecipe, CacheTier};
pub use join::Join;
pub use list::{Integers, Reals};
pub use pack::{Long, PackMode, PackRecipe, Rest};
pub use stage::{About, PadMasks, PerField, PerRow, Ragged, Role, ShuffleKind, Stage, Use};

use infeed_core::{Error, Result};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

/// A whole pipeline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    /// What to read.
    pub source: SourceRecipe,
    /// What to do with it, in order.
    #[serde(default, rename = "stage", skip_serializing_if = "Vec::is_empty")]
    pub stages: Vec<Stage>,
}

/// What to read: files, or several pipelines joined.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SourceRecipe {
    /// Paths as the user wrote them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
    /// Name of the format, or `auto`.
    #[serde(default = "auto", skip_serializing_if = "is_auto")]
    pub format: String,
    /// Arguments of the format.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub args: Map<String, Json>,
    /// How remote stores are reached: endpoint, region, profile. No secrets.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub store: Map<String, Json>,
    /// The folder of a cache of what is read, or `memory`. Like `staged` it changes nothing about what is read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache: Option<String>,
    /// The most bytes that the cache may take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_limit: Option<u64>,
    /// A folder of staged copies that are read in place of the files, or `auto`. It changes nothing about what is read, so
    /// it is no part of a state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub staged: Option<String>,
    /// How the parts are joined; a joined source has no paths.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub join: Option<Join>,
    /// The pipelines that are joined.
    #[serde(default, rename = "part", skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Recipe>,
}

fn auto() -> String {
    "auto".to_owned()
}

fn is_auto(format: &String) -> bool {
    format == "auto"
}

impl SourceRecipe {
    /// Creates a source of files of a format.
    pub fn files(paths: Vec<String>, format: &str) -> Self {
        let (format, args, store) = (format.to_owned(), Map::new(), Map::new());
        SourceRecipe {
            paths,
            format,
            args,
            store,
            cache: None,
            cache_limit: None,
            staged: None,
            join: None,
            parts: vec![],
        }
    }
}

impl Recipe {
    /// Creates a recipe that only reads.
    pub fn new(paths: Vec<String>, format: &str) -> Self {
        Recipe { source: SourceRecipe::files(paths, format), stages: vec![] }
    }

    /// Returns the shell commands that reading it would run (`pipe:`), in all its parts. A recipe from elsewhere is data:
    /// whoever opens one decides first whether it may run commands.
    pub fn commands(&self) -> Vec<&str> {
        let own = self.source.paths.iter().filter_map(|path| path.strip_prefix("pipe:"));
        own.chain(self.source.parts.iter().flat_map(Recipe::commands)).collect()
    }

    /// Parses JSON.
    pub fn from_json(text: &str) -> Result<Self> {
        serde_json::from_str(text).map_err(|e| Error::argument(format!("recipe: {e}")))
    }

    /// Serialises as JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Parses TOML, the form for files.
    pub fn from_toml(text: &str) -> Result<Self> {
        toml::from_str(text).map_err(|e| Error::argument(format!("recipe: {e}")))
    }

    /// Serialises as TOML.
    pub fn to_toml(&self) -> Result<String> {
        toml::to_string(self).map_err(|e| Error::argument(format!("recipe cannot be written as TOML: {e}")))
    }

    /// Returns a hash of the whole recipe (FNV-1a over the canonical JSON).
    pub fn hash(&self) -> u64 {
        hash(self.to_json().as_bytes())
    }
}

/// FNV-1a.
pub(crate) fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(*b)).wrapping_mul(0x0000_0100_0000_01b3))
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
    fn settings_of_fields_read_as_they_are_written() {
        let batch = "size = 64\n        drop_last = true";
        let plain =
            Recipe::from_toml(&TOML.replace(batch, "size = 64\nragged = \"pad\"\npad_value = 3")).unwrap();
        assert!(plain.to_json().ends_with(r#"{"op":"batch","size":64,"ragged":"pad","pad_value":3.0}]}"#));
        let each = "size = 64\nragged = { a = \"pad\", b = \"flat\" }\npad_value = { a = -100 }\npad_mask = { a = \"m\" }";
        let each = Recipe::from_toml(&TOML.replace(batch, each)).unwrap();
        assert_eq!(Recipe::from_json(&each.to_json()).unwrap(), each);
        assert_eq!(Recipe::from_toml(&each.to_toml().unwrap()).unwrap(), each);
        for wrong in ["ragged = \"pack\"", "ragged = { a = \"pack\" }", "pad_value = \"x\"", "pad_mask = 3"] {
            assert!(Recipe::from_toml(&TOML.replace("drop_last = true", wrong)).is_err(), "{wrong}");
        }
    }

    #[test]
    fn slips_are_refused() {
        assert!(Recipe::from_toml(&TOML.replace("drop_last", "droplast")).is_err());
        assert!(Recipe::from_toml(&TOML.replace("\"shuffle\"", "\"shufle\"")).is_err());
    }
}
