//! The sources that a recipe reads, and the first row of each in the joined source.

use super::{Opened, loads::Loads, shapes, stream::StreamFields, zips};
use crate::{
    read::Joined,
    recipe::{Join, PerField, Ragged, Recipe, Role, SourceRecipe, Stage},
};
use infeed_core::{Error, Result, Source, Stream};
use std::sync::Arc;

/// One source of the recipe.
#[derive(Debug)]
pub(super) struct Leaf {
    /// The index of its opened source.
    pub(super) slot: usize,
}

/// All leaves, in the order in which the recipe names them.
#[derive(Debug, Default)]
pub(super) struct Leaves {
    pub(super) leaves: Vec<Leaf>,
    /// What was opened, and the same with the files that columns name.
    opened: Vec<Arc<dyn Source>>,
    sources: Vec<Arc<dyn Source>>,
    /// What was opened for each source and what is done to its rows: parts that agree in both share their rows.
    keys: Vec<String>,
    starts: Vec<u64>,
    /// What the batch stage says about fields of varying shape.
    pub(super) ragged: PerField<Ragged>,
    /// The only leaf, if it is a stream.
    pub(super) stream: Option<Arc<dyn Stream>>,
}

impl Leaves {
    /// Opens everything the recipe reads.
    pub(super) fn open(
        recipe: &Recipe,
        open: &mut dyn FnMut(&SourceRecipe) -> Result<Opened>,
    ) -> Result<Self> {
        let mut leaves = Leaves { starts: vec![0], ragged: shapes::ragged(recipe), ..Leaves::default() };
        leaves.visit(recipe, "", &Loads::default(), open)?;
        Ok(leaves)
    }

    fn visit(
        &mut self,
        recipe: &Recipe,
        above: &str,
        loads: &Loads<'_>,
        open: &mut dyn FnMut(&SourceRecipe) -> Result<Opened>,
    ) -> Result<()> {
        // Caches change nothing about rows, and so not how they are numbered either.
        let counts = |role: Role| !role.is_order() && role != Role::Cache;
        let own: Vec<&Stage> = recipe.stages.iter().filter(|s| counts(s.about().role)).collect();
        let done = format!("{}|{above}", serde_json::to_string(&own).unwrap_or_default());
        let loads = loads.with(recipe);
        let source = &recipe.source;
        let zip = source.join.as_ref().is_some_and(Join::is_zip);
        if source.join.is_some() && !zip {
            if source.parts.is_empty() || !source.paths.is_empty() {
                return Err(Error::argument("recipe: a source with `join` needs `part`s and no `paths`"));
            }
            return source.parts.iter().try_for_each(|part| self.visit(part, &done, &loads, open));
        }
        if !zip && (!source.parts.is_empty() || source.paths.is_empty()) {
            return Err(Error::argument("recipe: a source needs `paths`, or `join` and `part`s"));
        }
        let what = serde_json::to_string(source).unwrap_or_default();
        let key = format!("{what}|{done}");
        let slot = match self.keys.iter().position(|k| *k == key) {
            Some(slot) => slot,
            None => {
                // The same files with other stages: their rows are numbered separately, but the files are not opened
                // again.
                let again = self.keys.iter().position(|k| k.starts_with(&format!("{what}|")));
                let opened = match again {
                    Some(slot) => Arc::clone(&self.opened[slot]),
                    None if zip => zips::open(source, open)?,
                    None => match open(source)? {
                        Opened::Rows(rows) => rows,
                        Opened::Stream(stream) if above.is_empty() => {
                            let fields: Arc<dyn Source> = Arc::new(StreamFields::new(&*stream));
                            self.stream = Some(loads.over_stream(stream, source)?);
                            fields
                        }
                        Opened::Stream(stream) => {
                            return Err(Error::plan(
                                "join",
                                format!(
                                    "{} is a stream, which cannot be joined with others",
                                    stream.describe()
                                ),
                            ));
                        }
                    },
                };
                self.starts.push(self.starts[self.sources.len()] + opened.rows());
                self.sources.push(loads.over(&opened, source)?);
                self.opened.push(opened);
                self.keys.push(key);
                self.sources.len() - 1
            }
        };
        self.leaves.push(Leaf { slot });
        Ok(())
    }

    /// Returns the source of a leaf.
    pub(super) fn source(&self, leaf: usize) -> &Arc<dyn Source> {
        &self.sources[self.leaves[leaf].slot]
    }

    /// Returns the source of a leaf, without the files that columns name.
    pub(super) fn opened(&self, leaf: usize) -> &Arc<dyn Source> {
        &self.opened[self.leaves[leaf].slot]
    }

    /// Returns the rows of a leaf in the joined source.
    pub(super) fn rows(&self, leaf: usize) -> std::ops::Range<u64> {
        let slot = self.leaves[leaf].slot;
        self.starts[slot]..self.starts[slot + 1]
    }

    /// Returns the source over all leaves.
    pub(super) fn join(self) -> Result<Arc<dyn Source>> {
        match self.sources.as_slice() {
            [only] => Ok(Arc::clone(only)),
            _ => Ok(Arc::new(Joined::new(self.sources)?)),
        }
    }

    /// Returns the source that holds a row of the joined source, and the row's number in it.
    pub(super) fn locate(&self, row: u64) -> (&Arc<dyn Source>, u64) {
        let slot = (self.starts.partition_point(|s| *s <= row).max(1) - 1).min(self.sources.len() - 1);
        (&self.sources[slot], row - self.starts[slot].min(row))
    }

    /// Returns the sources, in the order of their rows.
    pub(super) fn sources(&self) -> &[Arc<dyn Source>] {
        &self.sources
    }

    /// Whether rows are read and decoded in blocks.
    pub(super) fn are_blocks(&self) -> bool {
        self.sources.iter().any(|source| !source.block_rows().is_empty())
    }

    /// How many blocks may be mixed at a time, if one of the sources says so.
    pub(super) fn most_mixed(&self) -> u64 {
        self.sources.iter().filter_map(|source| source.most_mixed()).min().unwrap_or(u64::MAX)
    }

    /// Whether blocks of rows come over a network.
    pub(super) fn are_far(&self) -> bool {
        self.are_blocks() && self.sources.iter().any(|source| source.room_ahead().is_some())
    }

    /// Returns the total number of rows.
    pub(super) fn total(&self) -> u64 {
        self.starts.last().copied().unwrap_or(0)
    }
}
