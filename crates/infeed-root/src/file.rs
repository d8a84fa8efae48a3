//! The head of a file, and its directories.

use crate::{
    bytes::FileBytes,
    cursor::Cursor,
    error::{Error, Result},
    key::Key,
    ntuple::Ntuple,
    table::Table,
    tree::Tree,
};
use std::collections::{HashMap, HashSet};

/// Files of this version on have places of 8 bytes.
const LARGE_FILE: u32 = 1_000_000;
/// Directories of this version on.
const LARGE_DIRECTORY: u16 = 1000;
/// Directories inside of directories.
const DEEPEST: usize = 64;
/// Bytes that are read at first: head and top directory.
const FRONT: u64 = 1024;

/// A tree or an n-tuple of a file.
#[derive(Debug, Clone)]
pub struct Found {
    /// The names of its directories and its own, with `/` between.
    pub path: String,
    /// Its class.
    pub class: String,
    /// How often it was written.
    pub cycle: u16,
    key: Key,
}

impl Found {
    /// Whether it is a `TTree`, or what is derived from one.
    pub fn is_tree(&self) -> bool {
        matches!(self.class.as_str(), "TTree" | "TNtuple" | "TNtupleD")
    }

    /// Whether it is an `RNTuple`.
    pub fn is_ntuple(&self) -> bool {
        matches!(self.class.as_str(), "ROOT::RNTuple" | "ROOT::Experimental::RNTuple")
    }
}

/// Whether these first bytes are those of a ROOT file.
pub fn is_root(front: &[u8]) -> bool {
    front.starts_with(b"root")
}

/// What a file holds.
#[derive(Debug)]
pub struct Contents {
    found: Vec<Found>,
}

impl Contents {
    /// Reads the head and all directories of a file.
    pub fn read(file: &dyn FileBytes) -> Result<Contents> {
        let front = file.read_one(0..file.size().min(FRONT))?;
        if !is_root(&front) {
            return Err(Error::damaged(0, "not a ROOT file: it does not begin with `root`"));
        }
        let mut cursor = Cursor::new(&front, 0);
        cursor.take(4)?;
        let version = cursor.u32()?;
        let wide = version >= LARGE_FILE;
        let begin = u64::from(cursor.u32()?);
        let end = cursor.seek(wide)?;
        if end > file.size() {
            let what = format!(
                "the file should have {end} bytes and has {}: it is cut short, or was not closed; copy or write it again",
                file.size()
            );
            return Err(Error::damaged(file.size(), what));
        }
        cursor.seek(wide)?;
        cursor.u32()?;
        cursor.u32()?;
        let names = u64::from(cursor.u32()?);
        let mut walk = Walk { file, found: Vec::new(), seen: HashSet::new() };
        walk.directory(begin.saturating_add(names), "", 0)?;
        Ok(Contents { found: walk.found })
    }

    /// The trees and n-tuples, each with its last cycle alone.
    pub fn trees(&self) -> Vec<&Found> {
        let mut last: Vec<&Found> = Vec::new();
        let mut places: HashMap<&str, usize> = HashMap::new();
        for found in &self.found {
            let place = *places.entry(&found.path).or_insert(last.len());
            match last.get_mut(place) {
                Some(other) if other.cycle < found.cycle => *other = found,
                Some(_) => {}
                None => last.push(found),
            }
        }
        last
    }

    /// The tree of a name, or the only one.
    pub fn choose(&self, file: &dyn FileBytes, wanted: Option<&str>) -> Result<&Found> {
        let all = self.trees();
        let Some(wanted) = wanted else {
            return match all.as_slice() {
                [only] => Ok(only),
                [] => Err(Error::Request("there is no tree in the file".to_owned())),
                _ => {
                    let what = format!("there are {} trees in the file; say which with tree=", all.len());
                    Err(Error::Request(format!("{what} ({})", listed(file, &all))))
                }
            };
        };
        let (path, cycle) = match wanted.rsplit_once(';') {
            Some((path, cycle)) => match cycle.parse::<u16>() {
                Ok(cycle) => (path, Some(cycle)),
                Err(_) => return Err(Error::Request(format!("tree=\"{wanted}\": `{cycle}` is no cycle"))),
            },
            None => (wanted, None),
        };
        let path = path.trim_matches('/');
        let found = match cycle {
            None => all.iter().copied().find(|found| found.path == path),
            Some(_) => self.found.iter().find(|found| found.path == path && Some(found.cycle) == cycle),
        };
        found.ok_or_else(|| {
            let has = if all.is_empty() { "none".to_owned() } else { listed(file, &all) };
            Error::Request(format!("there is no tree `{wanted}` in the file (there are: {has})"))
        })
    }

    /// Reads a tree or an n-tuple.
    pub fn tree(&self, file: &dyn FileBytes, found: &Found) -> Result<Table> {
        let object = found.key.object(file)?;
        if found.is_ntuple() {
            return Ntuple::read(&found.path, file, &object, found.key.seek);
        }
        Tree::read(&found.path, &found.class, &object, found.key.head, found.key.seek)
    }
}

/// Trees with their entries, for messages.
fn listed(file: &dyn FileBytes, all: &[&Found]) -> String {
    const SHOWN: usize = 20;
    let one = |found: &&&Found| {
        let contents = Contents { found: Vec::new() };
        match contents.tree(file, found) {
            Ok(tree) => format!("`{}` with {} entries", found.path, tree.entries),
            Err(_) => format!("`{}`, which cannot be read", found.path),
        }
    };
    let mut text = all.iter().take(SHOWN).map(|found| one(&found)).collect::<Vec<_>>().join(", ");
    if all.len() > SHOWN {
        text += &format!(" and {} more", all.len() - SHOWN);
    }
    text
}

/// Goes through directories.
struct Walk<'a> {
    file: &'a dyn FileBytes,
    found: Vec<Found>,
    /// Places of directories, so that a circle is no endless way.
    seen: HashSet<u64>,
}

impl Walk<'_> {
    fn directory(&mut self, at: u64, path: &str, depth: usize) -> Result<()> {
        if depth > DEEPEST || !self.seen.insert(at) {
            return Err(Error::damaged(at, format!("the directory `{path}` is inside of itself")));
        }
        let end = at.saturating_add(60).min(self.file.size());
        let record = self.file.read_one(at.min(end)..end)?;
        let mut cursor = Cursor::new(&record, at);
        let wide = cursor.u16()? > LARGE_DIRECTORY;
        cursor.u64()?;
        let bytes = u64::from(cursor.u32()?);
        cursor.u32()?;
        cursor.seek(wide)?;
        cursor.seek(wide)?;
        let seek = cursor.seek(wide)?;
        if seek == 0 {
            return Ok(());
        }
        let list = self.file.read_one(seek..seek.saturating_add(bytes))?;
        let mut cursor = Cursor::new(&list, seek);
        let own = Key::read(&mut cursor)?;
        cursor.go(own.head)?;
        let count = cursor.count("keys")?;
        for _ in 0..count {
            let key = Key::read(&mut cursor)?;
            let path = if path.is_empty() { key.name.clone() } else { format!("{path}/{}", key.name) };
            if matches!(key.class.as_str(), "TDirectory" | "TDirectoryFile") {
                self.directory(key.seek.saturating_add(key.head as u64), &path, depth + 1)?;
                continue;
            }
            let found = Found { path, class: key.class.clone(), cycle: key.cycle, key };
            if found.is_tree() || found.is_ntuple() {
                self.found.push(found);
            }
        }
        Ok(())
    }
}
