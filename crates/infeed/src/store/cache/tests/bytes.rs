//! Same bytes with and without a cache, and what the store behind is asked for.

use super::*;
use crate::store::{
    LocalStore,
    conformance::{StoreCase, check},
};
use proptest::prelude::*;

#[test]
fn it_keeps_the_promises_of_stores() {
    for (chunk, limit) in [(4 << 20, 1 << 30), (10_000, 1 << 30), (4096, 50_000), (4096, 10)] {
        let folder = tempfile::tempdir().unwrap();
        let memory = MemoryStore::new();
        let objects = memory.clone();
        let inner: Arc<dyn Store> = Arc::new(memory);
        let options = CacheOptions::new(folder.path()).chunk(chunk).limit(limit);
        let store = CacheStore::open(inner, options).unwrap();
        let put = move |name: &str, bytes: &[u8]| objects.put(name, bytes.to_vec());
        let case =
            StoreCase { store, root: "mem:case/".to_owned(), put: Box::new(put), many: 300, lists: true };
        assert_eq!(check("cache", &case), [""; 0], "chunks of {chunk}, limit {limit}");
    }
}

#[test]
fn it_keeps_the_promises_of_stores_before_files() {
    let (folder, data) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let options = CacheOptions::new(folder.path()).chunk(4096);
    let store = CacheStore::open(Arc::new(LocalStore::new()), options).unwrap();
    let put = |name: &str, bytes: &[u8]| {
        std::fs::create_dir_all(Path::new(name).parent().unwrap()).unwrap();
        // Another file, so that it has another time even within a tick of the clock.
        let aside = format!("{name}.new");
        std::fs::write(&aside, bytes).unwrap();
        std::fs::rename(aside, name).unwrap();
    };
    let root = format!("{}/", data.path().display());
    let case = StoreCase { store, root, put: Box::new(put), many: 300, lists: true };
    assert_eq!(check("cache before files", &case), [""; 0]);
}

#[test]
fn a_warm_cache_wants_no_announcements() {
    let (inner, shard, _) = one_object(95);
    let folder = tempfile::tempdir().unwrap();
    let cache = open(&inner, folder.path(), 10, 1 << 20);
    cache.read_one(&shard, 0..60).unwrap();
    cache.will_read(&shard, &[0..60]);
    assert_eq!(cache.room_ahead(), Some(1 << 20), "one announcement says little");
    for _ in 0..2000 {
        cache.will_read(&shard, &[0..60]);
    }
    assert_eq!(cache.room_ahead(), Some(0));
    // One miss, and they are welcome again.
    cache.read_one(&shard, 60..70).unwrap();
    assert_eq!(cache.room_ahead(), Some(1 << 20));
}

#[test]
fn chunks_are_fetched_whole_and_once() {
    let (inner, shard, bytes) = one_object(95);
    let folder = tempfile::tempdir().unwrap();
    let cache = open(&inner, folder.path(), 10, 1 << 20);
    assert_eq!(cache.read(&shard, &[12..15, 41..43]).unwrap(), [&bytes[12..15], &bytes[41..43]]);
    assert_eq!(inner.take(), [10..20, 40..50]);
    // Neighbours that are missing are one range.
    assert_eq!(cache.read_one(&shard, 5..65).unwrap(), bytes[5..65]);
    assert_eq!(inner.take(), [0..10, 20..40, 50..70]);
    assert_eq!(cache.read_all(&shard).unwrap(), bytes);
    assert_eq!(inner.take(), vec![70..95]);
    assert_eq!(cache.read_all(&shard).unwrap(), bytes);
    assert_eq!(inner.take(), []);
    let stats = cache.stats();
    assert_eq!((stats.hits, stats.misses, stats.store_bytes), (2 + 7 + 10, 2 + 5 + 3, 95));
    assert_eq!(stats.cache_bytes, 20 + 70 + 95);
}

