// A list of one range is meant, not the numbers in it.
#![allow(clippy::single_range_in_vec_init)]

use super::*;
use infeed_core::{
    StoreExt,
    signals::{Announced, Signals},
};
use std::{fs, sync::atomic::Ordering::Relaxed};

fn folder() -> (tempfile::TempDir, String) {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().to_str().unwrap().to_owned();
    (dir, root)
}

#[test]
fn reads_ranges_in_order() {
    let (_dir, root) = folder();
    let name = format!("{root}/x");
    let bytes: Vec<u8> = (0..100_000u32).map(|i| (i * 7) as u8).collect();
    fs::write(&name, &bytes).unwrap();
    let store = LocalStore::new();
    let shard = store.stat_one(&name).unwrap();
    assert!(shard.modified.is_some());
    let got = store.read(&shard, &[90_000..100_000, 0..5, 7..7]).unwrap();
    assert_eq!(got[0], bytes[90_000..]);
    assert_eq!(got[1], bytes[..5]);
    assert!(got[2].is_empty());
    assert_eq!(store.read_all(&shard).unwrap(), bytes);
    assert!(store.read(&shard, &[]).unwrap().is_empty());
    assert!(store.read(&shard, &[1..100_001]).unwrap_err().to_string().contains("beyond its end"));
    store.will_read(&shard, &[0..10, 20..20]);
}

#[test]
fn a_shrinking_file_is_reported() {
    let (_dir, root) = folder();
    let name = format!("{root}/x");
    fs::write(&name, [1; 1000]).unwrap();
    let store = LocalStore::new();
    let shard = store.stat_one(&name).unwrap();
    store.read_one(&shard, 0..10).unwrap();
    fs::OpenOptions::new().write(true).open(&name).unwrap().set_len(500).unwrap();
    // Once through the file that is open already, once through a newly opened one.
    for range in [400..600, 0..1000] {
        let message = store.read_one(&shard, range).unwrap_err().to_string();
        assert!(message.contains("changed while it was being read"), "{message}");
        assert!(message.contains("had 1000 bytes and has 500 now"), "{message}");
        assert!(message.contains(&name), "{message}");
    }
}

#[test]
fn a_vanished_file_is_not_found() {
    let (_dir, root) = folder();
    let name = format!("{root}/gone.jpg");
    fs::write(&name, [1; 10]).unwrap();
    let store = LocalStore::new();
    let shard = store.stat_one(&name).unwrap();
    fs::remove_file(&name).unwrap();
    assert!(matches!(store.read_all(&shard), Err(Error::NotFound { path, .. }) if path == name));
    assert!(matches!(store.stat_one(&name), Err(Error::NotFound { .. })));
    assert!(store.stat_one(&root).unwrap_err().to_string().contains("it is a folder"));
}

#[test]
fn a_replaced_file_is_opened_anew() {
    let (_dir, root) = folder();
    let name = format!("{root}/x");
    fs::write(&name, b"old").unwrap();
    let store = LocalStore::new();
    let old = store.stat_one(&name).unwrap();
    assert_eq!(store.read_one(&old, 0..2).unwrap(), "ol");
    fs::write(format!("{root}/y"), b"fresh").unwrap();
    fs::rename(format!("{root}/y"), &name).unwrap();
    let new = store.stat_one(&name).unwrap();
    assert_eq!(store.read_one(&new, 0..2).unwrap(), "fr");
}

#[test]
fn the_table_of_open_files_is_bounded() {
    let (_dir, root) = folder();
    let store = LocalStore::new();
    for i in 0..300 {
        let name = format!("{root}/{i}");
        fs::write(&name, b"abc").unwrap();
        let shard = store.stat_one(&name).unwrap();
        assert_eq!(store.read_one(&shard, 1..2).unwrap(), "b");
        assert_eq!(store.read_all(&shard).unwrap(), "abc");
    }
    assert_eq!(store.handles.len(), 256);
}

