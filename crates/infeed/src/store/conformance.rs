//! The conformance suite of stores: [`check`] lists all faults of a store.

use infeed_core::{Error, Found, Shard, Store, StoreExt, forward};
use std::{
    io::Read,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

/// Writes the bytes of an object under its name.
pub type PutObject = Box<dyn Fn(&str, &[u8])>;

/// A store that the suite can write to.
pub struct StoreCase {
    /// The store.
    pub store: Arc<dyn Store>,
    /// The prefix of all names: a folder of its own, ending in `/`.
    pub root: String,
    /// Writes an object, replacing one of the same name.
    pub put: PutObject,
    /// The number of objects in the largest listing.
    pub many: usize,
    /// Whether it has listings at all: web servers have none.
    pub lists: bool,
}

impl std::fmt::Debug for StoreCase {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StoreCase").field("root", &self.root).finish_non_exhaustive()
    }
}

/// One check. The error says what is wrong.
type Check = fn(&StoreCase) -> Result<(), String>;

/// Checks one store: list, stat, ranges at every boundary, objects that data names, missing, empty and changed objects, many names, many
/// threads, and that streams and maps return the same bytes as ranges.
pub fn check(what: &str, case: &StoreCase) -> Vec<String> {
    let mut faults = Vec::new();
    let checks: [(&str, Check); 10] = [
        ("list and stat", list_and_stat),
        ("ranges", ranges),
        ("streams and maps", streams_and_maps),
        ("objects below a folder", objects_below),
        ("missing", missing),
        ("empty", empty),
        ("changed", changed),
        ("find", find),
        ("threads", threads),
        ("many names", many),
    ];
    let listing = ["list and stat", "find", "many names"];
    for (name, check) in checks.into_iter().filter(|(name, _)| case.lists || !listing.contains(name)) {
        match catch_unwind(AssertUnwindSafe(|| check(case))) {
            Ok(Ok(())) => {}
            Ok(Err(fault)) => faults.push(format!("{what}: {name}: {fault}")),
            Err(_) => faults.push(format!("{what}: {name}: it panicked")),
        }
    }
    faults
}

fn said(error: Error) -> String {
    error.to_string()
}

fn require(holds: bool, what: impl Into<String>) -> Result<(), String> {
    if holds { Ok(()) } else { Err(what.into()) }
}

fn bytes(len: usize, salt: u64) -> Vec<u8> {
    (0..len as u64).map(|i| (i.wrapping_mul(0x9e37_79b9).wrapping_add(salt) >> 7) as u8).collect()
}

fn put(case: &StoreCase, name: &str, len: usize) -> Result<(Shard, Vec<u8>), String> {
    let (name, bytes) = (format!("{}{name}", case.root), bytes(len, len as u64));
    (case.put)(&name, &bytes);
    let shard = case.store.stat_one(&name).map_err(said)?;
    require(*shard.name == *name, format!("the name came back as `{}`", shard.name))?;
    require(shard.size == len as u64, format!("{} bytes came back as {}", len, shard.size))?;
    Ok((shard, bytes))
}

fn list_and_stat(case: &StoreCase) -> Result<(), String> {
    for name in ["l/b", "l/a", "l/sub/c", "l/a.txt", "lx"] {
        put(case, name, 3)?;
    }
    let listed = |prefix: &str| -> Result<Vec<String>, String> {
        let found = case.store.list(&format!("{}{prefix}", case.root)).map_err(said)?;
        Ok(found.iter().map(|s| s.name.strip_prefix(&case.root).unwrap_or(&s.name).to_owned()).collect())
    };
    require(
        listed("l/")? == ["l/a", "l/a.txt", "l/b", "l/sub/c"],
        format!("`l/` lists {:?}", listed("l/")?),
    )?;
    require(listed("l/a")? == ["l/a", "l/a.txt"], format!("`l/a` lists {:?}", listed("l/a")?))?;
    let names: Vec<String> = ["l/b", "l/a", "l/b"].map(|name| format!("{}{name}", case.root)).to_vec();
    let stat = case.store.stat(&names).map_err(said)?;
    require(stat.iter().map(|s| &*s.name).eq(names.iter().map(|n| &**n)), "stat changes the order of names")?;
    require(case.store.stat(&[]).map_err(said)?.is_empty(), "stat of no names returned objects")?;
    let files = case.store.names(&format!("{}l", case.root)).map_err(said)?;
    let files: Vec<&String> = files.iter().filter(|name| !name.ends_with('/')).collect();
    require(files.len() == 4 && files.is_sorted(), format!("names below a folder: {files:?}"))
}

