//! From a recipe to a plan: finds the files, tells their format, reads their indices.

use crate::{
    Plan, Recipe,
    engine::{Opened, usable_cpus},
    format::{self, Detected, FolderSource},
    read::StoreSource,
    recipe::SourceRecipe,
    store::{Found, LocalStore, find},
};
use infeed_core::{Error, Result, Source, Store, registry};
use std::sync::Arc;

/// The names that `format` may have besides those of [`format::ENTRIES`].
const WHOLE_FILES: [&str; 3] = ["folder", "files", "manifest"];

/// Opens what a recipe reads and checks its stages against it. Reads indices and headers, but no sample.
pub fn open(recipe: Recipe) -> Result<Arc<Plan>> {
    Ok(Arc::new(Plan::with(recipe, &mut |recipe| source(recipe).map(Opened::Rows))?))
}

fn source(recipe: &SourceRecipe) -> Result<Arc<dyn Source>> {
    let store = Arc::new(LocalStore::new());
    let found = find(&recipe.paths)?;
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
        name => {
            let format = format::ENTRIES
                .iter()
                .find(|e| e.name == name)
                .map(|e| e.name)
                .ok_or_else(|| unknown(name))?;
            let suffix = format!(".{format}");
            let names = if folder.is_some() {
                names.into_iter().filter(|n| n.ends_with(&suffix)).collect()
            } else {
                names
            };
            return shards(store, format, &names, recipe);
        }
    };
    if !matches!(what, Detected::Shards { .. })
        && let Some(wrong) = recipe.args.keys().next()
    {
        return Err(Error::argument(format!("image files take no argument `{wrong}`")));
    }
    match what {
        Detected::Shards { format, names } => shards(store, format, &names, recipe),
        Detected::Files => Ok(Arc::new(FolderSource::files(store, &names)?)),
        Detected::Manifest(name) => Ok(Arc::new(FolderSource::manifest(store, &name)?)),
        Detected::Folder => match folder {
            Some(folder) => Ok(Arc::new(FolderSource::open(store, &folder, names)?)),
            None => Err(Error::argument(format!("`{}` is not a folder", recipe.paths.join(", ")))),
        },
    }
}

fn unknown(name: &str) -> Error {
    let mut names = vec!["auto"];
    names.extend(format::ENTRIES.iter().map(|e| e.name));
    names.extend(WHOLE_FILES);
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
    let shards = store.stat(names)?;
    // Indexing is mostly waiting for the disk: more threads than CPUs.
    let indices = format::index_all(&*format, &*store, &shards, (usable_cpus() * 2).min(32))?;
    Ok(Arc::new(StoreSource::new(store, name, shards, indices)?))
}
