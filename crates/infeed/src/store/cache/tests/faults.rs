//! Damage, full and read-only disks, objects that change, stores that fail.

use super::*;
use crate::store::{FaultRates, Faults, FaultyStore};
use std::{fs, os::unix::fs::FileExt, process::Command};

/// The files of all chunks, in order.
fn chunks(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    object::for_each_chunk(&folder.join(object::ROOT), |_, path| found.push(path.to_owned()));
    found.sort();
    found
}

/// A file system of its own, if this user may mount one.
struct Mounted(tempfile::TempDir);

impl Mounted {
    fn new(options: &str) -> Option<Mounted> {
        let folder = tempfile::tempdir().unwrap();
        let mount =
            Command::new("mount").args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(folder.path()).output();
        if !mount.is_ok_and(|output| output.status.success()) {
            println!("skipped: no right to mount");
            return None;
        }
        Some(Mounted(folder))
    }

    fn again(&self, options: &str) {
        let mount = Command::new("mount").args(["-o", options]).arg(self.0.path()).status().unwrap();
        assert!(mount.success());
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0.path()).status();
    }
}

#[test]
fn damaged_chunks_are_fetched_again() {
    let (inner, shard, bytes) = one_object(5000);
    let folder = tempfile::tempdir().unwrap();
    open(&inner, folder.path(), 1000, 1 << 20).read_all(&shard).unwrap();
    let files = chunks(folder.path());
    fs::File::options().write(true).open(&files[0]).unwrap().write_all_at(&[1, 2, 3], 500).unwrap();
    fs::File::options().write(true).open(&files[1]).unwrap().set_len(700).unwrap();
    fs::write(&files[2], b"").unwrap();
    fs::copy(&files[4], &files[3]).unwrap();
    let found = tools::verify(folder.path(), false).unwrap();
    let named: Vec<(&str, u32)> = found.damaged.iter().map(|chunk| (&*chunk.name, chunk.chunk)).collect();
    assert_eq!(named, [("a", 0), ("a", 1), ("a", 2), ("a", 3)]);
    assert!(!found.is_sound() && found.chunks == 1);
    inner.take();
    let cache = open(&inner, folder.path(), 1000, 1 << 20);
    assert_eq!(cache.read_all(&shard).unwrap(), bytes);
    assert_eq!(cache.stats().damaged, 4);
    assert_eq!(inner.take(), vec![0..4000]);
    assert!(tools::verify(folder.path(), false).unwrap().is_sound());
    assert_eq!(cache.used(), on_disk(folder.path()));
    // A file that is cut short while it is in use, and was checked before.
    fs::File::options().write(true).open(&files[1]).unwrap().set_len(10).unwrap();
    assert_eq!(cache.read_all(&shard).unwrap(), bytes);
    assert_eq!(cache.stats().damaged, 5);
}

#[test]
fn repair_removes_what_is_damaged_or_left() {
    let (inner, shard, bytes) = one_object(5000);
    let folder = tempfile::tempdir().unwrap();
    open(&inner, folder.path(), 1000, 1 << 20).read_all(&shard).unwrap();
    let files = chunks(folder.path());
    fs::write(&files[2], b"x").unwrap();
    fs::write(files[2].with_extension("part"), b"half").unwrap();
    let found = tools::verify(folder.path(), true).unwrap();
    assert_eq!((found.damaged.len(), found.left), (1, 1));
    assert_eq!(found.counted, Some(found.bytes));
    assert!(!files[2].exists() && !files[2].with_extension("part").exists());
    assert_eq!(open(&inner, folder.path(), 1000, 1 << 20).read_all(&shard).unwrap(), bytes);
    // Without what says which object it is, chunks are not used.
    fs::remove_file(files[0].with_file_name("about")).unwrap();
    assert_eq!(tools::verify(folder.path(), true).unwrap().damaged.len(), 5);
    assert_eq!(open(&inner, folder.path(), 1000, 1 << 20).read_all(&shard).unwrap(), bytes);
}