fn ranges(case: &StoreCase) -> Result<(), String> {
    let (shard, all) = put(case, "ranges", 10_000)?;
    let edges = [0u64, 1, 511, 512, 4095, 4096, 4097, 9_999, 10_000];
    let mut asked = Vec::new();
    for (at, start) in edges.iter().enumerate() {
        asked.extend(edges[at..].iter().map(|end| *start..*end));
    }
    asked.reverse();
    let read = case.store.read(&shard, &asked).map_err(said)?;
    require(read.len() == asked.len(), format!("{} ranges gave {} pieces", asked.len(), read.len()))?;
    for (range, bytes) in asked.iter().zip(&read) {
        let right = bytes[..] == all[range.start as usize..range.end as usize];
        require(right, format!("bytes {range:?} are wrong"))?;
        let mut out = vec![7; bytes.len()];
        case.store.read_into(&shard, range.start, &mut out).map_err(said)?;
        require(out == bytes[..], format!("bytes {range:?} read into memory are wrong"))?;
    }
    let into = case.store.read_into(&shard, 9_999, &mut [0; 2]);
    require(into.is_err(), "bytes beyond the end were read into memory")?;
    require(case.store.read(&shard, &[]).map_err(said)?.is_empty(), "a read of no ranges returned bytes")?;
    for beyond in [0..10_001, 10_000..10_001, 20_000..20_001, 0..u64::MAX, u64::MAX - 1..u64::MAX] {
        let read = case.store.read(&shard, std::slice::from_ref(&beyond));
        let error = read.err().ok_or(format!("the range {beyond:?} beyond the end was read"))?;
        require(
            error.to_string().contains("ranges"),
            format!("the error does not name the object: {error}"),
        )?;
    }
    case.store.will_read(&shard, &[0..1, 0..u64::MAX, 5..5]);
    Ok(())
}

fn objects_below(case: &StoreCase) -> Result<(), String> {
    let (_, one) = put(case, "below/1", 5_000)?;
    let (_, other) = put(case, "below/deep/2", 0)?;
    let names: Vec<String> = ["deep/2", "1", "1"].map(|name| format!("{}below/{name}", case.root)).to_vec();
    let folders = [format!("{}below/", case.root)];
    let read = case.store.read_below(&names, &folders, 5_000).map_err(said)?;
    require(
        read == [&other, &one, &one],
        "objects below a folder came with other bytes or in another order",
    )?;
    let error =
        case.store.read_below(&names, &folders, 4_999).err().ok_or("an object above the limit was read")?;
    require(error.to_string().contains("below/1"), format!("the error does not name the object: {error}"))?;
    let lost = [format!("{}below/lost", case.root)];
    let error = case.store.read_below(&lost, &folders, 1).err().ok_or("a missing object was read")?;
    require(matches!(error, Error::NotFound { .. }), format!("a missing object is another error: {error}"))?;
    require(case.store.read_below(&[], &folders, 1).map_err(said)?.is_empty(), "no names returned objects")
}

fn streams_and_maps(case: &StoreCase) -> Result<(), String> {
    let (shard, all) = put(case, "stream", (3 << 20) + 17)?;
    for from in [0, 1, 1 << 20, all.len() as u64 - 1, all.len() as u64] {
        let mut read = Vec::new();
        let mut stream = forward(&case.store, &shard, from).map_err(said)?;
        stream.read_to_end(&mut read).map_err(|e| e.to_string())?;
        require(read == all[from as usize..], format!("the stream from {from} differs from ranges"))?;
    }
    require(forward(&case.store, &shard, all.len() as u64 + 1).is_err(), "a stream starts beyond the end")?;
    if let Some(map) = case.store.map(&shard).map_err(said)? {
        require(map[..] == all, "the map differs from ranges")?;
    }
    Ok(())
}

fn missing(case: &StoreCase) -> Result<(), String> {
    let name = format!("{}no-such-object", case.root);
    let gone = Shard { name: name.as_str().into(), size: 3, modified: None, version: None };
    let is_missing = |error: Option<Error>, what: &str| match error {
        Some(Error::NotFound { path, .. }) if path.contains("no-such-object") => Ok(()),
        Some(other) => Err(format!("{what}: another error: {other}")),
        None => Err(format!("{what}: it was found")),
    };
    is_missing(case.store.stat(std::slice::from_ref(&name)).err(), "stat")?;
    let (there, _) = put(case, "there", 3)?;
    let names = [name.clone(), there.name.to_string(), name.clone()];
    let probed = case.store.probe(&names).map_err(said)?;
    require(probed == [None, Some(there), None], format!("a probe found {probed:?}"))?;
    is_missing(case.store.read(&gone, std::slice::from_ref(&(0..3))).err(), "read")?;
    is_missing(case.store.find(&name).err(), "find")?;
    is_missing(case.store.map(&gone).err().or_else(|| case.store.read_all(&gone).err()), "map")
}

