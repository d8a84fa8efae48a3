//! `load`: columns that name files.
//!
//! Sources are wrapped when they are opened, so that files are read together with their rows; the stage then gives the field of
//! files its name in the sample. A load behind a join is one of each part.

use super::branch::{Branch, Chain, Start};
use crate::{
    read::{FileColumn, Loaded, LoadedStream, stored},
    recipe::{Recipe, SourceRecipe, Stage},
    store::Stores,
};
use infeed_core::{Error, FieldSpec, Found, Result, Source, Spec, Store, Stream};
use std::sync::{Arc, OnceLock};

/// The name of the stage as users know it.
const STAGE: &str = "load";

/// The stages that load files for one source: its own first, then those behind joins of it.
#[derive(Debug, Default)]
pub(super) struct Loads<'a> {
    stages: Vec<&'a Stage>,
    /// How many stages are the source's own; its fields must have their columns.
    own: usize,
    /// The store of all files of a recipe: each store keeps buffers of its own.
    store: Arc<OnceLock<Arc<dyn Store>>>,
}

impl<'a> Loads<'a> {
    /// Returns these stages behind those of a recipe.
    pub(super) fn with(&self, recipe: &'a Recipe) -> Loads<'a> {
        let own = recipe.stages.iter().filter(|stage| matches!(stage, Stage::Load { .. }));
        let mut stages: Vec<&Stage> = own.collect();
        let own = stages.len();
        stages.extend(&self.stages);
        Loads { stages, own, store: Arc::clone(&self.store) }
    }

    /// Wraps a source, if files are loaded for it.
    pub(super) fn over(&self, source: &Arc<dyn Source>, recipe: &SourceRecipe) -> Result<Arc<dyn Source>> {
        // A stream is wrapped itself; its source has no rows.
        if self.stages.is_empty() || source.shard_rows().is_empty() {
            return Ok(Arc::clone(source));
        }
        let (store, columns) = self.columns(source.spec(), recipe)?;
        Ok(Arc::new(Loaded::new(Arc::clone(source), store, columns)))
    }

    /// Wraps a stream, if files are loaded for it.
    pub(super) fn over_stream(
        &self,
        stream: Arc<dyn Stream>,
        recipe: &SourceRecipe,
    ) -> Result<Arc<dyn Stream>> {
        if self.stages.is_empty() {
            return Ok(stream);
        }
        let (store, columns) = self.columns(stream.spec(), recipe)?;
        Ok(Arc::new(LoadedStream::new(stream, store, columns)))
    }

    /// Checks the columns against the fields of a source.
    fn columns(&self, spec: &Spec, recipe: &SourceRecipe) -> Result<(Arc<dyn Store>, Vec<FileColumn>)> {
        let store = Arc::clone(self.store.get_or_init(Stores::shared));
        let mut columns = Vec::with_capacity(self.stages.len());
        for (number, stage) in self.stages.iter().enumerate() {
            let Stage::Load { column, to, root, pattern } = stage else { continue };
            // A part without the field has no files either; the join says whether that is right.
            if number >= self.own && place(spec, column).is_none() {
                continue;
            }
            let root = match root {
                Some(root) => Some(folder(&*store, root)?),
                None => {
                    check_folder(&*store, recipe)?;
                    None
                }
            };
            let to = to.as_ref().unwrap_or(column);
            columns.push(FileColumn::new(spec, column, to, root.as_deref(), pattern.as_deref())?);
        }
        Ok((store, columns))
    }
}

/// Returns the name of the folder that the user wrote.
fn folder(store: &dyn Store, root: &str) -> Result<String> {
    match store.find(root)?.as_slice() {
        [Found::Folder(folder)] => Ok(folder.clone()),
        _ => Err(Error::plan(
            STAGE,
            format!("root=`{root}` is not a folder: give the one that paths are relative to"),
        )),
    }
}

/// Checks that the shards of a source are in a folder, which paths are relative to unless the user names another one.
fn check_folder(store: &dyn Store, recipe: &SourceRecipe) -> Result<()> {
    // The first stands for all: commands and objects of Python are never mixed with files.
    match recipe.paths.iter().take(1).find(|path| store.find(path).is_err()) {
        None => Ok(()),
        Some(path) => Err(Error::plan(
            STAGE,
            format!("`{path}` is in no folder that paths could be relative to: give root=\"FOLDER\""),
        )),
    }
}

/// Returns the index of the field that a column is, or is a part of.
fn place(spec: &Spec, column: &str) -> Option<usize> {
    spec.position(column).or_else(|| spec.position(column.split_once('.')?.0))
}

impl Branch {
    /// Checks that the column of a load is there.
    pub(super) fn require_column(&self, column: &str) -> Result<()> {
        match place(&self.spec, column) {
            Some(_) => Ok(()),
            None => self.require(column, STAGE).map(drop),
        }
    }

    /// Adds the field of files that a column names, or puts it in the column's place.
    pub(super) fn load(&mut self, column: &str, to: &str) -> Result<()> {
        let name: Arc<str> = to.into();
        let mut chain = Chain::stored(&name, &format!("file named by {column}"), &FieldSpec::encoded());
        chain.start = Start::Stored { name: stored(to), at: 0 };
        let Some(at) = self.spec.position(to) else {
            if to.is_empty() || self.spent.iter().any(|c| c.name == name) {
                return Err(Error::plan(
                    STAGE,
                    format!("the field of files cannot be called `{to}`: choose another to="),
                ));
            }
            self.chains.push(chain);
            self.spec.fields.push((name, FieldSpec::encoded()));
            return Ok(());
        };
        if to != column {
            return Err(Error::plan(STAGE, format!("there is a field `{to}` already: choose another to=")));
        }
        let old = &self.chains[at];
        let plain = matches!(&old.start, Start::Stored { name, .. } if **name == *column);
        if !plain || old.decoder.is_some() || !old.transforms.is_empty() || old.keep {
            return Err(Error::plan(
                STAGE,
                format!(
                    "`{column}` was decoded, transformed or loaded before: put load() first, or give to=\"NAME\""
                ),
            ));
        }
        if self.filters.iter().flat_map(|f| f.fields()).any(|field| field == column) {
            return Err(Error::plan(
                STAGE,
                format!("a filter needs `{column}`, which the files take the place of: give to=\"NAME\""),
            ));
        }
        self.chains[at] = chain;
        self.spec.fields[at].1 = FieldSpec::encoded();
        Ok(())
    }
}