#[test]
fn lists_by_prefix_and_walks_folders() {
    let (dir, root) = folder();
    for name in ["a/1", "a/b/2", "ab/3", "c"] {
        let path = dir.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, name).unwrap();
    }
    fs::create_dir(dir.path().join("empty")).unwrap();
    std::os::unix::fs::symlink(dir.path().join("a"), dir.path().join("a/loop")).unwrap();
    std::os::unix::fs::symlink(dir.path().join("ab"), dir.path().join("a/link")).unwrap();
    std::os::unix::fs::symlink("nowhere", dir.path().join("broken")).unwrap();
    let store = LocalStore::new();
    let short = |names: Vec<String>| -> Vec<String> {
        names.iter().map(|n| n.strip_prefix(&format!("{root}/")).unwrap().to_owned()).collect()
    };
    let listed = |prefix: &str| {
        short(store.list(&format!("{root}/{prefix}")).unwrap().iter().map(|s| s.name.to_string()).collect())
    };
    assert_eq!(listed("a"), ["a/1", "a/b/2", "a/link/3", "ab/3"]);
    assert_eq!(listed("a/"), ["a/1", "a/b/2", "a/link/3"]);
    assert_eq!(listed(""), ["a/1", "a/b/2", "a/link/3", "ab/3", "c"]);
    assert!(listed("zzz").is_empty());
    let walked = short(store.names(&root).unwrap());
    let all = ["a/", "a/1", "a/b/", "a/b/2", "a/link/", "a/link/3", "ab/", "ab/3", "broken", "c", "empty/"];
    assert_eq!(walked, all);
    assert!(matches!(store.names(&format!("{root}/none")), Err(Error::NotFound { .. })));
    assert!(store.names(&format!("{root}/c")).is_err());
}

#[test]
fn announcing_tells_what_was_in_memory() {
    let (_dir, root) = folder();
    let name = format!("{root}/x");
    fs::write(&name, vec![7; 1 << 20]).unwrap();
    let store = LocalStore::new();
    let shard = store.stat_one(&name).unwrap();
    let announced = Arc::new(Announced::default());
    let signals = Arc::new(Signals::counting(Arc::default(), Arc::clone(&announced)));
    let _entered = signals::enter(&signals);
    let counts = || (announced.here.swap(0, Relaxed), announced.away.swap(0, Relaxed));
    store.will_read(&shard, &[0..1000, 5000..5000, 200_000..300_000]);
    let (here, away) = counts();
    assert_eq!(here + away, 101_000);
    let file = File::open(&name).unwrap();
    if advise::in_memory(&file, 0).is_none() {
        // This file system does not tell: the time decides, and tests are no place for times.
        return;
    }
    assert_eq!(away, 0, "it was just written");
    // Written back, it can be taken out of memory; but not where memory is all there is. A fast device brings the range back before
    // it is asked for, so that both answers are right; none is lost.
    file.sync_all().unwrap();
    rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).unwrap();
    store.will_read(&shard, &[200_000..300_000]);
    let (here, away) = counts();
    assert!(matches!((here, away), (100_000, 0) | (0, 100_000)), "{here} here, {away} away");
    assert_eq!(store.read_one(&shard, 200_000..300_000).unwrap(), vec![7; 100_000]);
}

#[test]
fn announcing_what_is_gone_does_no_harm() {
    let (_dir, root) = folder();
    let name = format!("{root}/x");
    fs::write(&name, vec![1; 1 << 20]).unwrap();
    let store = LocalStore::new();
    let shard = store.stat_one(&name).unwrap();
    store.read_one(&shard, 0..10).unwrap();
    // The file is open already, then it is opened anew, then it is gone.
    fs::OpenOptions::new().write(true).open(&name).unwrap().set_len(500).unwrap();
    store.will_read(&shard, &[400..600, 800_000..900_000]);
    assert!(store.read_one(&shard, 800_000..900_000).is_err());
    store.will_read(&shard, &[800_000..900_000]);
    fs::remove_file(&name).unwrap();
    store.will_read(&shard, &[0..10]);
    assert!(store.read_one(&shard, 0..10).is_err());
    assert_eq!(store.network(&name), None);
}
