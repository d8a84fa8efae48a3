//! `cache`: what the stages before it make is kept, and made only once.
//!
//! The stage draws a line through the chains of a branch, the *cut*: each field has so many transforms before it. What the fields are
//! there is written down, and a sample that is found begins there. Its number is the row's stamp
//! ([`Source::stamps`](infeed_core::Source::stamps)); the number of the shelf covers everything that was done before the cut, and
//! which fields are needed behind it. So neither changed data nor a changed pipeline can find samples that are not its own.

use super::{
    branch::{Branch, Chain, ChainStep, Start},
    draft::Draft,
    filter::FilterInput,
    identity::by_content,
};
use crate::{
    recipe::{CacheRecipe, CacheTier, SourceRecipe, Stage},
    store::cache::{CacheOptions, Shelf, ShelfAbout},
};
use infeed_core::{Decoder, Error, FieldKind, Result, Source, Stamp, keep::FORM};
use std::sync::Arc;

/// The name of the stage as users know it.
const NAME: &str = "cache";

/// Where a cache stands, while the plan is made.
#[derive(Debug, Clone)]
pub(super) struct Cut {
    recipe: CacheRecipe,
    fields: Vec<CutField>,
    /// Filters before it.
    filters: usize,
    /// Stages before it.
    stages: usize,
}

/// A field at the cut.
#[derive(Debug, Clone)]
struct CutField {
    name: Arc<str>,
    transforms: usize,
    decoder: Option<Arc<dyn Decoder>>,
}

/// Where the samples of a branch are kept, and what of them.
#[derive(Debug, Clone)]
pub(crate) struct Kept {
    pub(crate) shelf: Arc<Shelf>,
    pub(crate) columns: Vec<KeptColumn>,
    /// Filters before the cut.
    pub(crate) filters: usize,
    /// Joints behind it.
    pub(crate) joints: Vec<usize>,
}

/// A field of kept samples.
#[derive(Debug, Clone)]
pub(crate) struct KeptColumn {
    pub(crate) column: usize,
    /// Transforms before the cut.
    pub(crate) after: usize,
    /// Copies made before the cut, as a number of forks.
    pub(crate) forks: usize,
    /// Whether it is decoded before the cut.
    pub(crate) decoded: bool,
    /// Whether an image must not be rendered: what it becomes is shared by several fields further down, which decode it in
    /// another way.
    pub(crate) encoded: bool,
}

/// What is read, apart from the shards: the format and its arguments. Relative paths mean something else in another folder.
pub(super) fn origin(source: &SourceRecipe) -> String {
    if let Some(join) = &source.join {
        let parts: Vec<String> = source.parts.iter().map(|part| origin(&part.source)).collect();
        return format!("{}|{}", serde_json::to_string(join).unwrap_or_default(), parts.join("|"));
    }
    let args = serde_json::to_string(&source.args).unwrap_or_default();
    let relative = |path: &String| !path.starts_with('/') && !path.contains("://");
    let here = source.paths.iter().any(relative).then(|| std::env::current_dir().ok()).flatten();
    format!("{}|{args}|{}", source.format, here.map_or(String::new(), |here| here.display().to_string()))
}

impl Draft {
    /// Keeps the samples as they are after the stages so far.
    pub(super) fn cache(&mut self, recipe: &CacheRecipe) -> Result<()> {
        let refuse = |what: String| Err(Error::plan(NAME, what));
        if self.batch.is_some() {
            return refuse("keeps samples, not batches: put it before batch()".to_owned());
        }
        if let Some(function) = self.python.first() {
            return refuse(format!(
                "stands after the Python function `{function}`, whose results it cannot keep: put cache() before it"
            ));
        }
        if self.stream.is_some() {
            return refuse(
                "needs rows that can be looked up by number, and a stream has none: read the files by row, or leave cache() out"
                    .to_owned(),
            );
        }
        match (recipe.tier, &recipe.path) {
            (CacheTier::Disk, None) => {
                return refuse("on disk needs a folder: cache(\"disk\", path=\"...\")".to_owned());
            }
            (CacheTier::Memory, Some(_)) => {
                return refuse("in memory takes no path: use \"disk\" for a folder".to_owned());
            }
            _ => {}
        }
        for branch in &mut self.branches {
            if let Some(random) = &branch.random {
                return refuse(format!(
                    "stands after `{random}`, which is random: one choice would be kept for all epochs; move `{random}` behind cache()"
                ));
            }
            if branch.cut.is_some() {
                return refuse(
                    "was said before: one cache is enough, where most work is behind it".to_owned(),
                );
            }
            branch.cut(recipe);
        }
        Ok(())
    }