#[test]
fn what_a_killed_process_left_is_cleared_away() {
    let (inner, shard, bytes) = one_object(5000);
    let folder = tempfile::tempdir().unwrap();
    open(&inner, folder.path(), 1000, 1 << 20).read_all(&shard).unwrap();
    let files = chunks(folder.path());
    // As if it had been killed while it wrote the third chunk, and before it said that the fourth is there.
    let root = folder.path().join(object::ROOT);
    let object = Object::new(&root, &shard, 1000).unwrap();
    fs::remove_file(&files[2]).unwrap();
    fs::write(object.part(2), b"half").unwrap();
    let mut index = Index::open(&root, 1 << 20, false).unwrap();
    let wish = |chunk| index::Wish { id: (object.key, chunk), bytes: file::file_bytes(1000, 1000) };
    index.reserve(wish(2), None).unwrap();
    index.reserve(wish(3), None).unwrap();
    drop(index);
    // In the midst of others, it makes room when room is needed.
    let mut other = Index::open(&root, 5 * file::file_bytes(1000, 1000) + 10, false).unwrap();
    let room = other.reserve(wish(7), None).unwrap();
    assert_eq!((room, object.part(2).exists()), (Some(vec![]), false));
    other.settle(&[(wish(7), false)]).unwrap();
    assert_eq!(other.policy().used(), on_disk(folder.path()));
    // The first one to come counts again.
    other.reserve(wish(8), None).unwrap();
    fs::write(object.part(2), b"half").unwrap();
    let cache = open(&inner, folder.path(), 1000, 1 << 20);
    assert_eq!((cache.used(), object.part(2).exists()), (on_disk(folder.path()), false));
    assert_eq!(cache.read_all(&shard).unwrap(), bytes);
}

#[test]
fn a_replaced_object_is_another() {
    let memory = MemoryStore::new();
    let folder = tempfile::tempdir().unwrap();
    let inner = Watched::new(memory.clone());
    let cache = open(&inner, folder.path(), 100, 1 << 20);
    for round in 0..4 {
        let bytes = made(1000, round);
        memory.put("a", bytes.clone());
        let shard = cache.stat_one("a").unwrap();
        assert_eq!(cache.read(&shard, &[0..10, 350..420]).unwrap(), [&bytes[0..10], &bytes[350..420]]);
        // Some of it is in the cache and some is not: never bytes of both.
        memory.put("a", made(1000, 100 + round));
        assert_eq!(cache.read_one(&shard, 0..100).unwrap(), bytes[..100]);
        let error = cache.read_one(&shard, 0..1000).unwrap_err();
        assert!(matches!(error, Error::Changed { .. }), "{error}");
    }
}

#[test]
fn a_store_that_fails_is_asked_again() {
    let bytes = made(300_000, 9);
    let memory = MemoryStore::new();
    memory.put("a", bytes.clone());
    let shard = memory.stat_one("a").unwrap();
    let rates = FaultRates { seed: 3, errors: 0.2, short: 0.2, ..FaultRates::default() };
    let faults = Faults::new(rates);
    faults.arm(true);
    let folder = tempfile::tempdir().unwrap();
    let options = CacheOptions::new(folder.path()).chunk(1000).limit(200_000);
    let cache =
        CacheStore::open(Arc::new(FaultyStore::new(Arc::new(memory), Arc::clone(&faults))), options).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4u64 {
            let (cache, shard, bytes) = (&cache, &shard, &bytes);
            scope.spawn(move || {
                let mut rng = Rng::at(1, thread, 0, 0);
                for _ in 0..300 {
                    let start = rng.below(299_000);
                    let range = start..start + 1 + rng.below(900);
                    cache.will_read(shard, &[start..start + 3000]);
                    let read = crate::store::retry(|| cache.read_one(shard, range.clone())).unwrap();
                    assert_eq!(read, bytes[range.start as usize..range.end as usize]);
                }
            });
        }
    });
    assert!(faults.counts()[..2].iter().all(|count| *count > 10));
    drop(cache);
    let verified = tools::verify(folder.path(), false).unwrap();
    assert!(verified.is_sound() && verified.chunks > 100, "{verified:?}");
}

