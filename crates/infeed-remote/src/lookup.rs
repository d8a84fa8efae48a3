//! Looks objects up: by listings where many names have a folder in common, else one by one, many at a time.

use crate::{
    backend::{Backend, Cause, Failure, Meta},
    fetch::retrying,
    location::Location,
    runtime,
    store::{RemoteStore, shard_of},
};
use futures_util::{StreamExt, stream};
use infeed_core::{Hold, Result, Shard};
use std::{collections::HashMap, sync::Arc};

/// How many objects are looked up at a time.
const LOOKUPS: usize = 64;
/// From this many names in one folder on, the folder is listed instead: one request tells a thousand names. It is given up where
/// others are so many that looking the names up is cheaper.
const WORTH_LISTING: usize = 8;
const OTHERS: usize = 32;
/// Prefixes that are remembered as listed.
const REMEMBERED: usize = 64;

/// An object, or why it is not known and how often it was asked for.
pub(crate) type LookedUp = Result<Shard, (Failure, u32)>;

/// What a service says about an object, or why not and how often it was asked.
type Answer = Result<Meta, (Failure, u32)>;

/// What a name means that a whole listing did not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Absent {
    /// It is asked for by itself: it may have come since, and the answer says why it cannot be had.
    IsAsked,
    /// It is not there.
    IsKnown,
}

impl RemoteStore {
    /// Looks these names up, in as few requests as possible. The answers are in the order of the names.
    pub(crate) fn look_at(&self, names: &[String], absent: Absent) -> Result<Vec<LookedUp>> {
        let noted = |name: &String| {
            let objects = self.parts().objects.hold();
            let object = objects.get(name.as_str()).filter(|object| object.listed)?;
            Some((name.clone(), shard_of(object)))
        };
        let mut known: HashMap<String, Shard> = names.iter().filter_map(noted).collect();
        let open = |name: &&String, known: &HashMap<String, Shard>| {
            !known.contains_key(*name) && (absent == Absent::IsAsked || !self.is_listed(name))
        };
        let unknown: Vec<String> = names.iter().filter(|name| open(name, &known)).cloned().collect();
        known.extend(self.listed(&unknown));
        let mut asks = Vec::new();
        for (place, name) in names.iter().enumerate().filter(|(_, name)| open(name, &known)) {
            let at = Location::parse(name)?;
            asks.push((place, self.client(&at)?, at.key.to_owned()));
        }
        let missing = || Err((Failure::new(Cause::Missing, "it is in no listing"), 1));
        let mut found: Vec<LookedUp> =
            names.iter().map(|name| known.get(name).cloned().map_or_else(missing, Ok)).collect();
        for (place, meta) in self.look_up(asks)? {
            let at = Location::parse(&names[place])?;
            let client = self.client(&at)?;
            found[place] =
                meta.map(|meta| self.note(at.root, &client, Meta { key: at.key.to_owned(), ..meta }, false));
        }
        Ok(found)
    }

    /// Whether a listing has told all names like this one.
    fn is_listed(&self, name: &str) -> bool {
        self.parts().whole.hold().iter().any(|prefix| name.starts_with(prefix))
    }

    /// Lists the names of a prefix that are asked for; the others are looked up one by one.
    fn listed(&self, names: &[String]) -> HashMap<String, Shard> {
        let mut folders: HashMap<&str, Vec<&str>> = HashMap::new();
        for name in names {
            if let Some(slash) = name.rfind('/') {
                folders.entry(&name[..=slash]).or_default().push(name);
            }
        }
        let mut found = HashMap::new();
        for (_, names) in folders.into_iter().filter(|(_, names)| names.len() >= WORTH_LISTING) {
            let first = names[0];
            let same = |name: &&str| first.bytes().zip(name.bytes()).take_while(|(a, b)| a == b).count();
            let mut len = names.iter().map(same).min().unwrap_or(0);
            while !first.is_char_boundary(len) {
                len -= 1;
            }
            // What goes wrong here goes wrong again, and is reported, when the names are looked up.
            for shard in self.list_some(&first[..len], 2_000 + OTHERS * names.len()).unwrap_or_default() {
                found.insert(shard.name.to_string(), shard);
            }
        }
        found
    }

    /// Looks objects up, many at a time. The answers come in any order, each with its place.
    fn look_up(&self, asks: Vec<(usize, Arc<Backend>, String)>) -> Result<Vec<(usize, Answer)>> {
        if asks.is_empty() {
            return Ok(Vec::new());
        }
        let deadline = self.options.deadline;
        runtime::wait(async move {
            let ask = |(place, client, key): (usize, Arc<Backend>, String)| async move {
                (place, retrying(deadline, || client.head(&key)).await)
            };
            Ok(stream::iter(asks).map(ask).buffer_unordered(LOOKUPS).collect().await)
        })
    }

    /// Lists a prefix, or a part of it if more than `most` objects had to be looked at.
    pub(crate) fn list_some(&self, prefix: &str, most: usize) -> Result<Vec<Shard>> {
        let at = Location::parse(prefix)?;
        let client = self.client(&at)?;
        let (asked, key, deadline) = (Arc::clone(&client), at.key.to_owned(), self.options.deadline);
        let name = prefix.to_owned();
        let mut listing = runtime::wait(async move {
            let listed = retrying(deadline, || asked.list(&key, most)).await;
            listed.map_err(|(failure, tries)| failure.error("list", &name, tries))
        })?;
        listing.found.sort_unstable_by(|a, b| a.key.cmp(&b.key));
        let found = listing.found.into_iter().map(|meta| self.note(at.root, &client, meta, true)).collect();
        if listing.whole {
            let mut whole = self.parts().whole.hold();
            if whole.len() >= REMEMBERED {
                whole.clear();
            }
            whole.push(prefix.to_owned());
        }
        Ok(found)
    }
}
