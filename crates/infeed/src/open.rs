//! From a recipe to a plan: finds the files, detects their format, reads their indices.

use crate::{
    Plan, Recipe,
    engine::usable_cpus,
    format::{self, not_streamed},
    layout::instead::instead,
    recipe::SourceRecipe,
    stage::StagedStore,
    store::{
        RecordedStore, Stores,
        cache::{CacheOptions, CacheStore},
    },
    stream::Opening,
};
use infeed_core::{Cache, Error, OpenRequest, Opened, Result, Stamp, Store, StoreExt};
use std::sync::Arc;

/// So many bytes of a damaged shard are looked at.
const START: u64 = 512;

/// Opens what a recipe reads and checks its stages against it. Reads indices and headers, but no samples.
pub fn open(recipe: Recipe) -> Result<Arc<Plan>> {
    let mut notes = Vec::new();
    let mut plan = Plan::with(recipe, &mut |source| open_noted(source, &mut notes))?;
    plan.notes = notes;
    if let Some(what) = plan.python.first() {
        return Err(Error::argument(format!(
            "the recipe has a Python function ({what}): only Python can run it"
        )));
    }
    Ok(Arc::new(plan))
}

/// Opens what one part of a recipe reads.
pub fn open_source(recipe: &SourceRecipe) -> Result<Opened> {
    open_noted(recipe, &mut Vec::new())
}

/// Opens what one part of a recipe reads, and adds what is to be said of where its bytes come from.
pub fn open_noted(recipe: &SourceRecipe, notes: &mut Vec<String>) -> Result<Opened> {
    let all: Arc<dyn Store> = Arc::new(Stores::with(recipe.store.clone()));
    let mut store = Arc::clone(&all);
    let (mut cache, mut staged) = (None, None);
    if let Some(folder) = &recipe.cache {
        store = Arc::clone(cache.insert(CacheStore::open(store, cache_options(folder, recipe.cache_limit))?))
            as _;
    }
    if let Some(folder) = &recipe.staged {
        store = Arc::clone(staged.insert(Arc::new(StagedStore::new(store, folder)?))) as _;
    }
    let opened = open_recorded(store, recipe)?;
    notes.extend(all.notes().into_iter().map(|note| format!("fetched {note}")));
    notes
        .extend(cache.map(|cache| format!("cached  {}{}", cache.describe(), what_is_kept(&*cache, &opened))));
    notes.extend(staged.map(|staged| format!("staged  {}", staged.describe())));
    Ok(opened)
}

/// Opens data. What is read of a store that is far away is kept for the next run, unless the format keeps an index of its own.
fn open_recorded(store: Arc<dyn Store>, recipe: &SourceRecipe) -> Result<Opened> {
    let far = recipe.paths.iter().any(|path| is_far(path) && !Opening::is_stream(path));
    let folder = if far { format::cache_folder() } else { None };
    let Some(folder) = folder else { return open_in(store, recipe, None) };
    // Signatures of addresses change, and belong into no name of a file.
    let bare = |path: &str| path.split('?').next().unwrap_or_default().to_owned();
    let name =
        recipe.paths.iter().fold(Stamp::default().text(&recipe.format), |name, path| name.text(&bare(path)));
    let name = name.text(&serde_json::Value::Object(recipe.args.clone()).to_string());
    let file = folder.join("index").join(format!("{:032x}.opened", name.get()));
    let recorded = RecordedStore::open(store, file);
    let opened = open_in(Arc::clone(&recorded) as _, recipe, Some(&recorded));
    let data = match &opened {
        Ok(Opened::Rows(source)) => source.objects().iter().map(|object| object.size).sum(),
        _ => 0,
    };
    recorded.close(data);
    opened
}

/// Whether a path leads to another machine.
fn is_far(path: &str) -> bool {
    path.contains("://") && !path.starts_with("file:")
}

/// What a cache can keep of the data, if its size is known.
fn what_is_kept(cache: &dyn Cache, opened: &Opened) -> String {
    let objects = match opened {
        Opened::Rows(source) => source.objects(),
        Opened::Stream(_) => Vec::new(),
    };
    let needed: u64 = objects.iter().map(|object| cache.room_for(object.size)).sum();
    if needed == 0 {
        return String::new();
    }
    let again = 100.0 * (1.0 - cache.limit() as f64 / needed as f64);
    match again <= 0.0 {
        true => "; it keeps all of the data".to_owned(),
        false => format!(
            "; it keeps what is needed most often: about {again:.0} % of the bytes come again in each epoch"
        ),
    }
}

/// A cache in a folder, or for `memory` in the memory that processes share, one for each user.
fn cache_options(folder: &str, limit: Option<u64>) -> CacheOptions {
    let folder = match folder {
        "memory" => format!("/dev/shm/infeed-cache-{}", crate::stage::user()),
        folder => folder.strip_prefix("file:").unwrap_or(folder).to_owned(),
    };
    CacheOptions { limit, ..CacheOptions::new(folder) }
}

fn open_in(store: Arc<dyn Store>, recipe: &SourceRecipe, recorded: Option<&RecordedStore>) -> Result<Opened> {
    let streamed = recipe.paths.iter().any(|path| Opening::is_stream(path));
    let far = recipe.paths.iter().any(|path| is_far(path));
    let mut seen = None;
    let entry = match recipe.format.as_str() {
        // The output of a command cannot be inspected beforehand.
        "auto" if streamed => format::entries()
            .find(|entry| entry.can.stream)
            .ok_or_else(|| Error::Internal { what: "no format reads streams".to_owned() })?,
        "auto" => seen.insert(format::detect(&*store, &recipe.paths)?).entry,
        name => format::entry(name)?,
    };
    format::check_arguments(entry, &recipe.args)?;
    if let Some(recorded) = recorded
        && entry.params.iter().any(|param| param.name == "index")
    {
        recorded.stop();
    }
    let request = OpenRequest {
        entry,
        store: &store,
        paths: &recipe.paths,
        found: seen.as_ref().map(|seen| &*seen.found),
        listed: seen.as_ref().and_then(|seen| seen.listed.as_deref()),
        given: &recipe.args,
        // Opening is mostly waiting for I/O: more threads than CPUs, and many more where each answer takes its time.
        threads: if far { 32 } else { (usable_cpus() * 2).min(32) },
    };
    if streamed && !entry.can.stream {
        return Err(not_streamed(&request));
    }
    entry.open(request).map_err(|error| with_cause(&*store, error))
}

/// The error of a damaged shard; what its file is instead, if the start of it shows that it is no shard at all.
fn with_cause(store: &dyn Store, error: Error) -> Error {
    let Error::Format { shard, offset, what } = error else { return error };
    let start = || {
        // Commands and standard input cannot be read again; their readers have looked.
        let found = (!Opening::is_stream(&shard)).then(|| store.stat_one(&shard).ok()).flatten()?;
        store.read_one(&found, 0..found.size.min(START)).ok()
    };
    let what = start().and_then(|start| instead(&start)).map_or(what, str::to_owned);
    Error::Format { shard, offset, what }
}