#[test]
fn the_next_run_finds_what_this_one_left() {
    let (inner, shard, bytes) = one_object(100_000);
    let folder = tempfile::tempdir().unwrap();
    drop(open(&inner, folder.path(), 1000, 1 << 20).read_all(&shard).unwrap());
    assert_eq!(inner.bytes.load(Relaxed), 100_000);
    let again = open(&inner, folder.path(), 1000, 1 << 20);
    assert_eq!(again.read_all(&shard).unwrap(), bytes);
    assert_eq!(inner.bytes.load(Relaxed), 100_000);
    assert_eq!(again.used(), on_disk(folder.path()));
    assert!(again.describe().contains("1.0 MiB (as given)"), "{}", again.describe());
    // Chunks of another size are others.
    assert_eq!(open(&inner, folder.path(), 999, 1 << 20).read_one(&shard, 0..1).unwrap(), bytes[..1]);
    assert_eq!(inner.bytes.load(Relaxed), 100_999);
}

#[test]
fn announced_chunks_come_by_themselves() {
    let (inner, shard, bytes) = one_object(1000);
    let folder = tempfile::tempdir().unwrap();
    let cache = open(&inner, folder.path(), 100, 1 << 20);
    assert_eq!(cache.read_one(&shard, 110..120).unwrap(), bytes[110..120]);
    cache.will_read(&shard, &[150..350, 800..801, 5..5, 990..u64::MAX]);
    until("what was announced", || cache.stats().ahead == 4 && on_disk(folder.path()) > 5 * 100);
    until("the last chunk", || tools::objects(folder.path()).unwrap()[0].chunks == 5);
    assert_eq!(*inner.announced.lock().unwrap(), [200..400, 800..1000]);
    assert_eq!(inner.bytes.load(Relaxed), 500);
    assert_eq!(cache.read(&shard, &[150..350, 990..1000]).unwrap(), [&bytes[150..350], &bytes[990..]]);
    assert_eq!((cache.stats().misses, inner.bytes.load(Relaxed)), (1, 500));
}

#[test]
fn a_reader_does_not_wait_for_its_turn() {
    let bytes = made(100_000, 3);
    let memory = MemoryStore::new();
    memory.put("a", bytes.clone());
    let shard = memory.stat_one("a").unwrap();
    let inner = Watched::slow(memory, Duration::from_millis(20));
    let folder = tempfile::tempdir().unwrap();
    let cache = open(&inner, folder.path(), 100, 1 << 30);
    for chunk in (0..1000).step_by(2) {
        cache.will_read(&shard, &[chunk * 100..chunk * 100 + 1]);
    }
    assert_eq!(cache.read_one(&shard, 99_800..99_900).unwrap(), bytes[99_800..99_900]);
    assert!(cache.stats().ahead < 400, "{:?}", cache.stats());
    let before = std::time::Instant::now();
    drop(cache);
    assert!(before.elapsed() < Duration::from_secs(5));
}

#[test]
fn a_limit_below_a_chunk_reads_through() {
    let (inner, shard, bytes) = one_object(10_000);
    for limit in [0, 10, 99] {
        let folder = tempfile::tempdir().unwrap();
        let cache = open(&inner, folder.path(), 1000, limit);
        cache.will_read(&shard, &[0..10_000]);
        assert_eq!(cache.read(&shard, &[995..2005, 5..7]).unwrap(), [&bytes[995..2005], &bytes[5..7]]);
        let mut asked = inner.take();
        asked.sort_by_key(|range| range.start);
        assert_eq!(asked, [5..7, 995..2005]);
        assert_eq!((on_disk(folder.path()), cache.stats().passed), (0, 2));
    }
}

#[test]
fn objects_without_a_version_are_not_kept() {
    let (inner, shard, bytes) = one_object(100);
    let folder = tempfile::tempdir().unwrap();
    let cache = open(&inner, folder.path(), 10, 1 << 20);
    let bare = Shard { modified: None, version: None, ..shard };
    assert_eq!(cache.read_one(&bare, 1..2).unwrap(), bytes[1..2]);
    assert_eq!((inner.take(), on_disk(folder.path())), (vec![1..2], 0));
}

