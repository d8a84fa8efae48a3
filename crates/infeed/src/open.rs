//! From a recipe to a plan: finds the files, tells their format, reads their indices.

use crate::{
    Plan, Recipe,
    engine::{Opened, usable_cpus},
    format::{self, Detected, FolderSource},
    read::StoreSource,
    recipe::SourceRecipe,
    store::{Found, LocalStore, find},
    stream::{Opening, RowStream, TarStream},
};
use infeed_core::{Error, Result, Shard, Shards, Source, Store, registry};
use infeed_tokens::TokenSource;
use std::sync::Arc;

/// The names that `format` may have besides those of [`format::ENTRIES`].
const WHOLE_FILES: [&str; 5] = ["mds", "tokens", "folder", "files", "manifest"];

/// Opens what a recipe reads and checks its stages against it. Reads indices and headers, but no sample.
pub fn open(recipe: Recipe) -> Result<Arc<Plan>> {
    let plan = Plan::with(recipe, &mut open_source)?;
    if let Some(what) = plan.python.first() {
        return Err(Error::argument(format!(
            "the recipe has a Python function ({what}): only Python can run it"
        )));
    }
    Ok(Arc::new(plan))
}

/// Opens what one part of a recipe reads.
pub fn open_source(recipe: &SourceRecipe) -> Result<Opened> {
    let is_stream = |path: &String| path == "-" || path.starts_with("pipe:");
    if recipe.paths.iter().any(is_stream) {
        let format = if recipe.format == "auto" { "tar" } else { &recipe.format };
        return stream(recipe, format, recipe.paths.iter().map(|path| Opening::parse(path)).collect());
    }
    if recipe.format == "tokens" {
        let source = TokenSource::open(&token_paths(&recipe.paths)?, &recipe.args)?;
        return Ok(Opened::Rows(Arc::new(source)));
    }
    let store = Arc::new(LocalStore::new());
    let found = find(&recipe.paths)?;
    if let Some(kind) = infeed_table::KINDS.into_iter().find(|kind| *kind == recipe.format) {
        let names: Vec<String> =
            found.into_iter().map(|(Found::File(name) | Found::Folder(name))| name).collect();
        return Ok(Opened::Rows(Arc::new(infeed_table::open(kind, &names, &recipe.args)?)));
    }
    let folders: Vec<&String> =
        found.iter().filter_map(|f| if let Found::Folder(name) = f { Some(name) } else { None }).collect();
    let folder = match (folders.as_slice(), found.len()) {
        ([], _) => None,
        ([only], 1) => Some((*only).clone()),
        _ => {
            return Err(Error::argument(format!(
                "several paths, and `{}` is a folder: give one folder, or files",
                folders[0]
            )));
        }
    };
    let names = match &folder {
        Some(folder) => store.names(folder)?,
        None => found.into_iter().map(|(Found::File(name) | Found::Folder(name))| name).collect(),
    };
    let what = match recipe.format.as_str() {
        "auto" => format::detect(&*store, folder.as_deref(), &names)?,
        "folder" => Detected::Folder,
        "files" => Detected::Files,
        "manifest" => Detected::Manifest(names.first().cloned().unwrap_or_default()),
        "mds" => Detected::Mds(folder.clone().or(names.first().cloned()).unwrap_or_default()),
        name => {
            let format = format::ENTRIES
                .iter()
                .find(|e| e.name == name)
                .map(|e| e.name)
                .ok_or_else(|| unknown(name))?;
            let names: Vec<String> = if folder.is_some() {
                names.into_iter().filter(|n| format::belongs(n, format)).collect()
            } else {
                names
            };
            if names.iter().any(|n| format::is_packed(n)) {
                return stream(recipe, format, names.into_iter().map(Opening::File).collect());
            }
            return shards(store, format, &names, recipe).map(Opened::Rows);
        }
    };
    if matches!(what, Detected::Folder | Detected::Files | Detected::Manifest(_))
        && let Some(wrong) = recipe.args.keys().next()
    {
        return Err(Error::argument(format!("image files take no argument `{wrong}`")));
    }
    let found: Arc<dyn Source> = match what {
        Detected::Stream { format, names } => {
            return stream(recipe, format, names.into_iter().map(Opening::File).collect());
        }
        Detected::Table { format, names } => Arc::new(infeed_table::open(format, &names, &recipe.args)?),
        Detected::Mds(path) => format::open_mds(&path, &recipe.args)?,
        Detected::Shards { format, names } => shards(store, format, &names, recipe)?,
        Detected::Files => Arc::new(FolderSource::files(store, &names)?),
        Detected::Manifest(name) => Arc::new(FolderSource::manifest(store, &name)?),
        Detected::Folder => match folder {
            Some(folder) => Arc::new(FolderSource::open(store, &folder, names)?),
            None => return Err(Error::argument(format!("`{}` is not a folder", recipe.paths.join(", ")))),
        },
    };
    Ok(Opened::Rows(found))
}