    /// Files that are loaded later would not be in kept samples.
    pub(super) fn check_load(&self) -> Result<()> {
        if self.branches.iter().any(|branch| branch.cut.is_some()) {
            return Err(Error::plan(
                "load",
                "stands after cache(): put load() before it, so that the files are kept too",
            ));
        }
        Ok(())
    }
}

impl Branch {
    fn cut(&mut self, recipe: &CacheRecipe) {
        let field = |chain: &Chain| CutField {
            name: Arc::clone(&chain.name),
            transforms: chain.transforms.len(),
            decoder: chain.decoder.clone(),
        };
        self.cut = Some(Cut {
            recipe: recipe.clone(),
            fields: self.chains.iter().chain(&self.spent).map(field).collect(),
            filters: self.filters.len(),
            stages: self.history.len(),
        });
        let tier = match recipe.tier {
            CacheTier::Memory => "memory",
            CacheTier::Disk => "disk",
        };
        for chain in &mut self.chains {
            let spec = chain.spec();
            chain.steps.push((format!("cache {tier}"), spec));
        }
    }

    /// Opens the shelf, now that it is known which fields are needed. `source` has the rows.
    pub(super) fn settle_cut(&mut self, fields: &[Arc<str>], source: &dyn Source) -> Result<()> {
        let Some(cut) = self.cut.take() else { return Ok(()) };
        let own: Vec<Arc<str>> =
            fields.iter().filter(|name| source.spec().position(name).is_some()).cloned().collect();
        if source.stamps(&[], &own).is_none() {
            return Err(Error::plan(
                NAME,
                format!(
                    "{} cannot tell whether its data has changed, so samples of it cannot be kept: leave cache() out",
                    source.describe()
                ),
            ));
        }
        let found = |chain: &Chain| cut.fields.iter().find(|field| field.name == chain.name);
        let ats: Vec<Option<usize>> =
            self.chains.iter().map(|c| found(c).map(|field| field.transforms)).collect();
        let later = |number: &usize| {
            let parts = &self.joints[*number].parts;
            parts.iter().any(|part| part.after >= ats[part.column].unwrap_or(0))
        };
        let joints: Vec<usize> = (0..self.joints.len()).filter(later).collect();
        let mut columns = Vec::new();
        for (column, chain) in self.chains.iter().enumerate() {
            let (Some(after), Some(field)) = (ats[column], found(chain)) else { continue };
            if !self.is_needed(column, after, &ats, cut.filters) {
                continue;
            }
            let decoded = self.decoded_before(chain, field)?;
            // Copies of one image that is not rendered yet share a decode at full size. Whether it is rendered before them
            // depends on what lies between.
            let made_later = |copy: &usize| ats[*copy].is_none();
            let shares =
                chain.shared && !chain.forks.iter().any(|f| f.after < after || !f.to.iter().all(made_later));
            let encoded = shares && chain.forks.iter().any(|fork| fork.after > after);
            let forks = chain.forks.iter().filter(|fork| fork.after < after).count();
            columns.push(KeptColumn { column, after, forks, decoded, encoded });
        }
        let shelf = self.open_shelf(&cut, &columns, source)?;
        self.kept = Some(Kept { shelf, columns, filters: cut.filters, joints });
        Ok(())
    }

    /// Whether something behind the cut begins with a field.
    fn is_needed(&self, column: usize, after: usize, ats: &[Option<usize>], filters: usize) -> bool {
        let chain = &self.chains[column];
        let copied = chain.forks.iter().flat_map(|fork| &fork.to).any(|copy| ats[*copy].is_none());
        let joined = chain.transforms[after..].iter().any(|(_, step)| matches!(step, ChainStep::Joint(_)));
        let facts = self.filters[filters..].iter().flat_map(|filter| &filter.facts);
        let mut compared = facts.filter_map(|fact| match fact {
            FilterInput::Field { column, .. } => Some(*column),
            FilterInput::Known(_) => None,
        });
        column < self.spec.fields.len() || copied || joined || compared.any(|at| at == column)
    }

