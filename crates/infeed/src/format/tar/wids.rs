//! Lists of shards as the index of WebDataset (`wids`) has them: names and numbers of samples.
//!
//! ```json
//! {"__kind__": "wids-shard-index-v1", "wids_version": 1,
//!  "shardlist": [{"url": "train-000.tar", "nsamples": 1000, "filesize": 123456789, "md5sum": "..."}]}
//! ```
//!
//! It has no places of rows, so those are found as for any tar. The numbers are compared with what was found: a shard that is not
//! the one the list was made for is an error.

use infeed_core::{Error, FileLook, Result, Source, Store, StoreExt, opening::ends_with, store::below};
use serde::Deserialize;

/// The largest list that is read: some millions of shards.
const LARGEST: u64 = 1 << 30;

/// Tars, some of them from lists.
#[derive(Debug, Default)]
pub(super) struct Tars {
    pub(super) names: Vec<String>,
    /// The number of samples that a list gives for a tar, and the list.
    counts: Vec<(usize, u64, String)>,
}

#[derive(Deserialize)]
struct List {
    wids_version: u64,
    #[serde(default)]
    shardlist: Vec<Entry>,
    #[serde(default)]
    datasets: Vec<Part>,
}

#[derive(Deserialize)]
struct Entry {
    url: String,
    nsamples: u64,
}

/// A data set inside of a list.
#[derive(Deserialize)]
struct Part {
    source_url: Option<String>,
    #[serde(default)]
    base: String,
    #[serde(default)]
    shardlist: Vec<Entry>,
}

/// Whether a file looks like a list, by its first bytes.
pub(super) fn is_list(file: &FileLook<'_>) -> bool {
    const KEY: &[u8] = b"\"wids_version\"";
    ends_with(file.name, ".json") && file.head.windows(KEY.len()).any(|window| window == KEY)
}

/// Puts the tars of lists in the place of the lists.
pub(super) fn expand(store: &dyn Store, names: Vec<String>) -> Result<Tars> {
    let mut tars = Tars::default();
    for name in names {
        if !ends_with(&name, ".json") {
            tars.names.push(name);
            continue;
        }
        let list = read(store, &name)?;
        let own = list.shardlist.into_iter().map(|entry| (String::new(), entry));
        let mut entries: Vec<(String, Entry)> = own.collect();
        for part in list.datasets {
            if let Some(url) = part.source_url {
                return Err(wrong(&name, format!("it refers to another list, `{url}`; open that one, too")));
            }
            entries.extend(part.shardlist.into_iter().map(|entry| (part.base.clone(), entry)));
        }
        if entries.is_empty() {
            return Err(wrong(&name, "it names no shards".to_owned()));
        }
        for (base, entry) in entries {
            let tar = resolve(store, &name, &base, &entry.url)?;
            tars.counts.push((tars.names.len(), entry.nsamples, name.clone()));
            tars.names.push(tar);
        }
    }
    Ok(tars)
}

fn read(store: &dyn Store, name: &str) -> Result<List> {
    let shard = store.stat_one(name)?;
    if shard.size > LARGEST {
        return Err(wrong(name, format!("a list of {} bytes is too long", shard.size)));
    }
    let bytes = store.read_all(&shard)?;
    let list: List = serde_json::from_slice(&bytes).map_err(|e| {
        wrong(name, format!("this is not a list of tars as WebDataset's `widsindex create` writes it: {e}"))
    })?;
    match list.wids_version {
        1 => Ok(list),
        other => Err(wrong(name, format!("lists of version {other} are not known, only those of version 1"))),
    }
}

/// The name of a tar. A list is data, which may not choose what else is read with the user's rights: its tars lie where it lies,
/// or below.
fn resolve(store: &dyn Store, list: &str, base: &str, url: &str) -> Result<String> {
    let folder = below::folder_of(list);
    let path = if base.is_empty() || url.contains("://") {
        url.to_owned()
    } else {
        format!("{}/{url}", base.trim_end_matches('/'))
    };
    let inside = path.strip_prefix(&folder).unwrap_or(&path);
    below::name_below(store, &folder, inside).ok_or_else(|| {
        wrong(list, format!("the shard `{path}` is not below `{folder}`, where the list lies; give the paths of the shards"))
    })
}

fn wrong(name: &str, what: String) -> Error {
    Error::Format { shard: name.to_owned(), offset: 0, what }
}

impl Tars {
    /// Compares the rows that were found with what the lists say.
    pub(super) fn check(&self, source: &dyn Source) -> Result<()> {
        let rows = source.shard_rows();
        let differs = |(tar, count, _): &&(usize, u64, String)| rows.get(*tar) != Some(count);
        let Some((tar, count, list)) = self.counts.iter().find(differs) else { return Ok(()) };
        let found = rows.get(*tar).copied().unwrap_or(0);
        Err(wrong(
            &self.names[*tar],
            format!(
                "it has {found} rows, and `{list}` says {count}: the list was made for another shard; make it again"
            ),
        ))
    }
}