#[test]
fn a_full_disk_turns_writing_off() {
    let Some(disk) = Mounted::new("size=400k") else { return };
    let (inner, shard, bytes) = one_object(1_000_000);
    let cache = open(&inner, disk.0.path(), 50_000, 1 << 30);
    for _ in 0..2 {
        for start in (0..1_000_000).step_by(10_000) {
            let range = start as u64..start as u64 + 10_000;
            cache.will_read(&shard, &[range.end..range.end + 100_000]);
            assert_eq!(cache.read_one(&shard, range).unwrap(), bytes[start..start + 10_000]);
        }
    }
    let warning = cache.warning().unwrap();
    assert!(warning.contains("space") && warning.contains("come from the store"), "{warning}");
    assert!(cache.stats().cache_bytes > 0, "{:?}", cache.stats());
    drop(cache);
    assert!(tools::verify(disk.0.path(), false).unwrap().is_sound());
    // A limit that fits is kept to, and what fits is there.
    let cache = open(&inner, disk.0.path(), 50_000, 300_000);
    assert_eq!(cache.read_all(&shard).unwrap(), bytes);
    assert_eq!(cache.warning(), None);
}

#[test]
fn a_read_only_disk_is_read() {
    let Some(disk) = Mounted::new("size=4m") else { return };
    let (inner, shard, bytes) = one_object(100_000);
    open(&inner, disk.0.path(), 10_000, 1 << 30).read_one(&shard, 0..50_000).unwrap();
    inner.take();
    disk.again("remount,ro");
    let options = CacheOptions::new(disk.0.path()).chunk(10_000);
    let cache = CacheStore::open(Arc::clone(&inner) as _, options).unwrap();
    assert!(cache.warning().unwrap().contains("Read-only"), "{:?}", cache.warning());
    inner.announced.lock().unwrap().clear();
    cache.will_read(&shard, &[0..100_000]);
    // What the cache has would be fetched in vain.
    assert_eq!(*inner.announced.lock().unwrap(), vec![50_000..100_000]);
    assert_eq!(cache.read_all(&shard).unwrap(), bytes);
    assert_eq!(inner.take(), vec![50_000..100_000]);
    let stats = cache.stats();
    assert_eq!((stats.hits, stats.misses, stats.passed), (5, 5, 1));
    assert!(cache.describe().contains("not written"), "{}", cache.describe());
}

#[test]
fn a_folder_of_somebody_else_is_read() {
    let (inner, shard, bytes) = one_object(10_000);
    let folder = tempfile::tempdir().unwrap();
    open(&inner, folder.path(), 1000, 1 << 30).read_one(&shard, 0..5000).unwrap();
    inner.take();
    let set = |mode: &str| {
        assert!(Command::new("chmod").args(["-R", mode]).arg(folder.path()).status().unwrap().success());
    };
    set("a-w");
    // Root may write everywhere.
    if fs::write(folder.path().join("x"), b"").is_err() {
        let cache =
            CacheStore::open(Arc::clone(&inner) as _, CacheOptions::new(folder.path()).chunk(1000)).unwrap();
        assert!(cache.warning().unwrap().contains("denied"), "{:?}", cache.warning());
        assert_eq!(cache.read_all(&shard).unwrap(), bytes);
        assert_eq!((inner.take(), cache.stats().hits), (vec![5000..10_000], 5));
    }
    set("u+w");
}

#[test]
fn a_folder_that_cannot_be_had() {
    let (inner, shard, bytes) = one_object(1000);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, b"mine").unwrap();
    let error = CacheStore::open(Arc::clone(&inner) as _, CacheOptions::new(&file)).unwrap_err();
    assert!(error.to_string().contains("must be a folder"), "{error}");
    let below = CacheStore::open(Arc::clone(&inner) as _, CacheOptions::new(file.join("c"))).unwrap();
    assert_eq!(below.read_all(&shard).unwrap(), bytes);
    assert!(below.warning().is_some());
    assert_eq!(fs::read(&file).unwrap(), b"mine");
    assert!(CacheStore::open(inner, CacheOptions::new(folder.path()).chunk(0)).is_err());
}

#[test]
fn a_folder_that_is_removed_in_the_middle() {
    let (inner, shard, bytes) = one_object(10_000);
    let folder = tempfile::tempdir().unwrap();
    let cache = open(&inner, folder.path(), 1000, 1 << 20);
    assert_eq!(cache.read_one(&shard, 0..5000).unwrap(), bytes[..5000]);
    fs::remove_dir_all(folder.path()).unwrap();
    assert_eq!(cache.read_all(&shard).unwrap(), bytes);
    assert_eq!(cache.read_all(&shard).unwrap(), bytes);
    fs::create_dir_all(folder.path()).unwrap();
}