/// Corpora are called by prefixes, which are no files: `x` of `x.idx` and `x.bin`.
fn token_paths(paths: &[String]) -> Result<Vec<String>> {
    let mut out = Vec::new();
    for path in paths {
        let forms = [".idx", ".bin", ".npy", ""].map(|ending| format!("{path}{ending}"));
        let found = forms.iter().find_map(|form| find(&[form]).ok()).map_or_else(|| find(&[path]), Ok)?;
        out.extend(found.iter().map(|f| f.name().to_owned()));
    }
    Ok(out)
}

/// Shards that are read from front to back.
fn stream(recipe: &SourceRecipe, format: &str, parts: Vec<Opening>) -> Result<Opened> {
    if let Some(entry) = format::LAYOUTS.iter().find(|entry| entry.name == format) {
        return Ok(Opened::Stream(Arc::new(RowStream::open(entry.make(&recipe.args)?.into(), parts)?)));
    }
    if format != "tar" {
        let known: Vec<&str> = format::LAYOUTS.iter().map(|entry| entry.name).collect();
        let known = known.join(", ");
        return Err(Error::argument(format!("`{format}` cannot be read as a stream; tar, {known} can")));
    }
    if recipe.args.get("lenient").is_some_and(|lenient| lenient == true) {
        return Err(Error::argument(
            "a stream cannot step over damage: lenient needs tars that are not compressed",
        ));
    }
    Ok(Opened::Stream(Arc::new(TarStream::open(parts)?)))
}

fn unknown(name: &str) -> Error {
    let mut names = vec!["auto"];
    names.extend(format::ENTRIES.iter().map(|e| e.name));
    names.extend(WHOLE_FILES);
    names.extend(infeed_table::KINDS);
    let near = registry::nearest(name, &names).map(|n| format!("; did you mean `{n}`?")).unwrap_or_default();
    Error::argument(format!("there is no format `{name}`{near} (there are: {})", names.join(", ")))
}

fn shards(
    store: Arc<LocalStore>,
    name: &str,
    names: &[String],
    recipe: &SourceRecipe,
) -> Result<Arc<dyn Source>> {
    if names.is_empty() {
        let path = recipe.paths.join(", ");
        return Err(Error::NotFound { path, hint: format!("; there is no .{name} file in it") });
    }
    let format = registry::find(format::ENTRIES, name, "format")?.make(&recipe.args)?;
    let shards = Shards::new(&store.stat(names)?)?;
    // Indexing is mostly waiting for the disk: more threads than CPUs.
    let threads = (usable_cpus() * 2).min(32);
    Ok(Arc::new(match format.indices(&*store, &shards, threads)? {
        Some(indices) => StoreSource::over(store, name, shards, indices)?,
        None => {
            let shards: Vec<Shard> = (0..shards.len()).filter_map(|place| shards.get(place)).collect();
            let indices = format::index_all(&*format, &*store, &shards, threads)?;
            StoreSource::new(store, name, shards, indices)?
        }
    }))
}