#[test]
fn a_cache_in_memory_goes_with_its_last_user() {
    let (inner, shard, bytes) = one_object(5000);
    let Ok(parent) = tempfile::tempdir_in("/dev/shm") else { return };
    let folder = parent.path().join("cache");
    let options = CacheOptions::new(&folder).chunk(1000);
    let one = CacheStore::open(Arc::clone(&inner) as _, options.clone()).unwrap();
    let two = CacheStore::open(Arc::clone(&inner) as _, options.clone()).unwrap();
    assert!(one.describe().contains("half of the free memory"), "{}", one.describe());
    assert!(one.limit() > 0 && one.limit() < u64::MAX);
    assert_eq!(one.read_all(&shard).unwrap(), bytes);
    drop(one);
    assert_eq!(two.read_all(&shard).unwrap(), bytes);
    assert_eq!(inner.take().len(), 1);
    drop(two);
    assert!(!folder.exists());
    let kept = CacheStore::open(inner, CacheOptions { keep: Some(true), ..options }).unwrap();
    drop(kept);
    assert!(folder.exists());
}

#[test]
fn what_is_looked_after() {
    let (inner, shard, _) = one_object(5500);
    let folder = tempfile::tempdir().unwrap();
    assert!(matches!(tools::objects(folder.path()), Err(Error::NotFound { .. })));
    let cache = open(&inner, folder.path(), 1000, 1 << 20);
    cache.read(&shard, &[0..1500, 5400..5500]).unwrap();
    let all = tools::objects(folder.path()).unwrap();
    assert_eq!((&*all[0].name, all[0].size, all[0].chunks, all[0].of), ("a", 5500, 3, 6));
    assert_eq!(all[0].bytes, cache.used());
    let verified = tools::verify(folder.path(), false).unwrap();
    assert_eq!((verified.chunks, verified.counted), (3, Some(cache.used())));
    let day = Duration::from_secs(86_400);
    let none = tools::clean(folder.path(), Some(day)).unwrap();
    assert_eq!((none.chunks, none.in_use), (0, true));
    let cleaned = tools::clean(folder.path(), None).unwrap();
    assert_eq!((cleaned.chunks, cleaned.bytes), (3, verified.bytes));
    // It is in use, so it works on.
    cache.read(&shard, &[0..1500, 5400..5500]).unwrap();
    assert_eq!(cache.used(), on_disk(folder.path()));
    drop(cache);
    assert!(!tools::clean(folder.path(), None).unwrap().in_use);
    assert_eq!(std::fs::read_dir(folder.path()).map_or(0, Iterator::count), 0);
    std::fs::create_dir_all(folder.path()).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_cache_changes_no_bytes(
        sizes in prop::collection::vec(0usize..3000, 1..4),
        chunk in 1u64..700,
        limit in 0u64..9000,
        steps in prop::collection::vec((any::<prop::sample::Index>(), 0.0f64..1.0, 0.0f64..1.0, 0u8..4), 1..40),
    ) {
        let memory = MemoryStore::new();
        let names: Vec<String> = (0..sizes.len()).map(|at| format!("o{at}")).collect();
        let mut data: Vec<Vec<u8>> = sizes.iter().enumerate().map(|(at, len)| made(*len, at as u64)).collect();
        names.iter().zip(&data).for_each(|(name, bytes)| memory.put(name, bytes.clone()));
        let folder = tempfile::tempdir().unwrap();
        let inner = Watched::new(memory.clone());
        let mut cache = open(&inner, folder.path(), chunk, limit);
        for (step, (which, a, b, what)) in (0u64..).zip(steps) {
            let at = which.index(names.len());
            let shard = cache.stat_one(&names[at]).unwrap();
            let place = |share: f64| (share * (shard.size + 1) as f64) as u64;
            let ranges = [place(a.min(b))..place(a.max(b)), place(b)..place(b), place(a)..shard.size];
            match what {
                0 => cache.will_read(&shard, &ranges),
                1 if step % 5 == 0 => {
                    data[at] = made(data[at].len(), 1000 + step);
                    memory.put(&names[at], data[at].clone());
                }
                2 if step % 7 == 0 => {
                    drop(cache);
                    cache = open(&inner, folder.path(), chunk, limit);
                }
                _ => {
                    let read = cache.read(&shard, &ranges).unwrap();
                    for (range, bytes) in ranges.iter().zip(&read) {
                        prop_assert_eq!(&bytes[..], &data[at][range.start as usize..range.end as usize]);
                    }
                }
            }
            prop_assert!(on_disk(folder.path()) <= limit);
        }
        drop(cache);
        let verified = tools::verify(folder.path(), false).unwrap();
        prop_assert!(verified.is_sound() && verified.bytes <= limit);
    }
}