    /// Whether a field is decoded before the cut; it may be decoded behind it instead.
    fn decoded_before(&self, chain: &Chain, field: &CutField) -> Result<bool> {
        let same = match (&chain.decoder, &field.decoder) {
            (Some(now), Some(then)) => Arc::ptr_eq(now, then),
            (None, None) => true,
            _ => false,
        };
        if same {
            return Ok(chain.decoder.is_some()
                || field.transforms > 0
                || matches!(chain.start, Start::Copy { .. }));
        }
        if field.decoder.is_none() && field.transforms == 0 && matches!(chain.start, Start::Stored { .. }) {
            return Ok(false);
        }
        Err(Error::plan(format!("decode {}", chain.name), "stands after cache(): put it before"))
    }

    fn open_shelf(&self, cut: &Cut, columns: &[KeptColumn], source: &dyn Source) -> Result<Arc<Shelf>> {
        let stages: Vec<_> = self.history[..cut.stages].iter().map(by_content).collect();
        let done = serde_json::to_string(&stages).unwrap_or_default();
        let build = if cfg!(infeed_portable) { "portable" } else { std::env::consts::ARCH };
        let mut key = Stamp::default().number(FORM).text(env!("CARGO_PKG_VERSION")).text(build);
        key = key.text(&self.origin).text(&done).number(cut.filters as u64);
        for kept in columns {
            let chain = &self.chains[kept.column];
            let marks = [kept.after as u64, kept.decoded.into(), kept.encoded.into(), chain.shared.into()];
            key = marks.into_iter().fold(key.text(&chain.name), Stamp::number);
        }
        let names: Vec<&str> = stages.iter().map(|stage| stage.name()).collect();
        let about = ShelfAbout { source: source.describe(), stages: names.join(", ") };
        Shelf::open(key.get(), &about, options(&cut.recipe))
    }
}

/// Where the samples of a recipe are kept.
fn options(recipe: &CacheRecipe) -> CacheOptions {
    let folder = recipe.path.as_ref().map(|path| path.strip_prefix("file:").unwrap_or(path).to_owned());
    let folder = folder.unwrap_or_else(|| format!("/dev/shm/infeed-cache-{}", crate::stage::user()));
    CacheOptions { limit: recipe.limit, ..CacheOptions::new(folder) }
}

/// Whether a field is decoded at full size, whatever follows.
fn is_exact(branch: &Branch, field: &str) -> bool {
    branch.history.iter().any(|stage| match stage {
        Stage::Decode { fields, .. } => {
            fields.get(field).is_some_and(|decoder| decoder.args.get("exact") == Some(&true.into()))
        }
        _ => false,
    })
}

impl Kept {
    /// Describes it for `explain()`: where it is, and which images are kept without their pixels.
    pub(super) fn describe(&self, branch: &Branch) -> String {
        let is_image = |chain: &Chain, after: usize| {
            // The first step says how it is stored.
            let spec = chain.steps.iter().find(|(step, _)| step.starts_with("cache "));
            after == 0 && spec.is_some_and(|(_, spec)| matches!(spec.kind, FieldKind::Image(_)))
        };
        let encoded = |kept: &&KeptColumn| {
            let chain = &branch.chains[kept.column];
            kept.decoded && (kept.encoded || is_image(chain, kept.after) && !is_exact(branch, &chain.name))
        };
        let names: Vec<&str> =
            self.columns.iter().filter(encoded).map(|kept| &*branch.chains[kept.column].name).collect();
        let note = match names.as_slice() {
            [] => String::new(),
            names => format!(
                "; JPEGs of {} are kept encoded, because a resize behind may decode them smaller: Resize before cache(), or decode(exact=True), keeps pixels",
                names.join(", ")
            ),
        };
        format!("{}{note}", self.shelf.describe())
    }
}
