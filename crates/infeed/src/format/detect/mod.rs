//! Detects the format of a user's files.
//!
//! Every entry of the table reports how sure it is, from the name and the first bytes of a file, or from all names in a
//! folder. The surest wins. If two are equally sure, that is an error that names both.

use super::{
    entries,
    paths::{Places, is_side_file, places},
    strangers,
};
use crate::families;
use infeed_core::{
    Error, FileLook, FolderLook, FormatEntry, Found, Guess, Packing, Result, Store, StoreExt, Sure,
};
use std::collections::{BTreeMap, HashMap};

/// Bytes of a file that are read.
const LOOK: u64 = 4096;

/// The result of detection.
#[derive(Debug)]
pub struct Detected {
    /// Their format.
    pub entry: &'static FormatEntry,
    /// What the paths stand for.
    pub found: Vec<Found>,
    /// The names below a folder, if a folder was listed.
    pub listed: Option<Vec<String>>,
}

/// Detects the format of these paths. Of files with the same extension only the first is opened: a hundred thousand
/// tars are not read to learn that they are tars. Other files in a folder (a README, a licence) are ignored.
pub fn detect(store: &dyn Store, paths: &[String]) -> Result<Detected> {
    let mut found = Vec::new();
    for path in paths {
        found.extend(store.find(path)?);
    }
    match places(&found)? {
        Places::Files(names) => {
            let files: Vec<&str> = names.iter().map(String::as_str).collect();
            of_files(store, &files).map(|entry| Detected { entry, found, listed: None })
        }
        Places::Folder(folder) => {
            let names = store.names(&folder)?;
            let is_data = |name: &&str| !name.ends_with('/') && !is_side_file(name);
            let files: Vec<&str> = names.iter().map(String::as_str).filter(is_data).collect();
            let entry = in_folder(store, &folder, &files)?;
            Ok(Detected { entry, found, listed: Some(names) })
        }
    }
}

/// Detects the format of a folder.
fn in_folder(store: &dyn Store, folder: &str, files: &[&str]) -> Result<&'static FormatEntry> {
    let look = FolderLook { folder, files, store };
    let mut guesses = Vec::new();
    for entry in entries() {
        let guess = match entry.recognise_folder {
            Some(recognise) => recognise(&look)?,
            None => {
                let count = files.iter().filter(|name| entry.has_ending(Packing::bare(name))).count();
                (count > 0).then(|| Guess { count, ..Guess::new(Sure::Name) })
            }
        };
        guesses.extend(guess.map(|guess| (guess, entry)));
    }
    surest(folder, guesses)?.ok_or_else(|| unknown(Some(folder), files))
}

/// Detects the format of files that were named one by one.
fn of_files(store: &dyn Store, files: &[&str]) -> Result<&'static FormatEntry> {
    let mut by_ending: HashMap<&str, &'static FormatEntry> = HashMap::new();
    let mut found: Option<&'static FormatEntry> = None;
    for name in files {
        let ending = ending(Packing::bare(name));
        let entry = match by_ending.get(ending) {
            Some(entry) => *entry,
            None => {
                let entry = of_file(store, name, files.len() == 1)?.ok_or_else(|| unknown(None, files))?;
                if !ending.is_empty() && entry.has_ending(Packing::bare(name)) {
                    by_ending.insert(ending, entry);
                }
                entry
            }
        };
        match found {
            Some(before) if before.name != entry.name => {
                return Err(Error::argument(format!(
                    "the files are of different formats: `{}` is {}, `{name}` is {}; open them one by one",
                    files[0], before.name, entry.name
                )));
            }
            _ => found = Some(entry),
        }
    }
    found.ok_or_else(|| unknown(None, files))
}

/// Detects the format of one file.
fn of_file(store: &dyn Store, name: &str, alone: bool) -> Result<Option<&'static FormatEntry>> {
    let shard = store.stat_one(name)?;
    let head = match Packing::of_name(name) {
        Some(_) => infeed_core::Bytes::new(),
        None => store.read_one(&shard, 0..shard.size.min(LOOK))?,
    };
    let look = FileLook { name: Packing::bare(name), head: &head, size: shard.size, alone };
    let guesses: Vec<(Guess, &FormatEntry)> =
        entries().filter_map(|entry| Some((entry.look(&look)?, entry))).collect();
    let best = guesses.iter().map(|(guess, _)| guess.sure).max();
    // A web page that was saved under the name of a tar is a web page.
    if let Some((sure, stranger)) = strangers::of_file(&look)
        && best.is_none_or(|best| sure > best)
    {
        return Err(stranger.refuse(name));
    }
    surest(name, guesses)
}

/// Returns the entry that is surer than all others.
fn surest(
    what: &str,
    mut guesses: Vec<(Guess, &'static FormatEntry)>,
) -> Result<Option<&'static FormatEntry>> {
    let rank = |guess: &Guess| (guess.sure, guess.count);
    guesses.sort_by_key(|(guess, _)| std::cmp::Reverse(rank(guess)));
    match guesses.as_slice() {
        [(one, a), (other, b), ..] if rank(one) == rank(other) => Err(Error::argument(format!(
            "`{what}` could be {a} ({}) or {b} ({}): say which with infeed.{a}(...) or \
             infeed.{b}(...)",
            a.about,
            b.about,
            a = a.name,
            b = b.name
        ))),
        [(_, entry), ..] => Ok(Some(entry)),
        [] => Ok(None),
    }
}

/// Returns the extension of a name with its dot; empty if there is none.
fn ending(name: &str) -> &str {
    let base = name.rsplit('/').next().unwrap_or(name);
    base.rfind('.').filter(|dot| *dot > 0).map_or("", |dot| &base[dot..])
}

/// The error for an unknown format: what was found, what is known, and what can be done.
fn unknown(folder: Option<&str>, files: &[&str]) -> Error {
    if let Some(error) = files.iter().find_map(|name| families::missing_format_of(Packing::bare(name))) {
        return error;
    }
    let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
    for name in files {
        let name = infeed_core::opening::without_query(name);
        let base = name.rsplit('/').next().unwrap_or(name);
        let kind = base.rsplit_once('.').map_or("without extension".to_owned(), |(_, e)| format!(".{e}"));
        *kinds.entry(kind.to_lowercase()).or_default() += 1;
    }
    let mut kinds: Vec<(usize, String)> = kinds.into_iter().map(|(kind, count)| (count, kind)).collect();
    kinds.sort_by(|a, b| b.cmp(a));
    let seen: Vec<String> = kinds.iter().take(5).map(|(count, kind)| format!("{count} {kind}")).collect();
    let place = folder.map(|f| format!(" in the folder `{f}`")).unwrap_or_default();
    let first = files.first().map(|f| format!("; the first is `{f}`")).unwrap_or_default();
    let seen = if seen.is_empty() { "no files".to_owned() } else { seen.join(", ") };
    let packed: Vec<&str> = Packing::ALL.iter().filter_map(|p| p.endings().first().copied()).collect();
    let known: Vec<String> = entries()
        .map(|entry| match entry.endings {
            [] => entry.name.to_owned(),
            endings => format!("{} ({})", entry.name, endings.join(" ")),
        })
        .collect();
    Error::argument(format!(
        "cannot tell the format of the data{place} ({seen}{first}). Known: {}; those that can be streamed also compressed \
         ({}). {}",
        known.join(", "),
        packed.join(" "),
        strangers::CURE
    ))
}

#[cfg(test)]
mod tests;