fn empty(case: &StoreCase) -> Result<(), String> {
    let (shard, _) = put(case, "empty", 0)?;
    require(case.store.read_all(&shard).map_err(said)?.is_empty(), "an empty object has bytes")?;
    if let Some(map) = case.store.map(&shard).map_err(said)? {
        require(map.is_empty(), "the map of an empty object has bytes")?;
    }
    let mut read = Vec::new();
    let mut stream = forward(&case.store, &shard, 0).map_err(said)?;
    stream.read_to_end(&mut read).map_err(|e| e.to_string())?;
    require(read.is_empty(), "the stream of an empty object has bytes")
}

fn changed(case: &StoreCase) -> Result<(), String> {
    let (shard, _) = put(case, "changed", 5_000)?;
    put(case, "changed", 4_000)?;
    let fails = |what: &str, error: Option<Error>| match error {
        Some(error) if error.to_string().contains("changed") => Ok(()),
        Some(error) => Err(format!("{what}: the error does not say that it changed: {error}")),
        None => Err(format!("{what}: bytes of another object were returned")),
    };
    fails("shorter", case.store.read(&shard, &[0..100, 4_500..5_000]).err())?;
    let (shard, _) = put(case, "changed", 4_000)?;
    put(case, "changed", 6_000)?;
    fails("longer", case.store.read(&shard, std::slice::from_ref(&(0..4_000))).err())
}

fn find(case: &StoreCase) -> Result<(), String> {
    for name in ["f/t-0.tar", "f/t-1.tar", "f/deep/t-2.tar", "f/x.txt"] {
        put(case, name, 1)?;
    }
    let found = |path: &str| case.store.find(&format!("{}{path}", case.root)).map_err(said);
    let file = |name: &str| Found::File(format!("{}{name}", case.root));
    require(found("f/x.txt")? == [file("f/x.txt")], "an object is not found by its name")?;
    require(found("f/t-*.tar")? == [file("f/t-0.tar"), file("f/t-1.tar")], "a star")?;
    require(found("f/t-{1..0}.tar")? == [file("f/t-1.tar"), file("f/t-0.tar")], "braces")?;
    require(found("f/**/t-2.tar")? == [file("f/deep/t-2.tar")], "two stars")?;
    require(found("f")? == [Found::Folder(format!("{}f", case.root))], "a folder")?;
    require(found("f/*.jpg").is_err(), "a pattern that matches nothing")
}

fn threads(case: &StoreCase) -> Result<(), String> {
    let (shard, all) = put(case, "threads", 1 << 20)?;
    std::thread::scope(|scope| {
        let work = |thread: u64| {
            let (store, shard, all) = (&case.store, &shard, &all);
            move || -> Result<(), String> {
                for step in 0..200u64 {
                    let start = (thread * 7919 + step * 104_729) % (1 << 20);
                    let end = (start + 1 + step * 37).min(1 << 20);
                    let read = store.read_one(shard, start..end).map_err(said)?;
                    require(read[..] == all[start as usize..end as usize], format!("bytes {start}..{end}"))?;
                }
                Ok(())
            }
        };
        let started: Vec<_> = (0..8).map(|thread| scope.spawn(work(thread))).collect();
        let broke = |_| Err("a thread panicked".to_owned());
        started.into_iter().try_for_each(|thread| thread.join().unwrap_or_else(broke))
    })
}

fn many(case: &StoreCase) -> Result<(), String> {
    let folder = format!("{}many/", case.root);
    for at in 0..case.many {
        (case.put)(&format!("{folder}{at:06}"), b"");
    }
    let listed = case.store.list(&folder).map_err(said)?;
    require(listed.len() == case.many, format!("{} of {} objects are listed", listed.len(), case.many))?;
    require(listed.is_sorted_by(|a, b| a.name < b.name), "the list is not sorted")?;
    let names: Vec<String> = listed.iter().map(|shard| shard.name.to_string()).collect();
    require(case.store.stat(&names).map_err(said)? == listed, "stat and list do not agree")?;
    require(case.store.names(&folder).map_err(said)? == names, "names and list do not agree")
}
